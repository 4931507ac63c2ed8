"""Converts the client's request to the body for another server with the Responses API.

The request was validated, and fields that need stored responses or control this server were refused. Everything else
is passed on, also unknown settings and tools: the upstream checks them. For a server that knows functions only, tools
of other types become functions (`bridged_body.py`). The body always asks for a stream, because a
complete answer is read from a stream's last event.

Sealed content goes back only to the upstream that sealed it, as it came. What this server sealed for another model, or
another upstream sealed, is left out: this one could not read it, and would refuse the request. A conversation that
this server summarized is sent as plain text.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from ...bridges.ciphertext import is_ciphertext
from ...bridges.table import BridgeTable
from ...fetching.url_policy import check_url, is_data_uri
from ...parsing.unsupported import PREWARM_WARNING
from ...prompt.effort import known_effort
from ...prompt.item_reader import REFUSED, UNREADABLE
from ...protocol.request.create_response import CreateResponse
from ...protocol.request.plain_messages import role_of
from ...protocol.request.summaries import SUMMARY_TYPES
from ...protocol.response import InputTransformation
from ...protocol.seals import ENVELOPES
from ...protocol.warnings import ClientWarning
from ...providers.capabilities import Capabilities
from ..body_length import tokens_in
from .bridged_body import bridged
from .known_parts import with_known_parts
from .marks import original, original_seal, tag_of
from .relay_options import RelayOptions

Json = dict[str, Any]

_IDS: Final = ("id", "approval_request_id")
"""Keys of an input item whose ids may carry this server's mark. Call ids never do."""
_READ: Final = ("instructions", "input", "tools")
"""The fields of a body that the model reads."""
_COMPARED: Final = "comparison_response_id"
"""The key of `prompt_cache_options` that names a response."""
_MANAGED: Final = "context_management"
_TRUNCATION: Final = "truncation"
_PARTS: Final = ("content", "output")
"""Keys of an input item that may hold parts."""
_MEDIA: Final = frozenset({"computer_screenshot", "input_audio", "input_file", "input_image", "input_video"})
_PICTURE: Final = "image_generation_call"
CURRENT_TURN: Final = "current_turn"
"""A value of `reasoning.context`."""
_URLS: Final = ("image_url", "file_url")


_BOUND: Final = frozenset({"message", "function_call", "custom_tool_call"})
"""Items that lose their ids without reasoning: OpenAI refuses one that it wrote without the reasoning before it."""
UNREADABLE_SUMMARY: Final = "only the server that summarized this conversation can read it."


TOOLS_REFUSED: Final = ClientWarning(
    "tools",
    "tools",
    "This model's server refused the request with its tools as they are, so all are sent as functions. With"
    ' `tools = "functions"` in the configuration of this upstream it is not asked twice.',
)


class RelayedBody(NamedTuple):
    """The body for the upstream, and warnings about what was left out of the request."""

    body: Json
    warnings: list[ClientWarning]
    table: BridgeTable | None = None
    """The tools behind the functions, where the server knows only those and something is bridged."""
    removed: Sequence[InputTransformation] = ()
    """What was left out of the input."""


def to_responses(request: CreateResponse, *, model: str, options: RelayOptions) -> RelayedBody:
    """The body for the upstream. Raises `ProblemError` for an address that no upstream may be asked to fetch."""
    body = {**request.raw, "model": model, "stream": True}
    body.pop("generate", None)
    warnings = [PREWARM_WARNING] if options.functions_only and request.prewarms else []
    if options.functions_only:  # such servers do neither
        if options.tools_were_refused:
            warnings.append(TOOLS_REFUSED)
        body.pop(_MANAGED, None)
        if body.get(_TRUNCATION) == "auto":
            del body[_TRUNCATION]
        warnings += [warning for warning in request.warnings if warning.feature in {_MANAGED, _TRUNCATION}]
    taken, table = _TakenItems([], [], [], []), None
    if isinstance(body["input"], list):
        taken = _taken_items(body, request.positions or range(len(body["input"])), options)
        body["input"] = taken.items
    warnings += taken.warnings
    if options.ids == "am":
        body |= _comparison(body.get("prompt_cache_options"))
    if options.functions_only and (changed := bridged(body, request, taken.positions, options)) is not None:
        body, table = changed.body, changed.table
        warnings += changed.warnings
    if options.functions_only and (body.get("reasoning") or {}).get("context") == CURRENT_TURN:
        body["reasoning"] = {name: value for name, value in body["reasoning"].items() if name != "context"}
    reasoning, changes = _with_known_effort(body.get("reasoning"), options)
    body |= reasoning
    warnings += changes
    return RelayedBody(body, warnings, table, taken.removed)


