"""Builds the prompt for a model, in no dialect: a conversation, tools and settings."""
