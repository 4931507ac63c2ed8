"""What is known of each provider: one file for each. `lookup.py` finds a provider by its name."""
