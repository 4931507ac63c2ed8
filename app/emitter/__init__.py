"""Converts deltas to events by tables of rules. It uses no await, clock, random source, logger or framework."""
