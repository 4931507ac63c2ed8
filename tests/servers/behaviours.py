"""The behaviours that are tested with each model server, over each of its lanes."""

from collections.abc import Mapping
from typing import Final

from tests.servers import compared, programs, traffic
from tests.servers.bench import Behaviour
from tests.servers.questions import Json, Question

_TOO_LONG: Final[Json] = {"input": "say hello " + "to all of them, " * 300}
_BAD_SCHEMA: Final[Json] = {
    "text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "nonsense"}, "strict": True}}
}

_BEHAVIOURS: Final = {
    "text": ("text", "emoji and Chinese, cut into many tokens", compared.says("greeting", Question("say hello"))),
    "reasoning": ("reasoning", "told apart from the text by the server", compared.thought),
    "events": (
        "events",
        "our grammar, the `openai` package and the Open Responses schema accept each one",
        compared.events,
    ),
    "call": ("call", "of one of three tools", compared.calls(Question("weather in Paris", tools=True))),
    "parallel": ("parallel calls", "two in one answer", compared.calls(Question("weather and time", tools=True), 2)),
    "words_call": ("text and a call", "in one answer", compared.calls(Question("weather in Oslo", tools=True))),
    "thought_call": ("reasoning and a call", "in one answer", compared.calls(Question("weather in Lima", tools=True))),
    "nested": (
        "nested arguments",
        "objects, lists, quotes and escapes",
        compared.calls(Question("book a trip", tools=True)),
    ),
    "required": (
        "required call",
        '`tool_choice` is `"required"`, and the model wants to say something else',
        compared.calls(Question("hm", tools=True, choice="required")),
    ),
    "named": ("named call", "`tool_choice` names a tool, and the model wants to call another one", compared.named),
    "custom": ("custom tool", "`apply_patch` with raw text, which the server knows as a function", compared.custom),
    "history": (
        "tool outputs",
        "two calls of the past with their outputs; the server counts as many tokens as when asked by hand",
        compared.same(Question("weather in Lima", tools=True, called=[compared.WEATHER, compared.AGAIN])),
    ),
    "thought_back": (
        "reasoning between calls",
        "the reasoning before a call is sent back with the output of the tool",
        compared.thought_back,
    ),
    "structured": (
        "structured output",
        "a schema, which the server enforces if the model says no JSON",
        compared.structured,
    ),
    "logprobs": ("logprobs", "of each token of the text", compared.logprobs),
    "limit": (
        "token limit",
        "in a text and in reasoning: the response is `incomplete`",
        compared.limited,
    ),
    "long": ("long answer", "of 500 tokens", compared.same(Question("never stop", limit=500))),
    "end_of_context": (
        "end of the context",
        "an answer without a limit is `incomplete` when it is full",
        compared.full,
    ),
    "too_long": (
        "prompt that is too long",
        "refused with `context_length_exceeded`",
        compared.refused(_TOO_LONG, 400, "context_length_exceeded"),
    ),
    "bad_schema": (
        "bad schema",
        "refused with 400",
        compared.refused(_BAD_SCHEMA, 400, "invalid_request_error"),
    ),
    "unknown_model": (
        "unknown model",
        "refused with `model_not_found`",
        compared.refused({"model": "no-such-model"}, 404, "model_not_found"),
    ),
    "counted": (
        "token counts",
        "`/v1/responses/input_tokens` says as many tokens as the server then reads",
        compared.counted,
    ),
    "compacted": ("compaction", "a conversation goes on from its summary", compared.compacted),
    "cancelled": (
        "cancellation",
        "one second after the client has gone, streamed or whole, the server is free",
        traffic.cancelled,
    ),
    "at_once": (
        f"{traffic.CLIENTS} clients at once",
        f"{traffic.ROUNDS} answers each, over connections that are kept: none fails",
        traffic.at_once,
    ),
    "websocket": ("websocket", "two turns on a connection, the second one with what is new only", traffic.websocket),
    "package": ("`openai` package", "its accumulator puts a text and a call together", programs.package),
    "doctor": ("`am-proxy doctor`", "finds no fault", programs.command("doctor")),
    "probe": ("`check --probe`", "finds that this API works", programs.command("check", "--probe")),
    "codex": (
        "Codex",
        "shows an answer",
        programs.codex("say hello", "greeting", programs.showed),
    ),
    "codex_command": (
        "Codex runs a command",
        "with `exec_command`, and gets back what it printed",
        programs.codex("run a command", "tool output", programs.ran_a_command),
    ),
    "codex_patch": (
        "Codex edits a file",
        "with `apply_patch`",
        programs.codex("write a patch", "tool output", programs.edited),
    ),
}
BEHAVIOURS: Final[Mapping[str, Behaviour]] = {slug: Behaviour(*about) for slug, about in _BEHAVIOURS.items()}
