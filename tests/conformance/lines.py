"""What the scripted model says and what its tools give: the words that every client must hand on unchanged.

Nothing but the standard library: the drivers import it from environments of their own.
"""

from typing import Any, Final

TEXT: Final = "Hello from the scripted model: naïve 😀 «done»."
THOUGHT: Final = "First I weigh it up."
AGAIN: Final = "Then I look once more."
PARTIAL: Final = "It was going so"
REFUSAL: Final = "I will not help with that."
SYSTEM: Final = "Be brief."
PROMPT: Final = "Please do as you were told."

CITIES: Final = ("Paris", "Rome")
FOUND: Final = {"city": "Paris", "degrees": 21}
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
CITY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
QUERY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}
CODE: Final = 'print("naïve 😀")\n# a back\\slash, a\ttab\n'
"""What the model writes into the free-form tool."""
RAN: Final = "the program ran"
"""What that tool gives."""

WEATHER: Final = "get_weather"
RUN: Final = "run_code"
NAMESPACE: Final = "weather"
LOOK_UP: Final = "look_up"
SEARCH: Final = "find a tool that knows the weather"

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A picture, in base64."""
PICTURE: Final = f"data:image/png;base64,{PIXEL}"


def degrees(city: str) -> str:
    """What the weather tool gives."""
    return f"21 degrees in {city}"
