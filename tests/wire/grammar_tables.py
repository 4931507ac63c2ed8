"""What the grammar knows of each kind of event, item and part, as tables: a new kind is a new row."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tests.wire.grammar_checks import is_call_id, is_list, is_number, is_object, is_text, require

Event = Mapping[str, Any]
Holds = Callable[[Any], bool]


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def _is_exec(value: Any) -> bool:
    """No limit is null: the AI SDK ends the stream at one."""
    fits = is_object(value) and value.get("type") == "exec" and _is_words(value.get("command"))
    return fits and is_object(value.get("env")) and None not in value.values()


def _has_commands(value: Any) -> bool:
    return is_object(value) and _is_words(value.get("commands"))


def _is_operation(value: Any) -> bool:
    if not is_object(value) or not is_text(value.get("path")):
        return False
    has_diff = value.get("type") in {"create_file", "update_file"} and is_text(value.get("diff"))
    return has_diff or (value.get("type") == "delete_file" and "diff" not in value)


class Part(NamedTuple):
    """A kind of content part: its events, the key of its index, the field of its text, where it ends up."""

    added: str
    delta: str
    text_done: str
    done: str
    index_key: str
    field: str
    home: str
    born: dict[str, Any]
    annotated: str = ""

    @property
    def events(self) -> set[str]:
        """Every event about such a part."""
        return {self.added, self.delta, self.text_done, self.done, self.annotated} - {""}


PARTS: Final = {
    "output_text": Part(
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "content_index",
        "text",
        "content",
        {"type": "output_text", "text": "", "annotations": []},
        "response.output_text.annotation.added",
    ),
    "refusal": Part(
        "response.content_part.added",
        "response.refusal.delta",
        "response.refusal.done",
        "response.content_part.done",
        "content_index",
        "refusal",
        "content",
        {"type": "refusal", "refusal": ""},
    ),
    "reasoning_text": Part(
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.content_part.done",
        "content_index",
        "text",
        "content",
        {"type": "reasoning_text", "text": ""},
    ),
    "summary_text": Part(
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "summary_index",
        "text",
        "summary",
        {"type": "summary_text", "text": ""},
    ),
}


class Prose(NamedTuple):
    """An item made of parts."""

    parts: frozenset[str]


class Call(NamedTuple):
    """An item that passes one string to a tool."""

    delta: str
    done: str
    field: str
    told_again: tuple[str, ...] = ()
    """Keys of the item that its done event repeats."""
    may_be_empty: bool = False


class Action(NamedTuple):
    """An item that holds an action, told whole or not at all."""

    field: str
    steps: str = ""
    """The key of its action that holds commands, each told by events of its own."""


class Image(NamedTuple):
    """An item that is told whole, with signs of its making in this order: an image, a search."""

    steps: tuple[str, ...]
    result: str
    """The key of what was made."""
    ends: frozenset[str] = frozenset({"completed"})
    """The statuses with which it may end."""


class Sealed(NamedTuple):
    """An item that is told whole, as one sealed text."""

    field: str


class Kind(NamedTuple):
    """A kind of output item."""

    prefix: str
    shape: Prose | Call | Action | Image | Sealed
    fields: dict[str, Holds]
    born: dict[str, Any]
    """The values an added item carries."""
    grows: frozenset[str]
    """The keys that differ between added and done."""
    absent: frozenset[str]
    """Keys that are left out rather than null."""

    @property
    def parts(self) -> frozenset[str]:
        """The kinds of parts it may hold."""
        return self.shape.parts if isinstance(self.shape, Prose) else frozenset()

    def check(self, item: Event) -> None:
        """Refuse an item that lacks a field, has one of the wrong type, or a null that should be absent."""
        status: dict[str, Holds] = {} if isinstance(self.shape, Sealed) else {"status": is_text}
        fields = {"type": is_text, "id": is_text} | status | self.fields
        for key, holds in fields.items():
            require(key in item and holds(item[key]), f"an item carries a proper {key}")
        for key in self.absent:
            require(item.get(key, "") is not None, f"{key} is absent rather than null")
        require(re.fullmatch(self.prefix + r"_(AM-)?[a-z0-9]+", item["id"]) is not None, "ids have our prefixes")


def _steps(kind: str, verb: str) -> tuple[str, ...]:
    return tuple(f"response.{kind}.{each}" for each in ("in_progress", verb, "completed"))


IMAGE: Final = Image(_steps("image_generation_call", "generating"), "result")
SEARCH: Final = Image(_steps("web_search_call", "searching"), "action", frozenset({"completed", "failed"}))
_OF_IMAGES: Final = frozenset({"result", "output_format"})

KINDS: Final = {
    "image_generation_call": Kind("ig", IMAGE, {}, {}, _OF_IMAGES, _OF_IMAGES),
    "web_search_call": Kind("ws", SEARCH, {"action": is_object}, {}, frozenset({"action", "results"}), frozenset()),
    "compaction": Kind(
        "cmp",
        Sealed("encrypted_content"),
        {"encrypted_content": is_text},
        {"encrypted_content": ""},
        frozenset({"encrypted_content"}),
        frozenset(),
    ),
    "message": Kind(
        "msg",
        Prose(frozenset({"output_text", "refusal"})),
        {"role": lambda value: value == "assistant", "content": is_list},
        {"content": []},
        frozenset({"content"}),
        frozenset({"phase"}),
    ),
    "reasoning": Kind(
        "rs",
        Prose(frozenset({"summary_text", "reasoning_text"})),
        {"summary": is_list},
        {"summary": []},
        frozenset({"summary", "content", "encrypted_content"}),
        frozenset({"content", "encrypted_content"}),
    ),
    "function_call": Kind(
        "fc",
        Call("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments", ("name",)),
        {"call_id": is_call_id, "name": is_text, "arguments": is_text},
        {"arguments": ""},
        frozenset({"arguments"}),
        frozenset({"namespace"}),
    ),
    "custom_tool_call": Kind(
        "ctc",
        Call(
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done",
            "input",
            may_be_empty=True,
        ),
        {"call_id": is_call_id, "name": is_text, "input": is_text},
        {"input": ""},
        frozenset({"input"}),
        frozenset({"namespace"}),
    ),
    "tool_search_call": Kind(
        "tsc",
        Action("arguments"),
        {"call_id": is_call_id, "execution": lambda value: value == "client", "arguments": is_object},
        {"arguments": {}},
        frozenset({"arguments"}),
        frozenset(),
    ),
    "local_shell_call": Kind(
        "lsh",
        Action("action"),
        {"call_id": is_call_id, "action": _is_exec},
        {"action": {"type": "exec", "command": [], "env": {}}},
        frozenset({"action"}),
        frozenset(),
    ),
    "shell_call": Kind(
        "sh",
        Action("action", "commands"),
        {"call_id": is_call_id, "action": _has_commands},
        {"action": {"commands": [], "timeout_ms": None, "max_output_length": None}},
        frozenset({"action"}),
        frozenset(),
    ),
    "apply_patch_call": Kind(
        "apc",
        Action("operation"),
        {"call_id": is_call_id, "operation": _is_operation},
        {},
        frozenset({"operation"}),
        frozenset(),
    ),
}

_LIFECYCLE: Final[dict[str, Holds]] = {"response": is_object}
_ITEM: Final[dict[str, Holds]] = {"output_index": is_number, "item": is_object}
_WITHIN: Final[dict[str, Holds]] = {"output_index": is_number, "item_id": is_text}

EVENTS: Final[dict[str, dict[str, Holds]]] = {
    "response.created": _LIFECYCLE,
    "response.in_progress": _LIFECYCLE,
    "response.completed": _LIFECYCLE,
    "response.incomplete": _LIFECYCLE,
    "response.failed": _LIFECYCLE,
    "response.output_item.added": _ITEM,
    "response.output_item.done": _ITEM,
    "response.interrupt.accepted": {"response_id": is_text},
    "response.steer.accepted": {"steer": is_object},
    "response.output_item.interrupted": {"output_index": is_number, "item_id": is_text, "response_id": is_text},
}
"""Every event clients know, with the keys it must carry; those about parts and calls follow from the tables above."""

for _part in PARTS.values():
    _about = _WITHIN | {_part.index_key: is_number}
    _logprobs: dict[str, Holds] = {"logprobs": is_list} if _part.annotated else {}
    EVENTS[_part.added] = EVENTS[_part.done] = _about | {"part": is_object}
    EVENTS[_part.delta] = _about | {"delta": is_text} | _logprobs
    EVENTS[_part.text_done] = _about | {_part.field: is_text} | _logprobs
    if _part.annotated:
        EVENTS[_part.annotated] = _about | {"annotation_index": is_number, "annotation": is_object}
for _kind in KINDS.values():
    if isinstance(_kind.shape, Call):
        EVENTS[_kind.shape.delta] = _WITHIN | {"delta": is_text}
        EVENTS[_kind.shape.done] = _WITHIN | {_kind.shape.field: is_text}

for _step in (*IMAGE.steps, *SEARCH.steps):
    EVENTS[_step] = _WITHIN

COMMAND: Final = {verb: f"response.shell_call_command.{verb}" for verb in ("added", "delta", "done")}
"""Events about one command of a shell call; the wire gives them no item_id."""

_COMMAND: Final[dict[str, Holds]] = {"output_index": is_number, "command_index": is_number}
EVENTS[COMMAND["added"]] = EVENTS[COMMAND["done"]] = _COMMAND | {"command": is_text}
EVENTS[COMMAND["delta"]] = _COMMAND | {"delta": is_text}
