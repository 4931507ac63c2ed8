"""How one upstream that speaks Responses is asked, settled by configuration."""

import msgspec

from app.options import ResponseIds
from app.protocol.response import MAX_ANSWER
from app.protocol.seals import Sealer


class RelayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one upstream."""

    ids: ResponseIds = "am"
    """Ids marked as this server's, with the original inside, or as the upstream gave them."""
    allow_private_urls: bool = False
    """Images and files may lie on private addresses."""
    sealer: Sealer | None = None
    """Opens what this server sealed itself."""
    max_answer_bytes: int = MAX_ANSWER
    """What one answer may hold."""
    origin: str = ""
    """Identifies the upstream: what it sealed goes back only to it."""
