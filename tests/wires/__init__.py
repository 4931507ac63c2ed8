"""Our server before servers that speak what the providers really speak (`tests.support.servers.model`)."""
