"""I/O, outward: the servers that run the models."""
