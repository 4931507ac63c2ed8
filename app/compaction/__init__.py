"""Compaction: a conversation is summarized, and continues from the summary."""
