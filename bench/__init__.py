"""Side-by-side measurements: this server's lanes, plain byte copies, bare litellm and other bridges, in one run.

`python -m bench` (or `make bench`) writes docs/performance.md. Everything stays on 127.0.0.1.
"""
