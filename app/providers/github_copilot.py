"""GitHub Copilot."""

from typing import Final

from app.providers.provider import Provider

PROVIDERS: Final = (
    Provider(
        name="github_copilot",
        call_ids="plain40",
    ),
)
