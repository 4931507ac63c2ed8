"""The behaviours that are tested with each model server, over each of its lanes. What a check gives are the faults."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import httpx
from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # it comes without types

from tests.servers.answers import ANSWERS, PATCH
from tests.servers.lanes import Lane
from tests.servers.questions import SCHEMA, TOOLS, Called, Json, Question, as_request
from tests.servers.said import (
    RefusedError,
    Said,
    differences,
    of_response,
    posted,
    relayed,
    relayed_whole,
    streamed,
    whole,
)


@dataclass(frozen=True)
class Bench:
    """Where a lane is tested."""

    lane: Lane
    url: str
    """Of this server."""
    server_url: str
    """Of the model server."""
    client: httpx.Client
    folder: Path

    @property
    def model(self) -> str:
        """The name by which this server knows the model over this lane."""
        return self.lane.slug

    def request(self, question: Question) -> Json:
        """A question as a client asks it."""
        return as_request(question, self.model)

    def direct(self, question: Question) -> Said:
        """What the model server says itself."""
        # A new connection, because llama.cpp closes connections that it promises to keep.
        with httpx.Client(timeout=self.client.timeout) as client:
            return self.lane.ask(client, self.server_url, question)

    def streamed(self, request: Json) -> Said:
        """What this server streams. The events of a relay are judged once, by `_events`."""
        return (relayed if self.lane.is_relay else streamed)(self.client, self.url, request)

    def whole(self, request: Json) -> Said:
        """What this server says at once."""
        return (relayed_whole if self.lane.is_relay else whole)(self.client, self.url, request)


Check = Callable[[Bench], list[str]]


@dataclass(frozen=True)
class Behaviour:
    """A row of the page."""

    title: str
    about: str
    check: Check


NOTHING: Final = {"input_tokens": 0, "output_tokens": 0}
WEATHER: Final = Called("get_weather", '{"city": "Lima"}', "21 degrees, naïve 😀")
AGAIN: Final = Called("get_time", '{"zone": "Asia/Tokyo"}', "noon", call_id="call_0987654321")


def _same(*questions: Question) -> Check:
    """The answers are those of the model server, streamed and whole."""

    def check(bench: Bench) -> list[str]:
        found = []
        for question in questions:
            direct = bench.direct(question)
            found += differences(bench.streamed(bench.request(question)), direct)
            found += [f"whole: {fault}" for fault in differences(bench.whole(bench.request(question)), direct)]
        return found

    return check


def _says(answer: str, question: Question) -> Check:
    """As above, and the model server says what the model was made to say."""

    def check(bench: Bench) -> list[str]:
        direct = bench.direct(question)
        wanted = ANSWERS[answer]
        found = [] if direct.text == wanted else [f"the model said {direct.text!r}"]
        return found + _same(question)(bench)

    return check


def _events(bench: Bench) -> list[str]:
    """All judges accept the events and the whole response."""
    for question in (Question("think about it"), Question("weather in Lima", tools=True)):
        streamed(bench.client, bench.url, bench.request(question))
        whole(bench.client, bench.url, bench.request(question))
    return []


def _named(bench: Bench) -> list[str]:
    """The named tool is called, with arguments that it takes, even where the model wants another one."""
    question = Question("weather in Paris", tools=True, choice="get_time")
    found = []
    for said in (
        bench.streamed(bench.request(question)),
        bench.whole(bench.request(question)),
    ):
        names = [name for name, _ in said.calls]
        if names != ["get_time"]:
            found.append(f"called {names}")
        found += [
            error.message
            for _, arguments in said.calls
            for error in Draft202012Validator(TOOLS["get_time"]).iter_errors(json.loads(arguments))
        ]
    return found


def _structured(bench: Bench) -> list[str]:
    """Answers obey the schema, also where the model wants to say something else."""
    found = []
    for question in (Question("as JSON", schema=SCHEMA), Question("say hello", schema=SCHEMA)):
        said = bench.streamed(bench.request(question))
        try:
            value = json.loads(said.text)
        except ValueError:
            found.append(f"no JSON: {said.text[:200]!r}")
            continue
        found += [error.message for error in Draft202012Validator(SCHEMA).iter_errors(value)]
        found += _same(question)(bench)
    return found


def _custom(bench: Bench) -> list[str]:
    """A custom tool's call has raw text."""
    tools = [{"type": "custom", "name": "apply_patch", "description": "Edit files."}]
    request = bench.request(Question("write a patch")) | {"tools": tools}
    both = (bench.streamed(request), bench.whole(request))
    return [f"called {said.calls}" for said in both if said.calls != [("apply_patch", PATCH)]]


def _refused(body: Json, status: int, code: str, words: str = "") -> Check:
    """A request that the server refuses, streamed and whole: the client gets status, code and reason."""

    def check(bench: Bench) -> list[str]:
        found = []
        for ask in (bench.whole, bench.streamed):
            request = bench.request(Question("say hello")) | body
            if "model" in body:
                request["model"] = f"{bench.model}/{body['model']}"
            try:
                said = ask(request)
            except RefusedError as error:
                if error.status != status or f'"{code}"' not in error.body or words not in error.body:
                    found.append(str(error))
            else:
                found.append(f"answered with {said.text[:100]!r}")
        return found

    return check


