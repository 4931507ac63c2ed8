"""GitHub Copilot."""

from typing import Final

from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="github_copilot",
        call_ids="plain40",
    ),
)
