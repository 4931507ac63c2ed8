"""Function tools: they are sent as they are."""

from ..types.json import Json
from ..types.request import Content, Name, Tool, ToolItem


class FunctionTool(Tool):
    """A function that the client runs itself."""

    name: Name
    description: str | None = None
    parameters: Json | None = None
    strict: bool | None = None


class FunctionCallItem(ToolItem, kw_only=True):
    """A past call of a function, its arguments as the model wrote them."""

    call_id: str
    name: str
    namespace: str | None = None
    arguments: str


class FunctionCallOutputItem(ToolItem, kw_only=True):
    """The output of a past call. Of a call that was not waited for, it may name only the tool."""

    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    output: Content
