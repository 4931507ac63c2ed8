"""What an upstream understands. Pure; dialects do not know each other."""
