"""Pictures and files at addresses that clients name."""
