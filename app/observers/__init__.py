"""Observers of turns: metrics, traces, the log of bodies, and the ring buffer that the inspector shows."""
