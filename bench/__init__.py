"""Compares this server's lanes with plain byte copies, bare litellm and other bridges, in one run.

`python -m bench` (or `make bench`) writes docs/performance.md. Everything stays on 127.0.0.1.
"""
