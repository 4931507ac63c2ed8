"""Conversations that have grown long, and what clients carry for this server."""
