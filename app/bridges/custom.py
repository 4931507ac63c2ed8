"""Custom tools: one text, in no JSON, carried by a function with the one string `input`."""

import re
from typing import Any, Final

import msgspec
from msgspec import UNSET

from app.bridges.base import Carrier, FunctionSpec, RetoldCall, RetoldOutput
from app.bridges.json_string_tap import JsonStringTap
from app.bridges.naming import Names, ToolName
from app.emitter.open_items import Closed, ItemPosition, OpenCall
from app.protocol import events as e
from app.protocol.output_items import CustomToolCall, ItemStatus
from app.protocol.request.tool_items import CustomToolCallItem, CustomToolCallOutputItem
from app.protocol.request.tools import CustomTool, GrammarInput

INPUT: Final = "input"
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


class CustomBridge:
    """A custom tool rides on a function of one string."""

    tool_type = "custom"
    call_type = "custom_tool_call"
    output_type = "custom_tool_call_output"
    item_prefix = "ctc"

    def declare(self, tool: CustomTool, name: str) -> FunctionSpec:
        """A function of one string; a grammar is told in its description."""
        said = [_SENTENCE.sub(_unless_against_json, tool.description or "").strip(), HOW]
        if isinstance(tool.format, GrammarInput):
            syntax = "regular expression" if tool.format.syntax == "regex" else "Lark grammar"
            said.append(f"`{INPUT}` must match this {syntax}:\n{tool.format.definition.strip()}")
        description = "\n\n".join(paragraph for paragraph in said if paragraph)
        return FunctionSpec(name=name, description=description, parameters=_PARAMETERS)

    def tool_of(self, item: CustomToolCallItem) -> ToolName:
        """The tool, within its namespace."""
        return ToolName(self.tool_type, item.name, item.namespace)

    def retell_call(self, item: CustomToolCallItem, carrier: Carrier) -> RetoldCall:
        """The input as the string of its function."""
        return RetoldCall(item.call_id, carrier.spec.name, msgspec.json.encode({INPUT: item.input}).decode())

    def retell_output(self, item: CustomToolCallOutputItem, names: Names) -> RetoldOutput:  # noqa: ARG002 — names no tool
        """The output, text or parts."""
        return RetoldOutput(item.call_id, item.output)

    def open_call(self, carrier: Carrier, call_id: str, position: ItemPosition) -> OpenCall:
        """A `custom_tool_call` item."""
        return OpenCustomCall(position, carrier.tool, call_id)


class OpenCustomCall:
    """A call of a custom tool: its input is taken out of the arguments while they arrive."""

    def __init__(self, position: ItemPosition, tool: ToolName, call_id: str) -> None:
        self.position = position
        self._tool = tool
        self._call_id = call_id
        self._arguments: list[str] = []
        self._input: list[str] = []
        self._tap = JsonStringTap(INPUT)

    def open(self) -> list[e.Event]:
        """Added, with an empty input."""
        return [self.position.item(e.OutputItemAdded, item=self._item("in_progress", ""))]

    def announce(self) -> list[e.Event]:
        """Nothing: it was told when it opened."""
        return []

    def add(self, arguments: str) -> list[e.Event]:
        """More arguments, and what they say of the input."""
        self._arguments.append(arguments)
        return self._tell(self._tap.feed(arguments))

    def said(self) -> str:
        """All arguments so far, as the model wrote them."""
        return "".join(self._arguments)

    def empty_delta(self) -> e.Event:
        """An empty delta."""
        return self.position.within(e.CustomToolCallInputDelta, delta="")

    def close(self, status: ItemStatus) -> Closed:
        """The finished call. One that was cut short gets no `input.done`: careful clients run a tool on it."""
        if status == "incomplete":  # what is still open to doubt, such as half an escape, is no input
            item = self._item(status, "".join(self._input))
            return Closed(item, [self.position.item(e.OutputItemDone, item=item)])
        rest = self._tell(self._tap.rest())
        item = self._item(status, "".join(self._input))
        done = self.position.within(e.CustomToolCallInputDone, input=item.input)
        return Closed(item, [*rest, done, self.position.item(e.OutputItemDone, item=item)])

    def _tell(self, text: str) -> list[e.Event]:
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
    """Codex says «do not wrap the patch in JSON»: true of its tool, and wrong of the function that carries it."""
    found = _NOT.search(sentence[0])
    return "" if found and _JSON.search(sentence[0], found.end()) else sentence[0]
