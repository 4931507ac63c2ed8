"""Searches the web for clients. The server that searches is a setting."""
