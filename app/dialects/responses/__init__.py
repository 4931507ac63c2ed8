"""Relays servers that have the Responses API themselves: their events are passed on."""
