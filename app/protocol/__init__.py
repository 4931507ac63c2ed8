"""Nouns of the Responses API: requests, items, events, response, problems. Nothing in it decides or fetches."""
