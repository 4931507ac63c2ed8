"""Compaction: a conversation is summed up, and goes on from the summary."""
