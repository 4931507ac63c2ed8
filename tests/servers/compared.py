"""Checks of single answers: they are those of the model server, or what it must do."""

import json
from dataclasses import replace
from typing import Final

from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # it comes without types

from tests.servers.answers import ANSWERS, PATCH
from tests.servers.bench import Bench, Check
from tests.servers.questions import SCHEMA, TOOLS, Called, Json, Question
from tests.servers.said import RefusedError, differences, of_response, posted, streamed, whole

NOTHING: Final = {"input_tokens": 0, "output_tokens": 0}
WEATHER: Final = Called("get_weather", '{"city": "Lima"}', "21 degrees, naïve 😀")
AGAIN: Final = Called("get_time", '{"zone": "Asia/Tokyo"}', "noon", call_id="call_0987654321")


def same(*questions: Question) -> Check:
    """The answers are those of the model server, streamed and whole."""

    def check(bench: Bench) -> list[str]:
        found = []
        for question in questions:
            direct = bench.direct(question)
            found += differences(bench.streamed(bench.request(question)), direct)
            found += [f"whole: {fault}" for fault in differences(bench.whole(bench.request(question)), direct)]
        return found

    return check


def calls(question: Question, count: int = 1) -> Check:
    """The calls are those of the model server, which has read as many."""

    def check(bench: Bench) -> list[str]:
        made = bench.direct(question).calls
        return same(question)(bench) + ([] if len(made) == count else [f"the server says {len(made)} calls"])

    return check


def thought(bench: Bench) -> list[str]:
    """The reasoning is that of the model server, which tells it apart from the text."""
    question = Question("think about it")
    return same(question)(bench) + ([] if bench.direct(question).thought else ["the server says no reasoning"])


def says(answer: str, question: Question) -> Check:
    """As above, and the model server says what the model was made to say."""

    def check(bench: Bench) -> list[str]:
        direct = bench.direct(question)
        wanted = ANSWERS[answer]
        found = [] if direct.text == wanted else [f"the model said {direct.text!r}"]
        return found + same(question)(bench)

    return check


def events(bench: Bench) -> list[str]:
    """All judges accept the events and the whole response."""
    for question in (Question("think about it"), Question("weather in Lima", tools=True)):
        streamed(bench.client, bench.url, bench.request(question))
        whole(bench.client, bench.url, bench.request(question))
    return []


def logprobs(bench: Bench) -> list[str]:
    """They are those of the model server, which has some."""
    question = Question("say hello", top_logprobs=3)
    return same(question)(bench) + ([] if bench.direct(question).logprobs else ["the server has none"])


def limited(bench: Bench) -> list[str]:
    """A limit ends a text, and reasoning."""
    questions = (Question("never stop", limit=40), Question("never stop thinking", limit=40))
    said = bench.whole(bench.request(questions[0]))
    return same(*questions)(bench) + ([] if said.ended == "limit" else [f"it ended with {said.ended}"])


def named(bench: Bench) -> list[str]:
    """The named tool is called, even where the model wants another one, with arguments that it takes.

    Some servers do not hold the arguments to the schema: then they are at least those of the server.
    """
    question = Question("weather in Paris", tools=True, choice="get_time")
    direct = bench.direct(question).calls
    found = []
    for said in (bench.streamed(bench.request(question)), bench.whole(bench.request(question))):
        names = [name for name, _ in said.calls]
        if names != ["get_time"]:
            found.append(f"called {names}")
        elif said.calls != direct:
            faults = Draft202012Validator(TOOLS["get_time"]).iter_errors(json.loads(said.calls[0][1]))
            found += [fault.message for fault in faults]
    return found


def structured(bench: Bench) -> list[str]:
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
        found += same(question)(bench)
    return found


def custom(bench: Bench) -> list[str]:
    """A custom tool's call has raw text."""
    tools = [{"type": "custom", "name": "apply_patch", "description": "Edit files."}]
    request = bench.request(Question("write a patch")) | {"tools": tools}
    both = (bench.streamed(request), bench.whole(request))
    return [f"called {said.calls}" for said in both if said.calls != [("apply_patch", PATCH)]]


def refused(body: Json, status: int, code: str, words: str = "") -> Check:
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


def thought_back(bench: Bench) -> list[str]:
    """A tool loop: the server reads as much as when it gets the reasoning by hand."""
    question = Question("weather in Lima", tools=True)
    request = bench.request(question) | {"include": ["reasoning.encrypted_content"]}
    output = posted(bench.client, f"{bench.url}/v1/responses", request).json()["output"]
    made = next((item for item in output if item["type"] == "function_call"), None)
    if made is None:
        return [f"there is no call: {output}"]
    said = of_response({"output": output, "status": "completed", "usage": NOTHING})
    given = {"type": "function_call_output", "call_id": made["call_id"], "output": "21"}
    past = Called(made["name"], made["arguments"], "21", said.thought, made["call_id"])
    found = [] if past.thought else ["there is no reasoning"]
    direct = bench.direct(replace(question, called=[past]))
    return found + differences(bench.streamed(request | {"input": [*request["input"], *output, given]}), direct)


def full(bench: Bench) -> list[str]:
    """An answer without a limit ends with the context, and is incomplete."""
    said = bench.streamed(bench.request(Question("never stop" + " and on" * 550, limit=None)))
    return [] if said.ended == "limit" else [f"it ended with {said.ended} after {said.usage} tokens"]


def counted(bench: Bench) -> list[str]:
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


def compacted(bench: Bench) -> list[str]:
    """A conversation is summarized, and goes on from the summary."""
    items = bench.request(Question("weather in Lima", called=[WEATHER]))["input"]
    answer = posted(bench.client, f"{bench.url}/v1/responses/compact", {"model": bench.model, "input": items}).json()
    kinds = [item["type"] for item in answer["output"]]
    found = [] if kinds[-1] == "compaction" else [f"compacted to {kinds}"]
    question = bench.request(Question("say hello"))
    said = bench.whole(question | {"input": answer["output"] + question["input"]})
    return found + ([] if said.text == ANSWERS["greeting"] else [f"after it the model said {said.text!r}"])
