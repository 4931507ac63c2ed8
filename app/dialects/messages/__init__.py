"""Anthropic's Messages API, of Anthropic and of others that offer it."""
