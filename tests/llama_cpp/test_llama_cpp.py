"""llama.cpp's own server behind ours, with a tiny model: what its templates, parsers and grammars make is passed on."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import jsonschema_rs
import pytest

from tests.llama_cpp.answers import GREETING, SIZE, THOUGHT, TOLD
from tests.support.install import LLAMA_CPP, ROOT
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.event_stream import events_of, judged
from tests.wire.ports import give_back, listening
from tests.wire.program import Program, own_program

pytestmark = pytest.mark.needs("llama.cpp")

Json = dict[str, Any]
LANES: Final = ("chat", "messages")


def schema(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


ENDLESSLY: Final = "All work and no play makes a model say this senten"
"""Sixteen tokens of it."""
PARAMETERS: Final = {"get_weather": schema(city={"type": "string"}), "get_time": schema(zone={"type": "string"})}
TOOLS: Final = [{"type": "function", "name": name, "parameters": held} for name, held in PARAMETERS.items()]
PERSON: Final = schema(
    name={"type": "string"}, age={"type": "integer"}, tags={"type": "array", "items": {"enum": ["a", "b"]}}
)
FORMAT: Final = {"type": "json_schema", "name": "person", "schema": PERSON, "strict": True}


class Llama:
    """llama.cpp's server, and ours before it."""

    def __init__(self, url: str, program: Program) -> None:
        self.direct = httpx.Client(base_url=url, timeout=50)
        self.client = httpx.Client(base_url=program.url, timeout=50)

    def posted(self, lane: str, given: str | list[Json], path: str = "", **fields: Any) -> httpx.Response:
        return self.client.post(f"/v1/responses{path}", json={"model": lane, "input": given, **fields})

    def asked(self, lane: str, given: str | list[Json], **fields: Any) -> Json:
        """The response to a request, which is the same whole and streamed."""
        whole, stream = (self.posted(lane, given, stream=stream, **fields) for stream in (False, True))
        assert whole.status_code == stream.status_code == 200, whole.text
        response: Json = whole.json()
        assert said(response) == said(judged(events_of(stream.content)))
        return response

    def busy(self) -> int:
        """How many answers it is writing."""
        return sum(slot["is_processing"] for slot in self.direct.get("/slots").json())


def said(response: Json) -> list[Any]:
    """What the model said, how it ended, and what that cost. How much of a prompt was cached depends on the order."""
    items: list[Any] = []
    for item in response["output"]:
        if item["type"] == "function_call":
            items.append((item["name"], json.loads(item["arguments"])))
        else:
            items.append((item["type"], "".join([part["text"] for part in (item.get("content") or item["summary"])])))
    usage = response["usage"]
    return [*items, response["status"], usage["input_tokens"], usage["output_tokens"]]


