"""I/O, inward: how requests come in and events travel to the client."""
