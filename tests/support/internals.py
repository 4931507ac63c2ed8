"""What of a library's insides is built on here, and what of it has changed.

Method(HttpToolsProtocol, "on_header", "name", "value")     it takes these, by position
Attribute(HttpToolsProtocol, "cycle")                       the class, or one it is made from, sets or declares it
"""

import inspect
import re
from importlib.metadata import version
from typing import Any, NamedTuple


class Method(NamedTuple):
    """A method that is overridden or called."""

    owner: type
    name: str
    takes: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()
    waits: bool = False
    """Whether it is a coroutine."""


class Attribute(NamedTuple):
    """An attribute that is read or set."""

    owner: type
    name: str


def changes(*used: Method | Attribute) -> list[str]:
    """A sentence for each of these that is not as it is used here."""
    return [found for each in used if (found := _change(each))]


def _change(used: Method | Attribute) -> str:
    package = used.owner.__module__.partition(".")[0]
    where = f"{package} {version(package)}: {used.owner.__qualname__}.{used.name}"
    if isinstance(used, Attribute):
        return "" if _has(used.owner, used.name) else f"{where} is not set or declared any more"
    method = getattr(used.owner, used.name, None)
    if method is None:
        return f"{where} is gone"
    if inspect.iscoroutinefunction(method) != used.waits:
        return f"{where} {'is no coroutine' if used.waits else 'is a coroutine'} now"
    _, *parameters = inspect.signature(method).parameters.values()
    by_name = tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)
    takes = tuple(each.name for each in parameters if each.kind is not each.KEYWORD_ONLY)
    if (takes, by_name) != (used.takes, used.by_name):
        return f"{where} takes {takes}, by name {by_name}; it is used with {used.takes}, by name {used.by_name}"
    return ""


def _has(owner: type, name: str) -> bool:
    """Whether a class has an attribute, or code of its own that sets it."""

    def sets(kind: Any) -> bool:
        try:
            source = inspect.getsource(kind)
        except (OSError, TypeError):
            return False
        return re.search(rf"\bself\.{name}\b[^=\n]*=[^=]|^    {name}\b\s*[:=]", source, re.MULTILINE) is not None

    return hasattr(owner, name) or any(sets(kind) for kind in owner.__mro__)
