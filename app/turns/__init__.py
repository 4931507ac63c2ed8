"""One response in one task."""
