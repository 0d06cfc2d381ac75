"""What chains of operators bring: predicted cycles of networks on every chip with them and operator by operator."""
