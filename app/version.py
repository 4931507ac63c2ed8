"""The version."""

VERSION = "0.1.0"
