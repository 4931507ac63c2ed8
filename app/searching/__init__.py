"""Searches the web and opens pages, for clients and models. The server that searches is a setting."""
