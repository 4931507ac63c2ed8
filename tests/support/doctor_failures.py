"""Servers with which something is wrong, and what `am-proxy doctor` says about each."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tests.support.probed_server import KEY
from tests.support.surveyed_server import (
    REFUSES_EMPTY,
    Page,
    chats,
    listing,
    llama_cpp,
    lm_studio,
    ollama,
    shown,
    vllm,
)
from tests.wire.script import chunk, counts, says, stops
from tests.wire.servers import Script, Status

CALL = chunk(
    {
        "index": 0,
        "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "get_time", "arguments": "{}"}}]},
        "finish_reason": "tool_calls",
    }
)
CALLS = [CALL, counts(7, 5)]
SAYS = [says("Hello"), says(" there"), stops(), counts(7, 5)]
QWEN = shown("qwen3", 65_536, "tools")
TINY = shown("llama", 65_536)


def refusing(status: int, message: str = "", **fields: object) -> Status:
    """An error as OpenAI words it."""
    return Status(status, {"error": {"message": message, "type": "invalid_request_error", **fields}})


def page(title: str, status: int = 200) -> Status:
    """A web page."""
    body = f"<!doctype html>\n<html><head><title>{title}</title></head><body>{KEY}</body></html>"
    return Status(status, body.encode(), {"content-type": "text/html"})


class FailureCase(NamedTuple):
    """A server, and what is said about it."""

    pages: Mapping[str, Page]
    step: str
    printed: str
    advice: str
    verdict: str
    words: Script = SAYS
    tools: Script = CALLS
    other: Status = refusing(404, "Not Found")
    flags: Sequence[str] = ()
    path: str = "/v1"


NO_KEY = "✗ it needs an API key, and none is set"
BAD_KEY = "✗ it refuses the API key"
WORKS = "works, but {}: needs attention"
FAILURES: Final[dict[str, FailureCase]] = {
    "no key": FailureCase(
        chats(models=listing("m")),
        "key",
        NO_KEY,
        "Add --upstream-key env:NAME, where NAME is the variable that holds the key.",
        "does not work: it needs an API key, and none is set",
        [refusing(401, "no")],
    ),
    "no key anywhere": FailureCase(
        {},
        "key",
        NO_KEY,
        "Add --upstream-key env:NAME",
        "does not work: it needs",
        [refusing(401)],
        other=refusing(401),
    ),
    "wrong key": FailureCase(
        chats(models=listing("m")),
        "key",
        BAD_KEY,
        "Is it the right key for this server, and still valid? It comes from THE_KEY.",
        "does not work: it refuses the API key",
        [refusing(401, f"wrong key {KEY}")],
        flags=("--upstream-key", "env:THE_KEY"),
    ),
    "no /v1, and another via": FailureCase(
        chats(models=listing("m")),
        "answers",
        "✗ this server has no /responses",
        "It has /chat/completions: use --via chat.",
        "does not work: this server has no /responses",
        flags=("--via", "responses"),
        path="",
    ),
    "no chat completions": FailureCase(
        {"/v1/models": listing("m"), "/v1/responses": REFUSES_EMPTY},
        "answers",
        "✗ this server has no /chat/completions",
        "It has /responses: use --via responses.",
        "does not work: this server has no /chat/completions",
        [refusing(404, "Not Found")],
        flags=("--via", "chat"),
    ),
    "a web page": FailureCase(
        {},
        "answers",
        '✗ a web page answers there ("Grafana & friends"), no model server',
        "Look at the port and the path in --upstream: another program listens there.",
        "does not work: a web page answers there",
        [page("Grafana &amp;\n friends")],
        other=page("Grafana &amp;\n friends"),
    ),
    "a web page that wants a login": FailureCase(
        {},
        "answers",
        '✗ a web page answers there ("Sign in"), no model server',
        "another program listens there.",
        "does not work: a web page",
        [page("Sign in", 403)],
        other=page("Sign in", 403),
    ),
    "another API with a web page": FailureCase(
        {"/": page("Prometheus")},
        "answers",
        '✗ a web page answers there ("Prometheus"), no model server',
        "another program listens there.",
        "does not work: a web page",
        [refusing(404)],
    ),
    "another API": FailureCase(
        {"/": refusing(404)},
        "answers",
        "✗ no model server answers there: it has neither /chat/completions nor /responses nor /v1/messages",
        "Look at the port and the path in --upstream.",
        "does not work: no model server answers there",
        [refusing(404)],
    ),
    "no list, and no such model": FailureCase(
        chats(),
        "answers",
        '✗ it does not know the model "default"',
        "Name a model in a [models] table; this server lists none at",
        'does not work: it does not know the model "default"',
        [refusing(404, "no", code="model_not_found")],
    ),
    "quota": FailureCase(
        chats(models=listing("m")),
        "answers",
        "✗ The quota at the upstream is used up.",
        "The account behind the key has no credit left: top it up, or use another key.",
        "does not work: The quota",
        [refusing(402)],
    ),
    "rate limit": FailureCase(
        chats(models=listing("m")),
        "answers",
        "✗ The upstream is receiving too many requests.",
        "It works, but its rate limit is used up: wait, or ask its owner for more.",
        "does not work: The upstream is receiving too many requests.",
        [refusing(429)],
    ),
    "no room": FailureCase(
        chats(models=listing("m")),
        "answers",
        "✗ The input is longer than this model's context window.",
        "Even a few words are too long for it: its context is set too small.",
        "does not work: The input is longer",
        [refusing(400, "the prompt is too long", code="context_length_exceeded")],
    ),
    "refused by a filter": FailureCase(
        chats(models=listing("m")),
        "answers",
        "✗ The upstream refused the input because of its content policy",
        "A harmless question was refused: look at the filters of that server.",
        "does not work: The upstream refused the input",
        [refusing(400, "no", code="content_filter")],
    ),
    "refused": FailureCase(
        chats(models=listing("m")),
        "answers",
        "✗ The upstream refused the request: no words here",
        "Look at the log of that server.",
        "does not work: The upstream refused the request: no words here",
        [refusing(400, "no words here")],
    ),
    "failing": FailureCase(
        chats(models=listing("m")),
        "answers",
        "✗ The upstream failed with status 500: out of memory",
        "Look at the log of that server.",
        "does not work: The upstream failed with status 500: out of memory",
        [refusing(500, "out of memory")],
    ),
    "without an end": FailureCase(
        chats(models=listing("m")),
        "answers",
        "✗ it never says why it ends (finish_reason)",
        "Try another `via`: chat, responses or messages.",
        "does not work: it never says why it ends",
        [says("Hel"), says("lo")],
    ),
    "in one piece": FailureCase(
        chats(models=listing("m")),
        "streams",
        "! no: the answer came in one piece",
        "Something on the way may buffer",
        WORKS.format("does not stream"),
        [says("Hello", finish="stop"), counts(1, 1)],
    ),
    "no usage": FailureCase(
        chats(models=listing("m")),
        "counts tokens",
        "! no: usage will be estimated",
        "See `stream_options`",
        WORKS.format("counts no tokens"),
        [says("a"), says("b"), stops()],
    ),
    "no call": FailureCase(
        chats(models=listing("m")),
        "calls tools",
        "! no: it answered in words",
        "Agents need tools. Try another model: small ones often do that.",
        WORKS.format("calls no tools"),
        tools=SAYS,
    ),
    "tools are refused": FailureCase(
        chats(models=listing("m")),
        "calls tools",
        "! no: The upstream refused the request: no tools here",
        "Agents need tools. Use a model that supports them.",
        WORKS.format("calls no tools"),
        tools=[refusing(400, "no tools here")],
    ),
    "tools in another API": FailureCase(
        chats(models=listing("gpt-6.1-sol")),
        "calls tools",
        "! no: The upstream refused the request: Function tools are not supported",
        "Agents need tools. This model calls them by the Responses API alone: use --via responses.",
        WORKS.format("calls no tools"),
        tools=[refusing(400, "Function tools are not supported by chat completions. Use /v1/responses instead.")],
    ),
    "tools of other models": FailureCase(
        ollama({"tiny": TINY, "qwen3:8b": QWEN}),
        "calls tools",
        "! no: The upstream refused the request: tiny does not support tools",
        "Agents need tools. Of its models, these call tools: qwen3:8b.",
        WORKS.format("calls no tools"),
        tools=[refusing(400, "tiny does not support tools")],
    ),
    "vLLM without a parser": FailureCase(
        vllm("m", 65_536),
        "calls tools",
        "! no: The upstream refused the request",
        "Start vLLM with --enable-auto-tool-choice",
        WORKS.format("calls no tools"),
        tools=[refusing(400, '"auto" tool choice requires --enable-auto-tool-choice')],
    ),
    "a short context": FailureCase(
        ollama({"qwen3:8b": QWEN}, loaded={"qwen3:8b": 4096}),
        "context",
        "! 4096 tokens, which is too little for coding agents",
        "Start Ollama with OLLAMA_CONTEXT_LENGTH=32768, or more.",
        WORKS.format("has a small context"),
    ),
    "a short context of llama.cpp": FailureCase(
        llama_cpp("m", 8192, trained=65_536, vision=False),
        "context",
        "! 8192 tokens, which is too little for coding agents",
        "Start llama-server with --ctx-size 32768, or more.",
        WORKS.format("has a small context"),
    ),
    "a short context of LM Studio": FailureCase(
        lm_studio({"id": "m", "type": "llm", "max_context_length": 65_536, "loaded_context_length": 4096}),
        "context",
        "! 4096 tokens, which is too little for coding agents",
        "Load the model with a context of 32768 in LM Studio, or more.",
        WORKS.format("has a small context"),
    ),
    "two things": FailureCase(
        vllm("m", 8192),
        "context",
        "! 8192 tokens",
        "Start vLLM with --max-model-len 32768, or more.",
        WORKS.format("calls no tools and has a small context"),
        tools=SAYS,
    ),
    "the address without /v1": FailureCase(
        ollama({"qwen3:8b": QWEN}),
        "address",
        "! no API is at http://127.0.0.1:{port}; did you mean http://127.0.0.1:{port}/v1?",
        "",
        WORKS.format("is at another address"),
        path="",
    ),
}
