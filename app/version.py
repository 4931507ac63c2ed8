"""The version, for a checkout as well as for an installed package."""

VERSION = "0.1.0"
