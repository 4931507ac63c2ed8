"""How one upstream that speaks Responses is asked, settled by configuration."""

import msgspec

from app.options import ResponseIds
from app.protocol.response import MAX_ANSWER
from app.protocol.seals import Sealer


class RelayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What no request can say."""

    ids: ResponseIds = "am"
    """Ids marked as this server's, with the original inside, or as the upstream gave them."""
    allow_private_urls: bool = False
    """Images and files may lie on private addresses."""
    sealer: Sealer | None = None
    """Tells what this server sealed itself from what the upstream did."""
    max_answer_bytes: int = MAX_ANSWER
    """What one answer may hold."""
    origin: str = ""
    """Which upstream this is: what it sealed goes back to no other."""
