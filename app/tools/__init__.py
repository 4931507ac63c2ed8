"""A tool type is a file."""
