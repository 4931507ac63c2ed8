"""Types of the Responses API: requests, items, events, response, problems. No logic and no I/O."""
