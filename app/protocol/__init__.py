"""Nouns of the Responses API. Decides nothing."""
