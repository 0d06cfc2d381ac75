"""Ctrl-C in the command line: programs that were started are ended, what is unfinished is removed."""
