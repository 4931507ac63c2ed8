"""A provider of which something else is known while a test runs."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Final

from app.providers import lookup
from app.providers.provider import Provider

AS_THEY_ARE: Final = dict(lookup.BY_NAME)
_changes: Final[list[tuple[str, dict[str, Any]]]] = []


@contextmanager
def changed(name: str, **changes: Any) -> Iterator[None]:
    """Other values for these fields of the provider. Blocks may end in any order, as shared fixtures do."""
    change = (name, changes)
    _changes.append(change)
    _apply(name)
    try:
        yield
    finally:
        _changes[:] = [each for each in _changes if each is not change]
        _apply(name)


def _apply(name: str) -> None:
    provider: Provider = AS_THEY_ARE[name]
    for changed_name, changes in _changes:
        if changed_name == name:
            provider = replace(provider, **changes)
    lookup.BY_NAME[name] = provider


def openai_is_here(host: str = "127.0.0.1") -> AbstractContextManager[None]:
    """Make this host one of OpenAI's own, so that litellm translates for it."""
    return changed("openai", litellm=replace(AS_THEY_ARE["openai"].litellm, own_hosts=f".{host}"))
