"""Heroku."""

from typing import Final

from .provider import EVERY_PART, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="heroku",
        translation=Translation(lost_parts=EVERY_PART),
    ),
)
