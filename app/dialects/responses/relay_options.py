"""The configuration of one upstream with the Responses API."""

import msgspec

from ...options import ResponseIds, ServerOptions
from ...protocol.seals import Sealer


class RelayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one upstream."""

    ids: ResponseIds = "am"
    """Ids marked as this server's, with the original inside, or as the upstream gave them."""
    server: ServerOptions = ServerOptions()
    """Settings that apply to all models."""
    sealer: Sealer | None = None
    """Opens content that this server sealed."""
    origin: str = ""
    """Identifies the upstream: content that it sealed is sent only to it."""
