"""The version."""

VERSION = "0.2.0.dev0"
