"""The store of limits, a Redis or Valkey server: what several copies of this server count together."""
