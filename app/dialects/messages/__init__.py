"""Anthropic's Messages API: requests become asks, events become deltas."""
