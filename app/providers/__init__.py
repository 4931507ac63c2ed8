"""The properties of each provider, one file per provider. `lookup.py` finds a provider by its name."""
