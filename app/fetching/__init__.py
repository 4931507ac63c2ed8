"""Fetches images and files that a client gives by URL, for upstreams that cannot fetch them."""
