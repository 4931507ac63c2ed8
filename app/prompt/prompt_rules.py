"""What one upstream model takes, whatever its dialect."""

import msgspec

from app.options import CallIds, ModelOptions, NamedToolChoice, ServerOptions
from app.protocol.seals import Sealer
from app.providers.capabilities import ANYTHING, Capabilities


class PromptRules(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between models and does not stand in a request."""

    model: ModelOptions = ModelOptions()
    """What is configured for the model."""
    server: ServerOptions = ServerOptions()
    """What is configured for all models."""
    call_ids: CallIds = "keep"
    """What ids of calls this upstream takes. Others are mapped, the same in every turn, calls and outputs alike."""
    file_urls: bool = False
    """The upstream fetches files itself. Chat servers do not."""
    can: Capabilities = ANYTHING
    """What the model takes, as far as that is known."""
    named_tool_choice: NamedToolChoice = "name"
    """How the upstream is asked for a call of one tool: by its name; or by offering that tool alone with the word
    `required`, for servers that take words only."""
    declare_past_tools: bool = False
    """Where a request offers no tools, declare those its history calls, not to be called: Anthropic and Bedrock refuse
    past calls otherwise."""
    hints: frozenset[str] = frozenset()
    """Parameters that do not change the answer, and that this upstream takes as they are: names of fields of `Hints`.
    Most servers refuse or ignore them."""
    sealer: Sealer | None = None
    """Seals what the client carries for the upstream; without it nothing is sealed, and no seal is opened."""
    seal_always: bool = False
    """Seal for every client, not only for those that include `reasoning.encrypted_content`."""
    origin: str = ""
    """Which upstream this is: what it gave to be carried goes back to no other."""
    one_maker: bool = False
    """Its models are all of one maker, and take back what another of them gave."""
