"""POST /v1/responses/input_tokens: who counts, what is said of it, and what counts against whom."""

import json
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest
from openai import OpenAI

from tests.http.transports.counting import Json, count, counted, many_models
from tests.http.transports.one_model import one_model
from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import Ask, ResponsesUpstream, Status

COUNTED = Status(200, {"object": "response.input_tokens", "input_tokens": 4711})


class CountingUpstream(ResponsesUpstream):
    """A server that counts, and takes only what may be counted."""

    def faults(self, ask: Ask) -> list[str]:
        """OpenAI refuses what it does not count."""
        if ask.path != "/v1/responses/input_tokens":
            return super().faults(ask)
        unknown = ask.body.keys() - {"model", "input", "instructions", "tools", "tool_choice", "text", "reasoning"}
        return [f"unknown parameter {key}" for key in unknown]


def relay(upstream: CountingUpstream) -> AbstractContextManager[str]:
    """A server of its own: it remembers who counts."""
    return serving(one_model(upstream), fresh=True)


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with serving(Settings(upstreams={"demo": Upstream(via="demo")}, models={"m": Model(upstream="demo")})) as url:
        yield url


def test_where_nobody_counts_it_is_estimated(demo: str) -> None:
    short, long = count(demo), count(demo, input="Hello, what is this? " * 100)
    assert (short.status_code, short.json().keys()) == (200, {"object", "input_tokens"})
    assert short.json()["object"] == "response.input_tokens"
    assert 5 <= short.json()["input_tokens"] <= 40
    assert 400 <= long.json()["input_tokens"] <= 800
    assert short.headers["x-am-token-count"] == "estimated"


def test_instructions_and_tools_are_counted_too(demo: str) -> None:
    bare = count(demo).json()["input_tokens"]
    tool = {"type": "function", "name": "f", "description": "It does something. " * 20, "parameters": {}}
    assert count(demo, tools=[tool]).json()["input_tokens"] >= bare + 80
    assert count(demo, instructions="Be brief. " * 40).json()["input_tokens"] >= bare + 80


def test_a_picture_counts_as_what_a_picture_costs(demo: str) -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgoA" + "A" * 400_000}
    tokens = count(demo, input=[{"role": "user", "content": [image]}]).json()["input_tokens"]
    assert 500 < tokens < 2_000


def test_a_request_that_would_be_summed_up_first_is_counted_itself(demo: str) -> None:
    """Not what its model would be asked for the summary, which leaves out the last step."""
    items = [{"role": role, "content": "word " * 400} for role in ("user", "assistant", "user")]
    managed: Json = {"context_management": [{"type": "compaction", "compact_threshold": 100}]}
    plain = count(demo, input=items)
    assert count(demo, input=items, **managed).json() == plain.json()
    assert plain.json()["input_tokens"] > 1_200


@pytest.mark.parametrize("prefix", ["/v1", ""])
def test_the_openai_package_counts(demo: str, prefix: str) -> None:
    client = OpenAI(base_url=f"{demo}{prefix}", api_key="any")
    counted = client.responses.input_tokens.count(model="m", input="Hello, what is this?")
    assert (counted.object, counted.input_tokens) == ("response.input_tokens", count(demo).json()["input_tokens"])


def test_litellm_counts_for_models_of_every_name_and_asks_nobody() -> None:
    """Neither the model's server nor that of the picture, and it downloads no tokenizer."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": "done"}
    items = [{"role": "user", "content": "Hi there"}, call, output]
    names = ("claude-sonnet-4-5", "meta/llama-3-70b", "command-r", "from-the-future")
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        nobody.settimeout(0)
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        text = {"type": "input_text", "text": "tokens " * 50}
        image = {"type": "input_image", "image_url": f"{address}/cat.png"}
        settings = Settings(
            server=Server(allow_private_urls=True),
            upstreams={
                "openai": Upstream(via="litellm", provider="openai", api_key="sk-test", base_url=f"{address}/v1"),
                "vllm": Upstream(via="litellm", provider="hosted_vllm", base_url=f"{address}/v1"),
            },
            models={"m": Model(upstream="openai"), "*": Model(upstream="vllm")},
        )
        with serving(settings, fresh=True) as url:
            with_image = counted(count(url, input=[{"role": "user", "content": [text, image]}]))
            counts = [counted(count(url, model=name, input=items)) for name in names]
        with pytest.raises(BlockingIOError):
            nobody.accept()
    assert [(status, by) for status, _, by in (with_image, *counts)] == [(200, "estimated")] * 5
    assert 51 <= (with_image[1] or 0) < 1_200
    assert all(5 <= (tokens or 0) <= 60 for _, tokens, _ in counts), counts


def test_a_server_that_counts_is_asked() -> None:
    with CountingUpstream([COUNTED]) as upstream, relay(upstream) as url:
        assert counted(count(url, instructions="Be brief.", stream=True, store=False)) == (200, 4711, "upstream")
    assert upstream.asks[0].body == {"model": "m", "input": "Hello, what is this?", "instructions": "Be brief."}


def test_a_server_that_refuses_to_count_is_believed() -> None:
    busy = Status(429, {"error": {"message": "Slow down."}}, {"retry-after": "3"})
    with CountingUpstream([busy]) as upstream, relay(upstream) as url:
        answer = count(url)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": None}, 400, "model"),
        ({"model": "nobody"}, 404, "model"),
        ({"input": None}, 400, "input"),
        ({"input": [{"type": "from_the_future"}]}, 400, "input[0].type"),
        ({"previous_response_id": "resp_1"}, 400, "previous_response_id"),
    ],
)
def test_what_could_not_be_answered_is_not_counted(demo: str, fields: Json, status: int, param: str) -> None:
    answer = count(demo, **fields)
    assert (answer.status_code, answer.json()["error"].get("param")) in [(status, param), (status, "")]


def test_warnings_are_reported(demo: str) -> None:
    assert json.loads(count(demo, from_the_future=1).headers["x-am-warnings"])


def test_a_server_that_does_not_count_is_estimated_for_and_not_asked_again() -> None:
    """Some servers answer whatever they are asked."""
    answers = {
        "404": Status(404, {"detail": "Not Found"}),
        "405": Status(405, {"detail": "Not Found"}),
        "501": Status(501, {"detail": "Not Found"}),
        "an error": Status(200, {"error": "Unexpected endpoint."}),
        "a page": Status(200, b"<html>"),
        "a text": Status(200, {"input_tokens": "7"}),
    }
    with ExitStack() as stack:
        servers = {name: stack.enter_context(CountingUpstream([answer])) for name, answer in answers.items()}
        url = stack.enter_context(many_models(servers))
        for name, server in servers.items():
            (code, tokens, by), again = (counted(count(url, model=name)) for _ in "ab")
            assert (code, by, again, len(server.asks)) == (200, "estimated", (code, tokens, by), 1), name
            assert 5 <= (tokens or 0) <= 40, name
