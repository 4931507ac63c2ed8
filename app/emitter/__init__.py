"""What a model says, as deltas, becomes events."""
