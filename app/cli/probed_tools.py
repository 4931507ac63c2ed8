"""Which tools a server with the Responses API knows: custom tools and namespaces, or functions alone.

Codex fails at once where such a tool is refused, and cannot patch a file where it is dropped. So each is asked for, and
where one is not called, the same custom tool as the function that `tools = "functions"` makes of it.
"""

from typing import Any, Final

from ..settings import Upstream
from .probe import ask
from .probe_answers import FoundTools, is_refused

Json = dict[str, Any]

_NAME: Final = "answer"
_SPACE: Final = "quiz"
_QUESTION: Final = "Is water wet? Call the tool `answer`."
_GRAMMAR: Final = {"type": "grammar", "syntax": "lark", "definition": 'start: "yes" | "no"'}
_CUSTOM: Final[Json] = {
    "input": _QUESTION,
    "tools": [{"type": "custom", "name": _NAME, "description": "Takes an answer.", "format": _GRAMMAR}],
    "tool_choice": {"type": "custom", "name": _NAME},
}
_PARAMETERS: Final[Json] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_FUNCTION: Final[Json] = {"type": "function", "name": _NAME, "strict": False, "parameters": _PARAMETERS}
_NAMESPACE: Final[Json] = {
    "input": _QUESTION,
    "tools": [{"type": "namespace", "name": _SPACE, "description": "A quiz.", "tools": [_FUNCTION]}],
    "tool_choice": "required",
}


async def tools_of(upstream: Upstream, model: str) -> FoundTools:
    """How this server gets tools best."""
    fault = await _fault(upstream, model)
    if not fault:
        return FoundTools("native", "native: it calls custom tools with a grammar, and tools in a namespace")
    answer = await ask("responses", upstream, model, _CUSTOM, functions_only=True)
    if ("function_call", _NAME) in answer.calls:
        return FoundTools("functions", f"functions: {fault}")
    return FoundTools("functions", "", (fault,))


async def _fault(upstream: Upstream, model: str) -> str:
    """What it does not know of the tools that Codex sends. Empty if there is nothing."""
    for question, kind, called in (
        (_CUSTOM, "custom tool with a grammar", ("custom_tool_call", _NAME)),
        (_NAMESPACE, "tool in a namespace", ("function_call", f"{_SPACE}/{_NAME}")),
    ):
        answer = await ask("responses", upstream, model, question)
        if is_refused(answer):
            return f"it refuses {kind.replace('tool', 'tools', 1)}"
        if called not in answer.calls:
            return f"it makes no call of a {kind}"
    return ""
