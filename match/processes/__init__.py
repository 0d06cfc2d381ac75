"""Work shared out among processes."""
