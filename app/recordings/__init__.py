"""Recordings: folders with what one turn was asked and answered, and how they are written."""
