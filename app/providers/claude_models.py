"""What each version of Claude accepts where the Messages API is asked directly.

    versions                    thinks                          sampling  demanded calls   blocks of reasoning
    up to 4.5                   with a budget, if asked         yes       not if it thinks
    4.6                         as needed, if asked             yes       yes
    4.7, 4.8                    as needed, if asked             no        yes
    5                           as needed, unless asked not to  no        yes
    5.1 and later               as needed, always               no        no               bound to what came before

Fable and Mythos always think. Of the later ones, Sonnet can be limited to thinking between calls, and Haiku can be
asked not to think.
"""

import re
from typing import Any, Final, NamedTuple

from ..options import Format
from .capabilities import Capabilities
from .provider import LEVELS

Json = dict[str, Any]

BUDGETS: Final = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 24000}
"""How many tokens an older Claude may think."""
_NAME: Final = re.compile(r"claude-(?:[a-z]{1,20}-)?(?P<major>\d{1,2})(?:[-.](?P<minor>\d{1,2}))?(?!\d)")
_FAMILIES: Final = ("opus", "sonnet", "haiku", "fable", "mythos")
_NEWEST: Final = (5, 5)
"""The version of a name that has none, such as `claude-opus-latest`."""
_ALWAYS_THINK: Final = frozenset({"fable", "mythos"})


class ClaudeModel(NamedTuple):
    """What one Claude accepts."""

    efforts: tuple[str, ...]
    """How much it can be asked to think; with `none`, that it should not."""
    adaptive: bool
    """Whether it thinks as much as is needed, by an effort. Otherwise it gets a budget of tokens."""
    thinks_unasked: bool
    stops_by: Json | None
    """The value of `thinking` that stops it, if it thinks without being asked to."""
    shows_thoughts_if_asked: bool
    """Whether it leaves out the text of its reasoning unless that is requested."""
    takes_sampling: bool
    """Whether `temperature` and `top_p` may be set."""
    takes_late_system: bool
    """Whether Anthropic's own server takes messages of the role `system` in a conversation."""
    takes_demanded_calls: bool
    """Whether it can be required to call a tool."""
    binds_blocks: bool
    """Whether it refuses its earlier reasoning if what came before it was changed."""
    holds_to_schemas: bool
    """Whether answers and calls can be held to a JSON schema."""
    most_tokens: int
    """How long an answer may be if the client sets no limit, which the API demands."""

    @property
    def capabilities(self) -> Capabilities:
        """The same as the rules of prompts want it."""
        formats: tuple[Format, ...] = ("json_schema",) if self.holds_to_schemas else ()
        return Capabilities(
            audio=False,
            strict_tools=self.holds_to_schemas,
            structured_output=formats,
            efforts=self.efforts,
            thinking_tokens=None if self.adaptive else {**BUDGETS},
            verbosity=False,
        )


def claude_model(name: str) -> ClaudeModel | None:
    """What the model of this name accepts; None if it is no Claude. A version that is not known is like the newest."""
    if "claude" not in name:
        return None
    family = next((family for family in _FAMILIES if family in name), "")
    return _model(version_of(name) or _NEWEST, family)


def version_of(name: str) -> tuple[int, int] | None:
    """The version in the name of a Claude; None if there is none."""
    found = _NAME.search(name)
    return None if found is None else (int(found["major"]), int(found["minor"] or 0))


def _model(version: tuple[int, int], family: str) -> ClaudeModel:
    bound = version > (5, 0)
    always = family in _ALWAYS_THINK or (bound and family not in {"sonnet", "haiku"})
    stops_by: Json | None = None
    if version >= (5, 0) and not always:
        stops_by = {"type": "between_tools" if bound and family == "sonnet" else "disabled"}
    return ClaudeModel(
        efforts=_efforts(version, family, always=always),
        adaptive=version >= (4, 6),
        thinks_unasked=version >= (5, 0),
        stops_by=stops_by,
        shows_thoughts_if_asked=version >= (4, 7),
        takes_sampling=version < (4, 7),
        takes_late_system=version >= (4, 8),
        takes_demanded_calls=not bound,
        binds_blocks=bound and family != "mythos",
        holds_to_schemas=version >= (4, 5),
        most_tokens=_most_tokens(version),
    )


def _efforts(version: tuple[int, int], family: str, *, always: bool) -> tuple[str, ...]:
    if version < (3, 7):
        return ()
    if version < (4, 6):
        return ("none", *BUDGETS)
    most: tuple[str, ...] = ("max",) if family == "opus" else ()
    if version > (4, 6):
        most = ("xhigh", "max")
    return (*(() if always else ("none",)), "minimal", *LEVELS, *most)


def _most_tokens(version: tuple[int, int]) -> int:
    """Models before 4.5 refuse a limit that does not fit the context beside the input, so it is low there."""
    if version < (3, 7):
        return 4096
    return 16384 if version < (4, 5) else 64000
