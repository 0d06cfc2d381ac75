"""What a compilation was asked for, and the seconds that it took."""
