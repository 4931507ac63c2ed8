"""Custom tools: one text, in no JSON, carried by a function with the one string `input`."""

import re
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType
from pydantic import SkipValidation

from ...emitter.open_items import Closed, ItemPosition, OpenCall
from ...protocol import events as e
from ...protocol.output_items import ItemStatus, OutputItem
from ...protocol.request.input_parts import ParsedContent
from ...protocol.request.shape import OneOf, Shape
from ...protocol.request.tool_items import NamedCallItem, ToolItem
from ...protocol.request.tools import NamedTool
from ..base import Bridge, BridgedTool, FunctionSpec, PastCall
from ..json_string_tap import JsonStringTap
from ..naming import ToolName
from ..patch_reader import PatchReader
from ..registry import BRIDGES

INPUT: Final = "input"
PATCH_TOOL: Final = "apply_patch"
"""The tool of Codex that changes files."""
HOW: Final = f"Pass the whole input, exactly as it is to be, as the string `{INPUT}`."
_PARAMETERS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {INPUT: {"type": "string", "description": "The whole input of the tool, as plain text."}},
    "required": [INPUT],
    "additionalProperties": False,
}
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]?")
_NOT: Final = re.compile(r"\bnot\b|n't\b|\bnever\b", re.IGNORECASE)
_JSON: Final = re.compile(r"\bJSON\b", re.IGNORECASE)


class PlainInput(Shape):
    """Any text may be the input of a custom tool."""

    type: Literal["text"]


class GrammarInput(Shape):
    """The input of a custom tool must obey this grammar."""

    type: Literal["grammar"]
    syntax: Literal["lark", "regex"]
    definition: str


class CustomTool(NamedTool):
    """A tool whose input is one text, in no JSON."""

    type: Literal["custom"]
    format: Annotated[
        PlainInput | GrammarInput | None, SkipValidation, OneOf({"text": PlainInput, "grammar": GrammarInput})
    ] = None


class CustomToolCallItem(NamedCallItem):
    """A past call of a custom tool."""

    type: Literal["custom_tool_call"]
    input: str


class CustomToolCallOutputItem(ToolItem):
    """The output of a past call."""

    type: Literal["custom_tool_call_output"]
    call_id: str
    output: ParsedContent


class CustomToolCall(OutputItem, frozen=True, kw_only=True, tag="custom_tool_call"):
    """A call of a custom tool; `input` is one text, in no JSON."""

    status: ItemStatus
    call_id: str
    name: str
    input: str
    namespace: str | UnsetType = UNSET


class CustomBridge(Bridge):
    """A function with one string parameter carries a custom tool."""

    tool = CustomTool
    call = CustomToolCallItem
    output = CustomToolCallOutputItem
    item_prefix = "ctc"

    def declare(self, tool: CustomTool, name: str, /) -> FunctionSpec:
        """A function with one string parameter; its description holds the grammar."""
        paragraphs = [_SENTENCE.sub(_unless_against_json, tool.description or "").strip(), HOW]
        if isinstance(tool.format, GrammarInput):
            syntax = "regular expression" if tool.format.syntax == "regex" else "Lark grammar"
            paragraphs.append(f"`{INPUT}` must match this {syntax}:\n{tool.format.definition.strip()}")
        description = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
        return FunctionSpec(name=name, description=description, parameters=_PARAMETERS)

    def read_call(self, item: CustomToolCallItem, bridged: BridgedTool, /) -> PastCall:
        """The input as the string of its function."""
        return PastCall(item.call_id, bridged.spec.name, msgspec.json.encode({INPUT: item.input}).decode())

    def open_call(self, bridged: BridgedTool, call_id: str, position: ItemPosition, /) -> OpenCall:
        """A `custom_tool_call` item."""
        return OpenCustomCall(position, bridged.tool, call_id)


BRIDGES.register(CustomBridge())


class OpenCustomCall(OpenCall):
    """A call of a custom tool: its input is read from the arguments while they arrive."""

    def __init__(self, position: ItemPosition, tool: ToolName, call_id: str) -> None:
        super().__init__(position)
        self._tool = tool
        self._call_id = call_id
        self._input: list[str] = []
        self._tap = PatchReader(INPUT) if tool.name == PATCH_TOOL else JsonStringTap(INPUT)

    def open(self) -> list[e.Event]:
        """The item is added, with an empty input."""
        return [self.position.item(e.OutputItemAdded, item=self._item("in_progress", ""))]

    def add(self, arguments: str) -> list[e.Event]:
        """More arguments, and the part of the input in them."""
        self._arguments.append(arguments)
        return self._grow(self._tap.feed(arguments))

    def empty_delta(self) -> e.Event:
        """An empty delta."""
        return self.position.within(e.CustomToolCallInputDelta, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished call. A call that was cut gets no `input.done`: some clients run the tool on that event."""
        if status == "incomplete":  # text that may be incomplete, such as half an escape, is left out
            item = self._item(status, "".join(self._input))
            return Closed(item, [self.position.item(e.OutputItemDone, item=item)])
        rest = self._grow(self._tap.rest())
        item = self._item(status, "".join(self._input))
        done = self.position.within(e.CustomToolCallInputDone, input=item.input)
        return Closed(item, [*rest, done, self.position.item(e.OutputItemDone, item=item)])

    def _grow(self, text: str) -> list[e.Event]:
        if not text:
            return []
        self._input.append(text)
        return [self.position.within(e.CustomToolCallInputDelta, delta=text)]

    def _item(self, status: ItemStatus, text: str) -> CustomToolCall:
        return CustomToolCall(
            id=self.position.id,
            status=status,
            call_id=self._call_id,
            name=self._tool.name,
            input=text,
            namespace=UNSET if self._tool.namespace is None else self._tool.namespace,
        )


def _unless_against_json(sentence: re.Match[str]) -> str:
    """The sentence, unless it forbids JSON. Codex writes "do not wrap the patch in JSON", which the function needs."""
    found = _NOT.search(sentence[0])
    return "" if found and _JSON.search(sentence[0], found.end()) else sentence[0]
