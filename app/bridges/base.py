"""What every bridge offers, and the words bridges and dialects share."""

from typing import Any, NamedTuple, Protocol

import msgspec

from app.protocol.request import Tool
from app.turn.open_items import OpenCall, Place


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A function as a model is told of it, in no dialect."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Carrier(NamedTuple):
    """A function that carries one of the client's tools, and the bridge that knows how."""

    spec: FunctionSpec
    bridge: "Bridge"
    tool: Tool


class RetoldCall(NamedTuple):
    """A past call as a function call: what the model will read of it."""

    call_id: str
    name: str
    arguments: str


class RetoldOutput(NamedTuple):
    """What a past call gave: plain text, or the client's content parts."""

    call_id: str
    content: str | list[Any]


class Bridge(Protocol):
    """One tool type and its items. Pure; bridges do not know each other."""

    tool_type: str
    call_type: str
    output_type: str
    item_prefix: str

    def declare(self, tool: Any, path: str) -> list[Carrier]:
        """The functions that carry this tool. `path` names it (`tools[2]`) for a problem."""
        ...

    def retell_call(self, item: Any) -> RetoldCall:
        """A past call of this type."""
        ...

    def retell_output(self, item: Any) -> RetoldOutput:
        """A past output of this type."""
        ...

    def open_call(self, carrier: Carrier, call_id: str, place: Place) -> OpenCall:
        """The item that a call of this carrier becomes."""
        ...
