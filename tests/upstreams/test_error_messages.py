"""What of an upstream's error reaches the client: the same on every lane."""

import json
from typing import Any

import pytest

from app.protocol.problems import Problem
from app.upstreams import error_body
from app.upstreams.faults import problem_of_status
from app.upstreams.http_chat import HttpChat
from app.upstreams.litellm_chat import LitellmChat
from app.upstreams.litellm_errors import problem_of
from app.upstreams.native_responses import NativeResponses
from tests.support.upstream_asks import KEY, Lenient, answer_of, answers, asks, server
from tests.support.upstream_refusals import TOO_LONG
from tests.wire.servers import ResponsesUpstream, Status, Step
from tests.wire.servers.gemini import answers as candidate
from tests.wire.servers.responses import begins, ends

CHAT = ["chat", "compatible", "groq", "openrouter", "llamafile", "gemini", "anthropic", "cohere_chat", "ollama_chat"]
LANES = ["responses", *CHAT]

PAGE = (
    "<html><head><title>SECRET</title></head><body>Your context window is open. SECRET nginx"
    '<script>{"error":{"message":"SECRET","param":"top_p"}}</script></body></html>'
)


async def refused(lane: str, step: Step) -> Problem | None:
    """What the client is told where a server of this lane answers so."""
    if lane == "responses":
        with ResponsesUpstream([step]) as upstream:
            native = NativeResponses(upstream.url, api_key=KEY)
            _, problem = await answers(native, {"model": "m", "input": "Hi", "stream": True, "store": False})
            await native.close()
        return problem
    with Lenient([step]) as upstream:
        if lane == "chat":
            chat = HttpChat(upstream.url, api_key=KEY)
            _, problem = await answers(chat, asks())
            await chat.close()
        else:
            provider = None if lane == "compatible" else lane
            _, problem = await answers(LitellmChat(provider, api_key=KEY, base_url=upstream.url), asks(lane))
    return problem


def invalid(message: str, param: str = "") -> Problem:
    return Problem(code="invalid_value", message=message, param=param)


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(
    "message",
    [
        "Invalid schema for function 'f': {'type': 'object', 'properties': 5} is not valid under any of the schemas",
        "Unexpected value {\"a\": 1} for 'metadata'",
        "expected { at 3",
        '{"a": 1}',
        "[1] is not of type 'string'",
        "Invalid 'input[0].name': string too long. Expected a string with maximum length 64",
        "Function 'mcp__github__create_or_update_pull_request_review' is unknown",
    ],
)
async def test_a_message_is_quoted_whole(lane: str, message: str) -> None:
    start = "" if lane == "responses" else "The upstream refused the request: "
    body = {"error": {"message": message, "type": "invalid_request_error", "code": None}}
    assert await refused(lane, Status(400, body)) == invalid(start + message)


@pytest.mark.parametrize("lane", LANES)
async def test_no_clients_terminal_obeys_a_message(lane: str) -> None:
    body = {"error": {"message": "Too \x1b[2J\x1b]0;hot\x07\u202e: 你好 \n\x9b31m"}}
    start = "" if lane == "responses" else "The upstream refused the request: "
    assert await refused(lane, Status(400, body)) == invalid(f"{start}Too [2J]0;hot: 你好 31m")


@pytest.mark.parametrize("message", ["Invalid schema: {'type': 5}", "expected { at 3", '{"a": 1}'])
async def test_the_message_of_a_failed_response_is_quoted_whole(message: str) -> None:
    failed = ends(status="failed", error={"code": "server_error", "message": message})
    assert await _failure(failed) == {"code": "server_error", "message": message}


async def test_a_page_in_a_failed_response_is_not_quoted() -> None:
    failed = ends(status="failed", error={"code": "server_error", "message": PAGE})
    assert await _failure(failed) == {"code": "server_error", "message": "The upstream failed."}


async def _failure(failed: dict[str, Any]) -> Any:
    with ResponsesUpstream([*begins(), failed]) as upstream:
        native = NativeResponses(upstream.url, api_key=KEY)
        events, _ = await answers(native, {"model": "m", "input": "Hi", "stream": True, "store": False})
        await native.close()
    return events[-1]["response"]["error"]


def _page(status: int, body: bytes, kind: str = "text/html") -> Status:
    return Status(status, body, {"content-type": kind})


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize(
    "step",
    [
        PAGE.encode(),
        b'SECRET: unknown thing {"message":"SECRET"}',
        b'{"error":{"message":"SECRET"}} SECRET',
        json.dumps({"error": {"message": PAGE}}).encode(),
        json.dumps({"error": {"message": json.dumps({"error": PAGE})}}).encode(),
        json.dumps({"SECRET": {"x": "SECRET"}}).encode(),
    ],
    ids=["page", "text", "text behind", "page in a message", "page deeper", "other JSON"],
)
async def test_only_the_message_of_json_is_quoted_and_searched(lane: str, status: int, step: bytes) -> None:
    words = "The upstream refused the request." if status == 400 else "The upstream failed with status 500."
    code = "invalid_value" if status == 400 else "upstream_error"
    assert await refused(lane, _page(status, step)) == Problem(code=code, message=words)


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize(
    ("detail", "message", "param"),
    [
        ([{"loc": ["body", "top_p"], "msg": "should be positive"}], "top_p: should be positive", "top_p"),
        (
            [
                {"loc": ["body", "top_p"], "msg": "No.", "input": "the context window is short"},
                {"loc": ["query", "x", 0, "y"], "msg": "Field required"},
                {"loc": 5, "msg": "Odd"},
                {"loc": [], "msg": "The fourth"},
            ],
            "top_p: No.; x[0].y: Field required; Odd",
            "top_p",
        ),
        (["No."], "No.", ""),
    ],
)
async def test_fastapis_faults_are_quoted_with_their_places(
    lane: str, detail: list[Any], message: str, param: str
) -> None:
    expected = invalid(f"The upstream refused the request: {message}", param)
    assert await refused(lane, Status(422, {"detail": detail})) == expected


