"""Databricks."""

from typing import Final

from .provider import Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="databricks",
        claude=Translation(replaces_references="old"),
    ),
)
