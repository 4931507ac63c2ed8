"""The Responses API of other servers: their events are passed on, with our numbers and public names."""