class _TakenItems(NamedTuple):
    """The items that the upstream takes, and what was left out."""

    items: list[Json]
    positions: list[int]
    warnings: list[ClientWarning]
    removed: list[InputTransformation]


def _taken_items(body: Json, positions: Sequence[int], options: RelayOptions) -> _TakenItems:
    items = body["input"]
    for url, param in _urls(items, positions):
        if not is_data_uri(url):
            check_url(url, param, allow_private=options.server.allow_private_urls)
    tag, earlier = tag_of(options.origin), 0
    warnings: list[ClientWarning] = []
    if options.functions_only:
        items, positions, warnings = with_known_parts(items, positions)
        earlier = _earlier_turns(body, items)
    read = [
        (None, None) if _is_reasoning(item) and place < earlier else _taken(item, f"input[{index}]", tag, options)
        for place, (item, index) in enumerate(zip(items, positions, strict=True))
    ]
    removed = [
        InputTransformation(
            id=str(item.get("id") or f"input[{index}]"),
            reason="turn_boundary" if place < earlier else "model_mismatch",
        )
        for place, (index, item, (kept, warning)) in enumerate(zip(positions, items, read, strict=True))
        if kept is None and _is_reasoning(item) and (warning is not None or place < earlier)
    ]
    kept_items = [item for item, _ in read if item is not None]
    return _TakenItems(
        [_restored(item) for item in kept_items] if options.ids == "am" else kept_items,
        [index for index, (item, _) in zip(positions, read, strict=True) if item is not None],
        [*warnings, *(warning for _, warning in read if warning is not None)],
        removed,
    )


def _is_reasoning(item: Json) -> bool:
    return item.get("type") == "reasoning"


def _earlier_turns(body: Json, items: list[Json]) -> int:
    """How many items belong to earlier turns, of which the client wants no reasoning to be sent."""
    if (body.get("reasoning") or {}).get("context") != CURRENT_TURN:
        return 0
    begins = (index for index in range(len(items) - 1, -1, -1) if _begins_turn(items[index]))
    return next(begins, 0)


def _begins_turn(item: Json) -> bool:
    return item.get("type") == "agent_message" or role_of(item) == "user"


def gives_state(body: Json) -> bool:
    """Whether a body has reasoning that only the server which wrote it can read."""
    items = body.get("input")
    return isinstance(items, list) and any(map(_holds_state, items))


def _holds_state(item: Json) -> bool:
    return item.get("type") == "reasoning" and isinstance(item.get("encrypted_content"), str)


def _with_known_effort(asked: Any, options: RelayOptions) -> tuple[Json, list[ClientWarning]]:
    """`reasoning` with an effort that the server takes, if it takes only some."""
    effort = asked.get("effort") if isinstance(asked, dict) else None
    if options.efforts is None or effort is None:
        return {}, []
    known, changes = known_effort(effort, Capabilities(efforts=options.efforts), limit=None)
    others = {key: value for key, value in asked.items() if key != "effort"}
    return {"reasoning": others if known is None else {**others, "effort": known}}, changes


