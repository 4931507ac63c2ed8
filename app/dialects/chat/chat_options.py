"""How one upstream model is asked and answers, settled by configuration."""

from app.options import NamedToolChoice
from app.prompt.rules import PromptRules
from app.protocol.response import MAX_ANSWER
from app.protocol.seals import Sealer


class ChatOptions(PromptRules, frozen=True, kw_only=True):
    """What differs between chat servers and no request can say."""

    declare_past_tools: bool = False
    """Where a request offers no tools, declare those its history calls, not to be called: Anthropic and Bedrock refuse
    past calls otherwise."""
    named_tool_choice: NamedToolChoice = "name"
    """How the upstream is asked for a call of one tool: by its name; or by offering that tool alone with the word
    `required`, for servers that take words only."""
    sealer: Sealer | None = None
    """Seals what the client carries for the upstream; without it nothing is sealed, and no seal is opened."""
    seal_always: bool = False
    """Seal for every client, not only for those that include `reasoning.encrypted_content`."""
    origin: str = ""
    """Which upstream this is: what it gave to be carried goes back to no other."""
    one_maker: bool = False
    """Its models are all of one maker, and take back what another of them gave."""
    max_answer_bytes: int = MAX_ANSWER
    """What one answer may hold."""
    hints: frozenset[str] = frozenset()
    """Parameters that do not change the answer, and that this upstream takes as they are (`HINTS` has all there are).
    Most chat servers refuse or ignore them."""