def _thought_back(bench: Bench) -> list[str]:
    """A tool loop: the server reads as much as when it gets the reasoning by hand."""
    question = Question("weather in Lima", tools=True)
    request = bench.request(question) | {"include": ["reasoning.encrypted_content"]}
    output = posted(bench.client, f"{bench.url}/v1/responses", request).json()["output"]
    made, said = output[-1], of_response({"output": output, "status": "completed", "usage": NOTHING})
    given = {"type": "function_call_output", "call_id": made["call_id"], "output": "21"}
    past = Called(made["name"], made["arguments"], "21", said.thought, made["call_id"])
    found = [] if past.thought else ["there is no reasoning"]
    direct = bench.direct(replace(question, called=[past]))
    return found + differences(bench.streamed(request | {"input": [*request["input"], *output, given]}), direct)


def _full(bench: Bench) -> list[str]:
    """An answer without a limit ends with the context, and is incomplete."""
    said = bench.streamed(bench.request(Question("never stop" + " and on" * 550, limit=None)))
    return [] if said.ended == "limit" else [f"it ended with {said.ended} after {said.usage} tokens"]


def _counted(bench: Bench) -> list[str]:
    """`input_tokens` counts what the model server reads."""
    found = []
    for question in (
        Question("say hello"),
        Question("weather in Paris", tools=True),
        Question("weather in Lima", tools=True, called=[WEATHER, AGAIN]),
    ):
        request = {key: value for key, value in bench.request(question).items() if key != "max_output_tokens"}
        answer = bench.client.post(f"{bench.url}/v1/responses/input_tokens", json=request)
        counted, read = answer.json().get("input_tokens"), bench.direct(question).usage[0]
        if counted != read:
            found.append(f"{counted} counted by {answer.headers.get('x-am-token-count')}, but the server read {read}")
    return found


def _compacted(bench: Bench) -> list[str]:
    """A conversation is summarized, and goes on from the summary."""
    items = bench.request(Question("weather in Lima", called=[WEATHER]))["input"]
    answer = posted(bench.client, f"{bench.url}/v1/responses/compact", {"model": bench.model, "input": items}).json()
    kinds = [item["type"] for item in answer["output"]]
    found = [] if kinds[-1] == "compaction" else [f"compacted to {kinds}"]
    question = bench.request(Question("say hello"))
    said = bench.whole(question | {"input": answer["output"] + question["input"]})
    return found + ([] if said.text == ANSWERS["greeting"] else [f"after it the model said {said.text!r}"])


_TOO_LONG: Final[Json] = {"input": "say hello " + "to all of them, " * 3000}
_BAD_SCHEMA: Final[Json] = {
    "text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "nonsense"}, "strict": True}}
}

_BEHAVIOURS: Final = {
    "text": ("text", "emoji and Chinese, cut into many tokens", _says("greeting", Question("say hello"))),
    "reasoning": ("reasoning", "told apart from the text by the server", _same(Question("think about it"))),
    "events": ("events", "our grammar, the `openai` package and the Open Responses schema accept each one", _events),
    "call": ("call", "of one of three tools", _same(Question("weather in Paris", tools=True))),
    "parallel": ("parallel calls", "two in one answer", _same(Question("weather and time", tools=True))),
    "words_call": ("text and a call", "in one answer", _same(Question("weather in Oslo", tools=True))),
    "thought_call": ("reasoning and a call", "in one answer", _same(Question("weather in Lima", tools=True))),
    "nested": ("nested arguments", "objects, lists, quotes and escapes", _same(Question("book a trip", tools=True))),
    "required": (
        "required call",
        '`tool_choice` is `"required"`, and the model wants to say something else',
        _same(Question("hm", tools=True, choice="required")),
    ),
    "named": ("named call", "`tool_choice` names a tool, and the model wants to call another one", _named),
    "custom": ("custom tool", "`apply_patch` with raw text, which the server knows as a function", _custom),
    "history": (
        "tool outputs",
        "two calls of the past with their outputs; the server counts as many tokens as when asked by hand",
        _same(Question("weather in Lima", tools=True, called=[WEATHER, AGAIN])),
    ),
    "thought_back": (
        "reasoning between calls",
        "the reasoning before a call is sent back with the output of the tool",
        _thought_back,
    ),
    "structured": ("structured output", "a schema, which the server enforces if the model says no JSON", _structured),
    "logprobs": ("logprobs", "of each token of the text", _same(Question("say hello", top_logprobs=3))),
    "limit": (
        "token limit",
        "in a text and in reasoning: the response is `incomplete`",
        _same(Question("never stop", limit=40), Question("never stop thinking", limit=40)),
    ),
    "long": ("long answer", "of 500 tokens", _same(Question("never stop", limit=500))),
    "end_of_context": ("end of the context", "an answer without a limit is `incomplete` when it is full", _full),
    "too_long": (
        "prompt that is too long",
        "refused with `context_length_exceeded`",
        _refused(_TOO_LONG, 400, "context_length_exceeded"),
    ),
    "bad_schema": (
        "bad schema",
        "refused with 400",
        _refused(_BAD_SCHEMA, 400, "invalid_request_error"),
    ),
    "unknown_model": (
        "unknown model",
        "refused with `model_not_found`",
        _refused({"model": "no-such-model"}, 404, "model_not_found"),
    ),
    "counted": ("token counts", "`/v1/responses/input_tokens` says as many tokens as the server then reads", _counted),
    "compacted": ("compaction", "a conversation goes on from its summary", _compacted),
}
BEHAVIOURS: Final[Mapping[str, Behaviour]] = {slug: Behaviour(*about) for slug, about in _BEHAVIOURS.items()}