@pytest.fixture(scope="module")
def llama() -> Iterator[Llama]:
    with listening() as taken:
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [f"{LLAMA_CPP}/bin/python", "-m", "tests.llama_cpp.server", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        until(lambda: process.poll() is not None or is_there(url))
        addresses = {"chat": f"{url}/v1", "messages": url}
        upstreams = {
            lane: Upstream(via=lane, provider="llama_cpp", base_url=address) for lane, address in addresses.items()
        }
        models = {lane: Model(upstream=lane, name="tiny") for lane in LANES}
        with own_program(Settings(upstreams=upstreams, models=models)) as program:
            yield Llama(url, program)
    give_back(port)


def until(true: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to be"
        time.sleep(0.02)


def is_there(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", timeout=50).status_code == 200
    except httpx.HTTPError:
        return False


WEATHER: Final = ("get_weather", {"city": "Paris"})
ASKS: Final[dict[str, tuple[str, Json, list[Any]]]] = {
    "a text": ("say hello", {}, [("message", GREETING), "completed"]),
    "a thought": ("think about it", {}, [("reasoning", THOUGHT), ("message", "The answer is 42."), "completed"]),
    "a call": ("weather in Paris", {"tools": TOOLS}, [WEATHER, "completed"]),
    "two calls": (
        "weather in two cities",
        {"tools": TOOLS},
        [("get_weather", {"city": "Rome"}), ("get_weather", {"city": 'the "old" Ōsaka'}), "completed"],
    ),
    "a limit": ("never stop", {"max_output_tokens": 16}, [("message", ENDLESSLY), "incomplete"]),
}


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("name", ASKS)
def test_what_it_says_is_passed_on(llama: Llama, name: str, lane: str) -> None:
    words, fields, expected = ASKS[name]
    response = llama.asked(lane, words, **fields)
    assert said(response)[:-2] == expected


@pytest.mark.parametrize("lane", LANES)
def test_a_tool_loop(llama: Llama, lane: str) -> None:
    items: list[Json] = [{"role": "user", "content": "weather in Paris"}]
    items += llama.asked(lane, items, tools=TOOLS)["output"]
    items.append({"type": "function_call_output", "call_id": items[-1]["call_id"], "output": "21 degrees"})
    assert said(llama.asked(lane, items, tools=TOOLS))[0] == ("message", TOLD)


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("choice", PARAMETERS)
def test_a_call_that_is_required_comes(llama: Llama, choice: str, lane: str) -> None:
    """By its grammar: the model wants to say something else, or to call the other tool."""
    words = "say hello" if choice == "get_weather" else "weather in Paris"
    response = llama.asked(lane, words, tools=TOOLS, tool_choice={"type": "function", "name": choice})
    name, arguments = next(each for each in said(response) if each[0] != "message")
    assert name == choice
    jsonschema_rs.validate(PARAMETERS[choice], arguments)


@pytest.mark.parametrize("lane", LANES)
def test_a_call_of_any_tool_that_is_required_comes(llama: Llama, lane: str) -> None:
    response = llama.asked(lane, "say hello", tools=TOOLS, tool_choice="required")
    assert said(response)[:3] == [("message", GREETING), WEATHER, "completed"]


def test_an_answer_obeys_its_schema(llama: Llama) -> None:
    """By its grammar as well, which it has in chat completions only."""
    response = llama.asked("chat", "say hello", text={"format": FORMAT})
    jsonschema_rs.validate(PERSON, json.loads(said(response)[0][1]))


@pytest.mark.parametrize("lane", LANES)
def test_tokens_are_counted_as_it_reads_them(llama: Llama, lane: str) -> None:
    counted = llama.posted(lane, "say hello", "/input_tokens", tools=TOOLS)
    assert counted.headers["x-am-token-count"] == "upstream"
    assert counted.json()["input_tokens"] == llama.asked(lane, "say hello", tools=TOOLS)["usage"]["input_tokens"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("lane", LANES)
def test_a_prompt_that_is_too_long_is_told_so(llama: Llama, lane: str, *, stream: bool) -> None:
    answer = llama.posted(lane, "word " * SIZE, stream=stream)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")


POST: Final = (
    b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("lane", LANES)
def test_a_client_that_leaves_frees_it(llama: Llama, lane: str, *, stream: bool) -> None:
    asked = json.dumps({"model": lane, "input": "never stop", "stream": stream}).encode()
    with socket.create_connection((llama.client.base_url.host, llama.client.base_url.port)) as leaving:
        leaving.sendall(POST % (len(asked), asked))
        until(llama.busy)
    until(lambda: not llama.busy(), 2)


@pytest.mark.parametrize("lane", LANES)
def test_many_at_once_are_answered(llama: Llama, lane: str) -> None:
    """It closes each connection behind a stream, and says that it keeps it."""
    with ThreadPoolExecutor(16) as clients:
        answers = [*clients.map(lambda _: llama.posted(lane, "say hello", stream=True), range(128))]
    assert {answer.status_code for answer in answers} == {200}
    assert all(GREETING in answer.text for answer in answers)
