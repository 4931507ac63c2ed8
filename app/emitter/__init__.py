"""Turns deltas into events by tables of rules. No await, clock, chance, logger or framework inside."""
