"""The nouns of the Responses API, both ways."""
