"""The I/O with clients: receives requests and sends events."""
