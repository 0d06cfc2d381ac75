"""Second opinions on a schedule: its simulation, the trace of its C, pictures of both."""
