"""One turn with a chat server."""

from ...prompt.nouns import Prompt
from ..prompt_turn import PromptTurn
from ..wire import Wire
from .ask_length import tokens_of
from .chat_options import ChatOptions
from .decode import ChunkReader
from .encode import encode
from .provider_state import FORM


def _reader(prompt: Prompt, options: ChatOptions, keeps_state: bool) -> ChunkReader:  # noqa: FBT001 — as `Wire` demands
    return ChunkReader(think_tags=options.model.think_tags, logprobs=prompt.sampling.logprobs, keeps_state=keeps_state)


class ChatTurn(PromptTurn[ChatOptions]):
    """The request body for one turn, and the events for each chunk."""

    wire = Wire(FORM, encode, _reader, tokens_of)
