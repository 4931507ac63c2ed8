"""Recordings: folders with what one turn was asked and answered, written, read and compared."""
