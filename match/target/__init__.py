"""What describes a chip: `MatchTarget`, its modules, memories, cost models; checks of what authors write."""
