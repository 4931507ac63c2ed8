"""Options of servers and models: each is declared once here, set by the configuration, and read where it is used."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A table of the configuration: frozen, and a key that it does not have is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ChatCompat(Table):
    """How one chat-completions server differs from others. With the defaults a request body is sent as it is."""

    stream_options: bool = True
    """False: the upstream is never asked to count tokens. True: it is, until it refuses."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the upstream calls the limit of an answer. OpenAI's newer models know the longer name only, most other
    servers the shorter."""
    system_role: Literal["system", "developer"] = "system"
    """The role of instructions."""
    strict_tools: bool = True
    """False: `strict` is taken off tools, for servers that refuse a key they do not know."""
    reasoning_field: Literal["reasoning_content", "reasoning", "none"] = "reasoning_content"
    """The field in which earlier reasoning goes back; none: it does not."""
    blank_reasoning: bool = False
    """True: assistant messages without reasoning get a blank one, for servers that demand it (DeepSeek). Another model
    may have written the message, or the client may have dropped the reasoning."""
