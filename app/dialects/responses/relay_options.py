"""How one upstream that speaks Responses is asked, settled by configuration."""

import msgspec

from app.options import ResponseIds, ServerOptions
from app.protocol.seals import Sealer


class RelayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one upstream."""

    ids: ResponseIds = "am"
    """Ids marked as this server's, with the original inside, or as the upstream gave them."""
    server: ServerOptions = ServerOptions()
    """What is configured for all models."""
    sealer: Sealer | None = None
    """Opens what this server sealed itself."""
    origin: str = ""
    """Identifies the upstream: what it sealed goes back only to it."""
