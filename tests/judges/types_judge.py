"""Asks the types of the `openai` package, if it is there: litellm brings it along."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Final, NamedTuple, get_args

from . import client_rules as rules
from .findings import Finding, Findings

MISSING: Final = "the package openai is not installed, so its types were not asked"
UNLISTED_CODES: Final = ("context_length_exceeded", "insufficient_quota", "model_not_found")
"""Codes of failed responses on which clients act, and which the package does not list."""
_LATER: Final = {"cache_write_tokens", "logprobs", "name"}
"""Fields that the package demands, and that OpenAI's server sends only since some date: recordings lack them."""


class OpenAITypes(NamedTuple):
    """Adapters for an event and a response, and the events that the package knows."""

    event: Any
    response: Any
    known: set[str]


@cache
def openai_types() -> OpenAITypes:
    """The types of the package, made once. An ImportError if it is not installed."""
    from openai.types.responses import Response, ResponseStreamEvent
    from pydantic import Field, TypeAdapter

    union = get_args(ResponseStreamEvent)[0]
    known = {get_args(each.model_fields["type"].annotation)[0] for each in get_args(union)}
    # rewrapped, because pydantic does not know the package's own discriminator and would try all types
    rewrapped: Any = Annotated[union, Field(discriminator="type")]
    return OpenAITypes(TypeAdapter(rewrapped), TypeAdapter(Response), known)


class TypesJudge:
    """The types of the package. `trouble` says why there are none."""

    def __init__(self) -> None:
        self.trouble = ""
        self._types: OpenAITypes | None = None
        try:
            self._types = openai_types()
        except ImportError:
            self.trouble = MISSING

    def events(self, events: Iterable[Mapping[str, Any]]) -> list[Finding]:
        """What does not fit, of a stream. Events that the package does not know are left alone."""
        found = Findings()
        types = self._types
        for event in events:
            if types is not None and event.get("type") in types.known:
                _judge(found, types.event, event, event["type"])
        return found.found

    def response(self, body: object) -> list[Finding]:
        """What does not fit, of a whole response."""
        found = Findings()
        if self._types is not None and isinstance(body, dict):
            _judge(found, self._types.response, body, "")
        return found.found


def _judge(found: Findings, adapter: Any, value: Mapping[str, Any], kind: str) -> None:
    from pydantic import ValidationError

    try:
        adapter.validate_python(value, strict=True)
    except ValidationError as error:
        faults = [fault for fault in error.errors(include_url=False) if not _is_forgiven(fault)]
        if faults:
            found.add(rules.TYPES, _listing(faults), value, kind)


def _is_forgiven(fault: Any) -> bool:
    """What OpenAI's server does, too: it leaves out parts of an item that is only begun, and has codes of its own."""
    place = fault["loc"]
    is_begun = place[:2] == ("response.output_item.added", "item")
    is_later = fault["type"] == "missing" and place[-1] in _LATER and "item" not in place and "output" not in place
    return is_begun or is_later or (place[-2:] == ("error", "code") and fault["input"] in UNLISTED_CODES)


def _listing(faults: list[Any]) -> str:
    """The faults by the type that fits best: a union tells those of all its types."""
    groups: dict[Any, list[str]] = {}
    for fault in faults:
        place = [str(step) for step in fault["loc"]]
        tag = next((step for step in place if step[:1].isupper()), "")
        groups.setdefault(tag, []).append(f"{'.'.join(place)}: {fault['msg']}")
    best = min(groups.values(), key=len)
    return "; ".join(best[:3])
