"""Chat completions: requests become asks, chunks become deltas."""
