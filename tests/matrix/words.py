"""What the scripted model says, what the tools take and give: the words that every client must hand on unchanged.

Nothing but the standard library: the drivers import it in an environment of their own; those of Node get it as JSON.
"""

from collections.abc import Iterable
from typing import Any, Final

PROMPT: Final = "Please do as you were told."
TEXT: Final = "Hello from the scripted model: naïve 😀 «done»."
THOUGHT: Final = "First I weigh it up."
AGAIN: Final = "Then I look once more."
PARTIAL: Final = "It was going so"
REFUSAL: Final = "I will not help with that."
CODE: Final = 'print("naïve 😀")\n# a back\\slash, a\ttab\n'
"""What the model writes into the free-form tool."""
RAN: Final = "the program ran"
"""What that tool gives."""
QUERY: Final = "find a tool that knows the weather"
FOUND: Final = {"city": "Paris", "degrees": 21}
PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE: Final = f"data:image/png;base64,{PIXEL}"
SAID: Final = {"type": "input_text", "text": PROMPT}
IMAGE: Final = {"type": "input_image", "image_url": PICTURE, "detail": "auto"}


def schema(**members: str) -> dict[str, Any]:
    """The schema of an object with these members and their types."""
    properties = {name: {"type": kind} for name, kind in members.items()}
    return {"type": "object", "properties": properties, "required": list(members), "additionalProperties": False}


def _function(name: str, **members: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "description": "…", "parameters": schema(**members), "strict": True}


SCHEMA: Final = schema(city="string", degrees="integer")
WEATHER: Final = _function("get_weather", city="string")
_LOOK_UP: Final = _function("look_up", city="string")
TOOLS: Final[dict[str, dict[str, Any]]] = {
    "weather": WEATHER,
    "custom": {"type": "custom", "name": "run_code", "description": "…", "format": {"type": "text"}},
    "namespace": {
        "type": "namespace",
        "name": "sky",
        "description": "…",
        "tools": [_function("look_up", city="string")],
    },
    "search": {"type": "tool_search", "execution": "client", "description": "…", "parameters": schema(query="string")},
    "picture": _function("take_picture"),
}
"""The tools as the Responses API has them, by the names that cells call them."""
FOUND_TOOLS: Final = {"type": "tool_search_output", "tools": [WEATHER], "execution": "client", "status": "completed"}
"""What a client answers to a search of tools."""
THINKING: Final[dict[str, Any]] = {
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
}


def degrees(city: str) -> str:
    """What the weather tools give."""
    return f"21 degrees in {city}"


def cities(outputs: Iterable[str]) -> list[str]:
    """Those whose weather the tools gave."""
    return [output.strip().removeprefix(degrees("")) for output in outputs if output.startswith(degrees(""))]
