"""What one upstream model takes, whatever its dialect."""

import msgspec

from app.options import CallIds, ModelOptions
from app.protocol.capabilities import ANYTHING, Capabilities


class PromptRules(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between models and no request can say."""

    model: ModelOptions = ModelOptions()
    """What is configured for the model."""
    call_ids: CallIds = "keep"
    """What ids of calls this upstream takes. Others are mapped, the same in every turn, calls and outputs alike."""
    allow_private_urls: bool = False
    """Images and files may lie on private addresses."""
    can: Capabilities = ANYTHING
    """What the model takes, as far as that is known."""
    lenient: bool = False
    """Leave out what it does not take, with a warning, instead of refusing the request."""
