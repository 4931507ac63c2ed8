"""The interface of a bridge, and the types that bridges share with dialects."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import msgspec

from ..emitter.open_items import ItemPosition, OpenCall
from ..protocol.request.tool_items import ToolItem
from ..protocol.request.tools import Tool
from .naming import Names, ToolName


class FunctionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A function that a model may call, in no dialect."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class BridgedTool(NamedTuple):
    """One of the client's tools, the function that carries it upstream, and the bridge between the two."""

    tool: ToolName
    spec: FunctionSpec
    bridge: "Bridge"
    definition: Tool | None = None
    """The tool as the client offers it; None if it is only known from past calls."""


class PastCall(NamedTuple):
    """A past call as a function call, as the model will read it."""

    call_id: str
    name: str
    arguments: str
    encrypted: bool = False
    """Whether a part of the arguments, which another server encrypted, was left out."""


class PastOutput(NamedTuple):
    """The output of a past call: plain text, or the client's content parts."""

    call_id: str | None
    """None: the client names only the tool."""
    content: str | list[Any]
    failed: bool = False
    """Whether the client says that the tool failed."""
    tool: str = ""
    """The name of its function, where no call is named."""


class Bridge(ABC):
    """One tool type: its shapes on the wire, and how a function carries it. No I/O; bridges do not use each other."""

    tool: ClassVar[type[Tool]]
    """The shape of the tool as a client offers it."""
    call: ClassVar[type[ToolItem]]
    """The shape of a past call."""
    output: ClassVar[type[ToolItem]]
    """The shape of the output of a past call."""
    item_prefix: ClassVar[str]
    """The prefix of its calls' ids."""

    @abstractmethod
    def declare(self, tool: Any, name: str, /) -> FunctionSpec | None:
        """The function that carries this tool, under this name. None if the tool would run on OpenAI's servers."""

    @abstractmethod
    def read_call(self, item: Any, bridged: BridgedTool, /) -> PastCall:
        """A past call of the tool, as a call of its function."""

    def read_output(self, item: Any, _names: Names, /) -> PastOutput:
        """The output of a past call, text or parts. Tools in it get the names of their functions."""
        return PastOutput(item.call_id, item.output)

    def is_plain(self, _bridged: BridgedTool, /) -> bool:
        """Whether a call of the function is a call of the tool, word for word."""
        return False

    @abstractmethod
    def open_call(self, bridged: BridgedTool, call_id: str, position: ItemPosition, /) -> OpenCall:
        """The item for a call of this function."""
