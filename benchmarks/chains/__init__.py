"""What chains and groups of operators bring: predicted cycles of networks on every chip with them and without."""
