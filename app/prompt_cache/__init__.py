"""Why the cache of a model's server did not have a prompt: what changed first since another prompt."""
