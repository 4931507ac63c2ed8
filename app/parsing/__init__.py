"""Parses a posted body into the types of `protocol/request`, or refuses it with the exact path of the first fault."""
