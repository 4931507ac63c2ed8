"""What each version of Claude accepts where the Messages API is asked directly.

    versions     thinks                          sampling  demanded calls    blocks of reasoning
    up to 4.5    with a budget, if asked         yes       not if it thinks
    4.6          as needed, if asked             yes       yes
    4.7, 4.8     as needed, if asked             no        yes
    5            as needed, unless asked not to  no        yes
    later        as needed, always               no        no                bound to what came before

Fable and Mythos always think. Of the later ones, Sonnet can be limited to thinking between calls, and Haiku can be
asked not to think.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24000}
"""How many tokens an older Claude may think."""
OTHERS: Mapping[str, Any] = {"audio": False, "structured_output": (), "strict_tools": False, "verbosity": False}
"""What models that are no Claude can do where the Messages API is asked."""
_NAME = re.compile(r"claude-(?:[a-z]{1,20}-)?(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)")
_NEWEST = (5, 5)
"""The version of a name that has none, such as `claude-opus-latest`, or of one that is not known."""


class Claude(NamedTuple):
    """One Claude."""

    efforts: tuple[str, ...]
    """How much it can be asked to think; with `none`, that it should not."""
    adaptive: bool
    """Whether it thinks as much as is needed, by an effort. Otherwise it gets a budget of tokens."""
    thinks_unasked: bool
    stops_by: str
    """The type of `thinking` that stops it, if it thinks without being asked to."""
    shows_thoughts_if_asked: bool
    """Whether it leaves out the text of its reasoning unless that is requested."""
    takes_sampling: bool
    """Whether `temperature` and `top_p` may be set."""
    takes_demanded_calls: bool
    """Whether it can be required to call a tool."""
    binds_blocks: bool
    """Whether it refuses its earlier reasoning if what came before it was changed."""
    most_tokens: int
    """How long an answer may be if the client sets no limit, which the API demands. Models before 4.5 refuse a limit
    that does not fit the context beside the input, so it is low there."""
    can: Mapping[str, Any]


@lru_cache(256)
def claude_of(name: str) -> Claude | None:
    """The Claude of this name; None if it is none."""
    if "claude" not in name:
        return None
    found = _NAME.search(name)
    version = (int(found["major"]), int(found["minor"] or 0)) if found else _NEWEST
    late, always, is_sonnet = version > (5, 0), "fable" in name or "mythos" in name, "sonnet" in name
    efforts = _efforts(version, name, always=always or (late and not is_sonnet and "haiku" not in name))
    schemas = {"strict_tools": True, "structured_output": ("json_schema",)} if version >= (4, 5) else {}
    return Claude(
        efforts=efforts,
        adaptive=version >= (4, 6),
        thinks_unasked=version >= (5, 0),
        stops_by="between_tools" if late and is_sonnet else "disabled",
        shows_thoughts_if_asked=version >= (4, 7),
        takes_sampling=version < (4, 7),
        takes_demanded_calls=not late,
        binds_blocks=late and "mythos" not in name,
        most_tokens=4096 if version < (3, 7) else 16384 if version < (4, 5) else 64000,
        can={**OTHERS, **schemas, **({} if efforts else {"reasoning": False})},
    )


def _efforts(version: tuple[int, int], name: str, *, always: bool) -> tuple[str, ...]:
    if version < (4, 6):
        return ("none", *BUDGETS) if version >= (3, 7) else ()
    most = ("xhigh", "max") if version > (4, 6) else ("max",) if "opus" in name else ()
    return (*(() if always else ("none",)), "minimal", "low", "medium", "high", *most)
