"""The properties of one upstream model that a prompt depends on, in any dialect."""

import msgspec

from ..options import CallIds, ModelOptions, NamedToolChoice, ServerOptions
from ..protocol.seals import Sealer
from ..providers.capabilities import ANYTHING, Capabilities


class PromptRules(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between models and is not in a request."""

    model: ModelOptions = ModelOptions()
    """What is configured for the model."""
    server: ServerOptions = ServerOptions()
    """What is configured for all models."""
    call_ids: CallIds = "keep"
    """The call ids that this upstream takes. Other ids are mapped, in every turn to the same id."""
    file_urls: bool = False
    """The upstream fetches files itself. Chat servers do not."""
    can: Capabilities = ANYTHING
    """What the model takes, as far as that is known."""
    named_tool_choice: NamedToolChoice = "name"
    """How the upstream is asked for a call of one tool: by its name; or with `required` and only that tool offered, for
    servers that take no names."""
    declare_past_tools: bool = False
    """Where a request offers no tools, declare those its history calls, not to be called: Anthropic and Bedrock refuse
    past calls otherwise."""
    hints: frozenset[str] = frozenset()
    """Parameters that do not change the answer, and that this upstream takes as they are: names of fields of `Hints`.
    Most servers refuse or ignore them."""
    signed_reasoning: bool = False
    """The upstream takes back only reasoning that it signed itself; any other is left out with a warning."""
    state_was_refused: bool = False
    """The upstream has refused state that this conversation gives back to it: none is given back."""
    sealer: Sealer | None = None
    """Seals provider state for the client to send back. None: no state is sealed, and no seal is opened."""
    seal_always: bool = False
    """Seal for every client, not only for those that include `reasoning.encrypted_content`."""
    origin: str = ""
    """Which upstream this is: its state is sent back to no other."""
    one_maker: bool = False
    """Whether all its models are of one maker: each then takes back the state of another."""
