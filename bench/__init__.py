"""Compares AM Proxy with a byte copy and other bridges, in one run. Everything stays on 127.0.0.1."""
