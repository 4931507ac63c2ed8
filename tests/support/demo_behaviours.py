"""What the embedded model does when it is told to, and how each stream must end: one table for every client."""

from typing import Any, Final, NamedTuple

WEATHER: Final[dict[str, Any]] = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}
CALLED_WITH: Final = '{"city":"demo"}'
"""What the embedded model passes to that function when it is asked for the weather."""
TOOL_SAID: Final = "The tool said: 21 degrees"
"""What it answers once the function has given "21 degrees"."""


class Behaviour(NamedTuple):
    """A prompt, and what a client must have at the end."""

    prompt: str
    status: str
    items: list[str]
    """The types of the output's items."""
    tools: list[dict[str, Any]]

    @property
    def last_event(self) -> str:
        """How the stream ends."""
        return f"response.{self.status}"


BEHAVIOURS: Final = {
    "text": Behaviour("hello", "completed", ["message"], []),
    "think": Behaviour("think first", "completed", ["reasoning", "message"], []),
    "tool": Behaviour("the weather in Paris", "completed", ["function_call"], [WEATHER]),
    "think and tool": Behaviour("think of the weather", "completed", ["reasoning", "function_call"], [WEATHER]),
    "refuse": Behaviour("refuse this", "completed", ["message"], []),
    "incomplete": Behaviour("incomplete", "incomplete", ["message"], []),
    "failed": Behaviour("failed", "failed", ["message"], []),
    "cut": Behaviour("cut", "failed", ["message"], []),
    "line ends": Behaviour("say \u2028 and \u2029 and \u0085 and \r\n", "completed", ["message"], []),
}
