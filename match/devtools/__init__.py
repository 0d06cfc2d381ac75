"""For authors of targets and for trying things: checks, a scaffold, networks, a demonstration."""
