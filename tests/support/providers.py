"""A provider of which something else is known while a test runs."""

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from app.providers import lookup


def changed(name: str, **changes: Any) -> AbstractContextManager[Any]:
    """Other values for these fields of the provider."""
    return patch.dict(lookup.BY_NAME, {name: replace(lookup.provider_of(name), **changes)})


def openai_is_here(host: str = "127.0.0.1") -> AbstractContextManager[Any]:
    """Make this host one of OpenAI's own, so that litellm translates for it."""
    here = replace(lookup.provider_of("openai").litellm, own_hosts=f".{host}")
    return changed("openai", litellm=here)
