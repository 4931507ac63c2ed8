"""What is refused over HTTP before a body is understood, framework errors included; keys; and the request id."""

import gzip
import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import httpx
import pytest

from tests.http.acceptance.guarded_server import ALICE, BOB, CLIENT, GUARDED, LIMIT, refused
from tests.wire.program import own_program


@pytest.fixture(scope="session")
def guarded() -> Iterator[httpx.Client]:
    """A client of a server with keys and small limits."""
    with own_program(GUARDED) as program, httpx.Client(base_url=program.url, timeout=10) as client:
        yield client


JSON = {"content-type": "application/json"}

RAW: dict[str, tuple[bytes, dict[str, str], int, str]] = {
    "nothing": (b"", JSON, 400, "invalid_json"),
    "no JSON": (b"{'model': 1}", JSON, 400, "invalid_json"),
    "half": (b'{"model": "demo", "input": "h', JSON, 400, "invalid_json"),
    "two": (b"{}{}", JSON, 400, "invalid_json"),
    "not a number": (b'{"model": "demo", "input": "hi", "temperature": NaN}', JSON, 400, "invalid_json"),
    "not UTF-8": (b'{"model": "demo", "input": "\xff"}', JSON, 400, "invalid_json"),
    "an array": (b"[]", JSON, 400, "invalid_type"),
    "deep": (b'{"a":' * 200 + b"1" + b"}" * 200, JSON, 400, "invalid_json"),
    "very deep": (b"[" * 4000, JSON, 400, "invalid_json"),
    "text": (b"{}", {"content-type": "text/plain"}, 415, "unsupported_media_type"),
    "a form": (b"{}", {"content-type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
    "no type": (b"{}", {}, 415, "unsupported_media_type"),
    "packed, but no request": (gzip.compress(b"[]"), {**JSON, "content-encoding": "gzip"}, 400, "invalid_type"),
    "not packed": (b"{}", {**JSON, "content-encoding": "gzip"}, 400, "invalid_encoding"),
    "packed in another way": (b"{}", {**JSON, "content-encoding": "br"}, 415, "unsupported_encoding"),
    "too large": (b" " * (LIMIT + 1), JSON, 413, "request_too_large"),
}


@pytest.mark.parametrize(("body", "headers", "status", "code"), RAW.values(), ids=RAW)
def test_a_body_that_is_no_request_is_refused(
    guarded: httpx.Client, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    answer = guarded.post("/v1/responses", content=body, headers=ALICE | headers)
    assert refused(answer)[:3] == (status, CLIENT, code)


def test_a_body_of_undeclared_length_is_read_no_further_than_the_limit(guarded: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(8):
            yield b" " * 1024

    answer = guarded.post("/v1/responses", content=pieces(), headers=ALICE | JSON)
    assert refused(answer) == (413, CLIENT, "request_too_large", "")


def test_json_by_another_name_and_with_a_charset_is_welcome(guarded: httpx.Client) -> None:
    body = json.dumps({"model": "demo", "input": "hi"}).encode()
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/vnd.api+json"):
        assert guarded.post("/v1/responses", content=body, headers=ALICE | {"content-type": kind}).is_success


class Path(NamedTuple):
    """A request without a body."""

    method: str
    path: str
    status: int
    code: str
    headers: Mapping[str, str] = MappingProxyType({})
    """What the answer must say as well."""


PATHS = [
    Path("GET", "/v1/nothing", 404, "not_found"),
    Path("POST", "/", 405, "method_not_allowed"),
    Path("GET", "/v1/chat/completions", 404, "not_found"),
    Path("PUT", "/v1/responses", 405, "method_not_allowed", {"allow": "POST"}),
    Path("PATCH", "/v1/responses/resp_1", 405, "method_not_allowed"),
    Path("POST", "/v1/models", 405, "method_not_allowed", {"allow": "GET"}),
    Path("DELETE", "/v1/models/demo", 405, "method_not_allowed", {"allow": "GET"}),
    Path("POST", "/nothing", 404, "not_found", {}),
    Path("GET", "/v1/responses", 426, "upgrade_required", {"upgrade": "websocket"}),
    Path("GET", "/v1/responses/resp_1", 404, "not_found"),
    Path("DELETE", "/v1/responses/resp_1", 404, "not_found"),
    Path("POST", "/v1/responses/resp_1/cancel", 404, "not_found"),
    Path("GET", "/v1/responses/resp_1/input_items", 404, "not_found"),
    Path("GET", "/v1/models/demi", 404, "model_not_found"),
]


@pytest.mark.parametrize("prefix", ["/v1", ""], ids=["v1", "bare"])
@pytest.mark.parametrize("path", PATHS, ids=[f"{path.method} {path.path}" for path in PATHS])
def test_paths_and_methods_that_are_not_there_answer_in_the_same_shape(
    guarded: httpx.Client, path: Path, prefix: str
) -> None:
    answer = guarded.request(path.method, path.path.replace("/v1", prefix), headers=ALICE)
    assert refused(answer)[:3] == (path.status, CLIENT, path.code)
    assert {name: answer.headers.get(name) for name in path.headers} == path.headers


def test_paths_without_v1_serve_the_same(guarded: httpx.Client) -> None:
    asked = {"model": "demo", "input": "hi"}
    assert guarded.post("/responses", json=asked, headers=ALICE).json()["status"] == "completed"
    assert guarded.get("/models", headers=ALICE).json() == guarded.get("/v1/models", headers=ALICE).json()
    assert guarded.get("/models/demo", headers=ALICE).json()["id"] == "demo"


STRANGERS: dict[str, list[tuple[str, str]]] = {
    "no key": [],
    "a wrong key": [("authorization", "Bearer alices-keys")],
    "an empty key": [("authorization", "Bearer")],
    "another scheme": [("authorization", "Basic YWxpY2U6YWxpY2Vz")],
    "no scheme": [("authorization", "alices-key")],
    "two keys": [("authorization", "Bearer alices-key"), ("authorization", "Bearer bobs-key")],
    "a key in the wrong header": [("x-api-key", "alices-key")],
}


@pytest.mark.parametrize("headers", STRANGERS.values(), ids=STRANGERS)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/responses"), ("GET", "/v1/models"), ("GET", "/v1/models/demo"), ("GET", "/v1/responses/resp_1")],
)
def test_strangers_are_turned_away_before_anything_else(
    guarded: httpx.Client, headers: list[tuple[str, str]], method: str, path: str
) -> None:
    answer = guarded.request(method, path, headers=headers)
    assert refused(answer) == (401, CLIENT, "invalid_api_key", "")
    assert "alices-key" not in answer.text


def test_health_needs_no_key(guarded: httpx.Client) -> None:
    paths = ("/health", "/health/live", "/health/ready")
    assert [guarded.get(path).json() for path in paths] == [{"status": "ok"}] * 3


RESPONSES_INSTEAD = "AM Proxy speaks the Responses API: POST /v1/responses, with the conversation in `input`."
ONLY_RESPONSES = "AM Proxy has the Responses API only: POST /v1/responses. It has no "
WRONG_PATHS = {
    "/v1/chat/completions": RESPONSES_INSTEAD,
    "/chat/completions/": RESPONSES_INSTEAD,
    "/v1/completions": RESPONSES_INSTEAD,
    "/v1/messages": RESPONSES_INSTEAD,
    "/api/chat": RESPONSES_INSTEAD,
    "/v1beta/models/gemini-3:generateContent": RESPONSES_INSTEAD,
    "/v1/embeddings": f"{ONLY_RESPONSES}embeddings.",
    "/v1/audio/speech": f"{ONLY_RESPONSES}audio.",
    "/files": f"{ONLY_RESPONSES}files.",
    "/v1/v1/responses": "The path is /v1/responses: a base URL ends with /v1",
    "/v1/responses/v1/models": None,
    "/api/v1/responses/compact": "The path is /v1/responses/compact: a base URL ends with /v1",
    "/v1/chat/completions/models": "The path is /v1/models: a base URL ends with /v1",
    "/v1/nothing": "GET /openapi.json describes the paths",
    "/": None,
}


@pytest.mark.parametrize(("path", "advice"), WRONG_PATHS.items(), ids=WRONG_PATHS)
def test_a_wrong_path_says_what_is_there_instead(guarded: httpx.Client, path: str, advice: str | None) -> None:
    answer = guarded.post(path, json={"model": "demo", "messages": []}, headers=ALICE)
    message = answer.json()["error"]["message"]
    if advice is None:
        assert answer.status_code in (404, 405)
        assert "base URL" not in message
    else:
        assert refused(answer) == (404, CLIENT, "not_found", "")
        assert message.startswith(f"Not Found: POST {path}. {advice}")
    said = guarded.post(f"/{'x' * 5000}/responses", headers=ALICE).json()["error"]["message"]
    assert len(said) < 400


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/compact", "/v1/responses/input_tokens"])
def test_the_body_of_a_chat_completion_is_recognized(guarded: httpx.Client, path: str) -> None:
    chat = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]}
    answer = guarded.post(path, json=chat, headers=ALICE)
    assert refused(answer) == (400, CLIENT, "missing_required_parameter", "input")
    assert answer.json()["error"]["message"].startswith("This is the body of a chat completion:")
    both = guarded.post("/v1/responses", json={**chat, "input": "Hi"}, headers=ALICE)
    assert both.json()["status"] == "completed"
    assert "'messages' has no effect" in both.headers["x-am-warnings"]


def test_a_key_reaches_its_own_models_alone_and_learns_of_no_others(guarded: httpx.Client) -> None:
    listed = {name: guarded.get("/v1/models", headers=who).json()["data"] for name, who in (("a", ALICE), ("b", BOB))}
    assert {name: [model["id"] for model in data] for name, data in listed.items()} == {
        "a": ["demo"],
        "b": ["demo", "gpt-5"],
    }
    asked = {"model": "gpt-5", "input": "hi"}
    assert guarded.post("/v1/responses", json=asked, headers=BOB).is_success
    hidden = (404, CLIENT, "model_not_found", "model")
    for answer in (
        guarded.post("/v1/responses", json=asked, headers=ALICE),
        guarded.post("/v1/responses", json={**asked, "model": "gpt-6"}, headers=ALICE),
        guarded.get("/v1/models/gpt-5", headers=ALICE),
        guarded.get("/v1/models/gpt-6", headers=ALICE),
    ):
        assert refused(answer) == hidden
        assert "Did you mean" not in answer.text


def test_a_request_id_of_the_clients_own_comes_back_if_it_is_harmless(guarded: httpx.Client) -> None:
    asked = {"model": "demo", "input": "hi"}
    for given, kept in (
        ("mine.1_2-3", True),
        ("x" * 128, True),
        ("x" * 129, False),
        ("two words", False),
        ("<script>", False),
        ("", False),
    ):
        answer = guarded.post("/v1/responses", json=asked, headers=ALICE | {"x-request-id": given})
        reported = answer.headers["x-request-id"]
        assert reported == given if kept else reported.startswith("req_AM-")
        assert answer.headers["openai-processing-ms"].isdecimal()
        assert "openai-model" not in answer.headers


def test_a_slash_too_many_is_forgiven_and_a_look_at_the_head_is_enough(demo_url: str) -> None:
    assert httpx.post(f"{demo_url}/v1/responses/", json={"model": "demo", "input": "Hi"}).status_code == 200
    assert httpx.head(f"{demo_url}/health/live").status_code == 200
