"""Steering the machinery: by litellm's own arguments, by a model's name, or by an address that somebody would fetch."""

from typing import Any, Final

import pytest

from tests.faults.attacked_server import (
    INVALID,
    PROMPT,
    SERVER,
    UNKNOWN,
    AttackedServer,
    Refusal,
    refusal_of,
)

STEERS: Final = (
    "api_base",
    "api_key",
    "base_url",
    "custom_llm_provider",
    "extra_body",
    "extra_headers",
    "fallbacks",
    "headers",
    "mock_response",
    "model_list",
    "num_retries",
    "timeout",
    "litellm_x",
    "litellm_y_z",
    "aws_x",
    "aws_y_z",
)

PRIVATE: Final = {
    "this machine": "http://127.0.0.1/x.png",
    "this machine in one number": "http://2130706433/x.png",
    "this machine, mapped": "http://[::ffff:127.0.0.1]/x.png",
    "the cloud's own": "http://169.254.169.254/latest/meta-data/iam",
    "a name without dots": "http://redis:6379/",
    "a name in front": "http://example.com@127.0.0.1/x.png",
    "a backslash": "http://example.com\\@127.0.0.1/x.png",
    "a line end": "http://example.com/\r\nHost: localhost",
    "a file": "file:///etc/passwd",
}
"""`core/test_fetching.py` has all ways to write such an address."""


def pictured(url: str) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]}


def filed(url: str) -> dict[str, Any]:
    return {"input": [{"role": "user", "content": [{"type": "input_file", "file_url": url}]}]}


def put_out(url: str) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    return {
        "input": [
            call,
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": url}]},
        ]
    }


@pytest.mark.parametrize("lane", ["direct", "gemini", "anthropic"])
@pytest.mark.parametrize("url", PRIVATE.values(), ids=PRIVATE)
def test_nobody_is_sent_to_a_private_address(attacked: AttackedServer, url: str, lane: str) -> None:
    for body, path in (
        (pictured(url), "input[0].content[0].image_url"),
        (filed(url), "input[0].content[0].file_url"),
        (put_out(url), "input[1].output[0].image_url"),
    ):
        with attacked.watched():
            assert refusal_of(attacked.post({"model": lane, **body})) == Refusal(400, INVALID, path)


@pytest.mark.parametrize("name", STEERS)
def test_what_would_steer_the_machinery_is_not_known_here(attacked: AttackedServer, name: str) -> None:
    with attacked.watched():
        assert refusal_of(attacked.post({"model": "direct", name: attacked.canary.url})) == Refusal(400, UNKNOWN, name)


NAMES = {
    "an address": ("http://{canary}/v1", False),
    "a provider and an address": ("oobabooga/http://{canary}/v1", False),
    "a way up": ("gemini/../../x", False),
    "a way up alone": ("..", False),
    "a line end": ("a\r\nHost: x", False),
    "an ending": ("a\x00b", False),
    "another route of litellm": ("responses/gpt-4.1", False),
    "white space": (" litellm", False),
    "a provider": ("anthropic/claude-opus-4", True),
    "two providers": ("openai/azure/gpt-4.1", True),
    "a template of the server": ("{{config}}", True),
    "a variable": ("os.environ/HOME", True),
    "a file": ("file:/etc/passwd", True),
    "a query": ("m?api_base=x&key=y#z", True),
}


@pytest.mark.parametrize(("name", "goes"), NAMES.values(), ids=NAMES)
def test_a_models_name_is_a_name_and_nothing_else(attacked: AttackedServer, name: str, goes: bool) -> None:
    name = name.replace("{canary}", attacked.canary.url.removeprefix("http://").removesuffix("/v1"))
    with attacked.watched(asks=goes):
        answer = attacked.post({"model": name})
        if goes:
            assert answer.status_code == 200
            assert attacked.upstream.asks[-1].body["model"] == name
            assert attacked.upstream.asks[-1].path == "/v1/chat/completions"
        else:
            assert refusal_of(answer) == Refusal(404, "model_not_found", "model")


def test_a_public_address_goes_to_the_upstream_as_it_is_and_is_fetched_by_nobody_here(attacked: AttackedServer) -> None:
    url = "https://example.com/x.png"
    with attacked.watched(asks=True):
        assert attacked.post({"model": "direct", **pictured(url)}).status_code == 200
    assert url in attacked.upstream.asks[-1].raw.decode()


def test_what_the_upstream_redirects_to_is_not_asked(attacked: AttackedServer) -> None:
    for lane in ("direct", "relay"):
        with attacked.watched(asks=True):
            answer = attacked.post({"model": lane, "input": f"{PROMPT} please a-redirect! to {attacked.canary.url} "})
            assert refusal_of(answer) == Refusal(502, "upstream_error", type=SERVER)
