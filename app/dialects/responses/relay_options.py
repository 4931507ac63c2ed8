"""The configuration of one upstream with the Responses API."""

from typing import Self

import msgspec
from msgspec.structs import replace

from ...options import NamedToolChoice, ResponseIds, ServerOptions
from ...protocol.seals import Sealer


class RelayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one upstream."""

    ids: ResponseIds = "am"
    """Ids marked as this server's, with the original inside, or as the upstream gave them."""
    functions_only: bool = False
    """Whether the server knows no tools of a client but functions."""
    tools_unknown: bool = False
    """Whether nothing is known of the tools that the server knows."""
    tools_were_refused: bool = False
    """It has refused the request with its tools as they are, and gets functions."""
    hosted_tools: tuple[str, ...] | None = None
    """How the types of tools begin that such a server runs itself. None: it may run any."""
    named_tool_choice: NamedToolChoice = "name"
    """How such a server is asked for a call of one tool."""
    efforts: tuple[str, ...] | None = None
    """The reasoning efforts that the server takes. None: any."""
    explicit_items: bool = False
    """Whether the server takes items only with their type, and reasoning only with its text in `content`."""
    state_was_refused: bool = False
    """The server has refused the encrypted reasoning of this conversation: none is sent."""
    server: ServerOptions = ServerOptions()
    """Settings that apply to all models."""
    sealer: Sealer | None = None
    """Opens content that this server sealed."""
    origin: str = ""
    """Identifies the upstream: content that it sealed is sent only to it."""

    @property
    def after_refused_tools(self) -> Self:
        """The options for a server of unknown tools that has refused those of a request."""
        hosted = () if self.hosted_tools is None else self.hosted_tools
        return replace(self, functions_only=True, hosted_tools=hosted, tools_unknown=False, tools_were_refused=True)