@pytest.mark.parametrize("lane", CHAT)
@pytest.mark.parametrize(
    "message",
    [
        "the request exceeds the available context size",
        "`inputs` tokens + `max_new_tokens` must be <= 4096",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
        "Please reduce the length. Current length is 9 while limit is 8",
        "Maximum input length is 8 tokens",
    ],
)
async def test_an_input_that_is_too_long_is_known_by_the_servers_own_words(lane: str, message: str) -> None:
    assert await refused(lane, Status(400, {"error": {"message": message}})) == TOO_LONG


class RawError(Exception):
    """A provider's own, as litellm raises it in mid-stream: no answer with a status stands behind it."""

    def __init__(self, status_code: int, message: str) -> None:
        self.status_code = status_code
        self.message = message


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ('litellm.BadRequestError: XException - {"error": {"message": "Too hot"}}. Handle with `x`', ": Too hot"),
        ('litellm.APIError: APIError: XException - b\'{"error": {"message": "Too hot"}}\'', ": Too hot"),
        ('b\'{"type":"error","error":{"type":"x","message":"Too hot"}}\'', ": Too hot"),
        ('[{"error": {"message": "Too hot"}}]', ": Too hot"),
        ('XException - busy {"error": {"message": "SECRET"}}', "."),
        (f"XException - {PAGE}", "."),
        (f"XException - {PAGE} context window", "."),
        ("XException - Too hot", "."),
        ("litellm.ContextWindowExceededError: XException - string too long", "."),
    ],
)
def test_of_litellms_words_only_the_json_behind_the_names_of_errors_is_quoted(message: str, expected: str) -> None:
    result = problem_of(RawError(400, message), model="m")
    assert result == invalid(f"The upstream refused the request{expected}")


@pytest.mark.parametrize("text", ['{"a":' * 900 + "[" + "1," * 9000, "{" * 20_000, '{"error":' + "{" * 20_000])
def test_a_body_full_of_brackets_is_decoded_once(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []

    def decode(text: str) -> Any:
        decoded.append(len(text))
        return json.loads(text)

    monkeypatch.setattr(error_body, "_decode", decode)
    problem = problem_of_status(500, text, model="m", headers={}, secret=None)
    assert (problem.message, sum(decoded) <= 4 * len(text)) == ("The upstream failed with status 500.", True)


@pytest.mark.parametrize("lane", CHAT)
@pytest.mark.parametrize("body", [PAGE.encode(), b"\n" + PAGE.encode(), b"SECRET, not JSON"])
async def test_a_page_with_status_200_is_not_a_broken_connection(lane: str, body: bytes) -> None:
    result = "The upstream sent an invalid answer: the answer is neither a stream nor JSON."
    assert await refused(lane, _page(200, body)) == Problem(code="upstream_error", message=result)


def test_a_fault_of_litellms_parser_is_not_a_status_of_the_server() -> None:
    result = "The upstream sent an invalid answer: the answer cannot be read."
    assert problem_of(TypeError("'int' object is not subscriptable"), model="m") == Problem(
        code="upstream_error", message=result
    )


SITE = {"web": {"uri": "https://a.example", "title": "A"}}
SEGMENT = {"startIndex": 0, "endIndex": 3, "text": "abc"}


@pytest.mark.parametrize(
    "sources",
    [
        {"groundingChunks": [SITE], "groundingSupports": [{"segment": SEGMENT, "groundingChunkIndices": 5}]},
        {"groundingChunks": [SITE], "groundingSupports": [{"segment": SEGMENT, "groundingChunkIndices": {"a": 1}}]},
        {"groundingChunks": [SITE], "groundingSupports": [{"segment": SEGMENT, "groundingChunkIndices": [[0]]}]},
        {"groundingChunks": [SITE], "groundingSupports": [{"segment": "abc", "groundingChunkIndices": [0]}]},
        {"groundingChunks": "x", "groundingSupports": []},
        {"groundingChunks": [{"web": 5}], "groundingSupports": []},
        {"groundingChunks": [SITE], "groundingSupports": 5},
        5,
    ],
)
@pytest.mark.parametrize("late", [True, False])
async def test_an_answer_of_gemini_survives_odd_sources(sources: Any, *, late: bool) -> None:
    first, last = candidate({"text": "abc"}), candidate(finish="STOP")
    (last if late else first)["candidates"][0]["groundingMetadata"] = sources
    with server("gemini", [first, last]) as upstream:
        chunks, problem = await answers(LitellmChat("gemini", api_key=KEY, base_url=upstream.url), asks("gemini"))
    assert (answer_of(chunks).get("text"), answer_of(chunks).get("finish"), problem) == ("abc", "stop", None)
