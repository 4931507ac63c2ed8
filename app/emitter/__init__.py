"""The machine: deltas in, events out. No await, clock, chance, logger or framework inside."""
