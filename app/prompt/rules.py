"""What one upstream model takes, whatever its dialect."""

from typing import Literal

import msgspec

from app.protocol.capabilities import ANYTHING, Capabilities

CallIds = Literal["keep", "plain64", "plain40", "alphanumeric9"]
"""Ids of calls: as the client has them; at most 64 plain characters, or 40, as OpenAI wants; or nine letters and
digits, as Mistral wants."""


class PromptRules(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between models and no request can say."""

    system_messages: Literal["keep", "merge_head", "as_user"] = "keep"
    """System and developer messages: where they stand; all in one at the head; or said by the user, for models that
    know no system role."""
    call_ids: CallIds = "keep"
    """What ids of calls this upstream takes. Others are mapped, the same in every turn, calls and outputs alike."""
    allow_private_urls: bool = False
    """Images and files may lie on private addresses."""
    can: Capabilities = ANYTHING
    """What the model takes, as far as that is known."""
    lenient: bool = False
    """Leave out what it does not take, with a warning, instead of refusing the request."""