def tokens_of(body: Json) -> int:
    """Estimated tokens of a body."""
    items = body["input"] if isinstance(body["input"], list) else []
    parts = [part for item in items for key in _PARTS for part in _listed(item.get(key))]
    pictures = [item for item in items if item.get("type") == _PICTURE]
    return tokens_in([body[key] for key in _READ if key in body], [*filter(_is_media, parts), *pictures])


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_media(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(kind := part.get("type"), str) and kind in _MEDIA


def _taken(item: Json, param: str, tag: str, options: RelayOptions) -> tuple[Json | None, ClientWarning | None]:
    """The item as this upstream takes it; None if nothing of it remains."""
    if options.state_was_refused:
        if _holds_state(item):
            return None, ClientWarning(param, "reasoning", f"{param} was left out: {REFUSED}")
        if item.get("type", "message") in _BOUND:
            item = {key: value for key, value in item.items() if key != "id"}
    readable, warning = _readable(item, param, tag, options)
    if readable is None or not options.explicit_items:
        return readable, warning
    if readable.get("type") is None:
        return {**readable, "type": "message"}, warning
    if readable["type"] != "reasoning" or readable.get("content"):
        return readable, warning
    texts = [part["text"] for part in readable.get("summary") or [] if part["text"].strip()]
    if not texts:
        return None, warning or ClientWarning(param, "reasoning", f"{param} was left out: {UNREADABLE}")
    return {**readable, "content": [{"type": "reasoning_text", "text": "\n\n".join(texts)}]}, warning


def _readable(item: Json, param: str, tag: str, options: RelayOptions) -> tuple[Json | None, ClientWarning | None]:
    """The item without what this upstream cannot read; None if nothing of it remains."""
    sealed = item.get("encrypted_content")
    if item.get("type") in SUMMARY_TYPES and isinstance(sealed, str) and options.ids == "am":
        return _readable_summary(item, sealed, param, tag)
    if item.get("type") != "reasoning" or not isinstance(sealed, str):
        return item, None
    sealer = options.sealer
    opens = sealer is not None and sealer.open("reasoning", sealed, f"{param}.encrypted_content") is not None
    unread = options.functions_only and is_ciphertext(sealed)  # such a server may take it for words
    # where ids are kept, what does not open here may come from an AM Proxy upstream
    foreign = (sealed.startswith(ENVELOPES) or unread) and not opens and options.ids == "am"
    restored = None if opens or foreign else original_seal(sealed, tag)
    if restored is not None:
        return {**item, "encrypted_content": restored}, None
    if not (item.get("summary") or item.get("content")):
        return None, None if opens else ClientWarning(param, "reasoning", f"{param} was left out: {UNREADABLE}")
    readable = {key: value for key, value in item.items() if key not in {"encrypted_content", "id"}}
    if opens:
        return readable, None
    details = f"{param}.encrypted_content was ignored: {UNREADABLE} Its text is sent instead."
    return readable, ClientWarning(f"{param}.encrypted_content", "reasoning", details)


def _readable_summary(item: Json, sealed: str, param: str, tag: str) -> tuple[Json | None, ClientWarning | None]:
    restored = None if sealed.startswith(ENVELOPES) else original_seal(sealed, tag)
    if restored is None:
        return None, ClientWarning(param, str(item["type"]), f"{param} was left out: {UNREADABLE_SUMMARY}")
    return {**item, "encrypted_content": restored}, None


def _restored(item: Json) -> Json:
    """The item with its ids as the upstream gave them."""
    ids = {key: original(item[key]) for key in _IDS if isinstance(item.get(key), str)}
    return {**item, **ids} if ids else item


def _comparison(options: Any) -> Json:
    """The response that the prompt is to be compared with, by the upstream's id of it."""
    wanted = options.get(_COMPARED) if isinstance(options, dict) else None
    return {"prompt_cache_options": {**options, _COMPARED: original(wanted)}} if isinstance(wanted, str) else {}


def _urls(items: list[Json], positions: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Each URL in these items, and its path in the request."""
    for position, item in zip(positions, items, strict=True):
        for key in _PARTS:
            value = item.get(key)
            parts = value if isinstance(value, list) else [value]
            for index, part in enumerate(parts):
                for name in _URLS if isinstance(part, dict) else ():
                    if isinstance(part.get(name), str):
                        within = f"{key}[{index}]" if isinstance(value, list) else key
                        yield part[name], f"input[{position}].{within}.{name}"
