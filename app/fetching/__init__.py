"""Pictures and files that a client names by address, fetched here for upstreams that fetch none themselves."""
