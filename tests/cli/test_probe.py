"""`am-proxy check --probe` against servers of every kind, on real sockets."""

import socket
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli import probe
from tests.support.probed_server import KEY, SAYS, TEXT_ANSWER, Server, listing, probed, responses_script
from tests.support.running import run
from tests.support.serving import serving
from tests.wire.script import says
from tests.wire.servers import Ask, End, Hang, Status, Step
from tests.wire.servers.responses import begins, ends

QUESTION = "Count from one to thirty, in words."
HTML = Status(200, b"<html><body>It works</body></html>", {"content-type": "text/html"})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THE_KEY", KEY)
    return tmp_path


YES_CHAT = "yes: streamed, with usage, finish reason length"
YES_RESPONSES = f"yes: {len(TEXT_ANSWER)} events from response.created to response.incomplete, with usage"
NO_MODEL = "default (neither [models] nor the server names one)"
NOWHERE = "no: no model server answers there: it has neither /chat/completions nor /responses nor /v1/messages"
NO_CHAT = "no: this server has no /chat/completions"
NO_RESPONSES = "no: this server has no /responses"


def test_a_server_of_chat_completions_is_recognized(capsys: pytest.CaptureFixture[str]) -> None:
    with Server(models=[listing("text-embedding-3", "qwen3")], chat=SAYS) as server:
        printed = probed(server.url, capsys)
        asked = [(ask.path, ask.headers.get("authorization"), ask.body) for ask in server.questions]
        assert {ask.headers.get("authorization") for ask in server.asks} == {f"Bearer {KEY}"}
    assert printed == (
        0,
        {
            "reachable": "yes",
            "asked for": "qwen3 (the only one it lists)",
            "Responses": NO_RESPONSES,
            "chat completions": YES_CHAT,
            "suits it": 'via = "chat"',
            "configured": 'via = "chat", which works',
        },
    )
    hi = {"role": "user", "content": QUESTION}
    counted = {"stream": True, "stream_options": {"include_usage": True}}
    assert asked == [
        (
            "/v1/chat/completions",
            f"Bearer {KEY}",
            {"model": "qwen3", "messages": [hi], **counted, "max_tokens": 16},
        ),
        (
            "/v1/responses",
            f"Bearer {KEY}",
            {"model": "qwen3", "stream": True, "input": QUESTION, "store": False, "max_output_tokens": 16},
        ),
    ]


def test_our_own_server_is_one_that_speaks_responses(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as url:
        code, printed = probed(f"{url}/v1", capsys, "responses")
    assert printed.pop("Responses").endswith("events from response.created to response.incomplete, with usage")
    assert (code, printed) == (
        0,
        {
            "reachable": "yes",
            "asked for": "demo (the only one it lists)",
            "chat completions": NO_CHAT,
            "its tools": "native: it calls custom tools with a grammar, and tools in a namespace",
            "suits it": 'via = "responses"',
            "configured": 'via = "responses", which works',
        },
    )


def test_litellm_is_asked_too_where_it_is_configured(folder: Path) -> None:
    """In a process of its own, as it is for those who use it."""
    with Server(chat=SAYS, responses=responses_script()) as server:
        ended = run("check", "--probe", "--upstream", server.url, "--via", "litellm", folder=folder)
    assert (ended.returncode, ended.stderr) == (0, "the configuration is valid: 1 upstream, 1 model, no keys\n")
    assert (
        ended.stdout
        == f"""\
--upstream {server.url}
  reachable         yes
  asked for         {NO_MODEL}
  chat completions  {YES_CHAT}
  Responses         {YES_RESPONSES}
  through litellm   {YES_CHAT}
  its tools         native: it calls custom tools with a grammar, and tools in a namespace
  suits it          via = "chat"; or via = "responses", for tools that it runs itself
  configured        via = "litellm", which works
"""
    )


def test_a_lane_that_does_not_work_is_an_exit_code_of_1_though_another_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Server(chat=SAYS) as server:
        code, printed = probed(server.url, capsys, "responses")
    assert (code, printed["suits it"], printed["configured"]) == (
        1,
        'via = "chat"',
        'via = "responses", which does not work',
    )


WRONG_KEY = Status(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})
FAILED = ends(status="failed", error={"code": "server_error", "message": f"no room for {KEY}\x1b[2J"})
ANOTHER = "→ Look at the port and the path in --upstream: another program listens there."
NO_SERVER = "→ Look at the port and the path in --upstream."
UNCLEAR = "cannot be told from this"
LITELLM = 'via = "litellm" with a provider, if litellm knows one for this server'


@pytest.mark.parametrize(
    ("paths", "responses", "chat", "suits", "advice"),
    [
        (
            {"models": [WRONG_KEY], "chat": [WRONG_KEY], "responses": [WRONG_KEY]},
            "no: it refuses the API key",
            "no: it refuses the API key",
            UNCLEAR,
            "→ Is it the right key for this server, and still valid? It comes from THE_KEY.",
        ),
        (
            {"models": [HTML], "chat": [HTML], "responses": [HTML]},
            "no: a web page answers there, no model server",
            "no: a web page answers there, no model server",
            LITELLM,
            ANOTHER,
        ),
        ({}, NO_RESPONSES, NO_CHAT, LITELLM, NO_SERVER),
        (
            {"chat": [Status(405)], "responses": [Status(501)]},
            NOWHERE,
            NOWHERE,
            LITELLM,
            NO_SERVER,
        ),
        (
            {"chat": [Status(503, {"error": "full"})], "responses": [FAILED]},
            "no: it speaks them, but the answer failed: no room for …[2J",
            "no: The upstream failed with status 503: full",
            UNCLEAR,
            "→ Look at the log of that server.",
        ),
        (
            {"chat": [says("Hi"), End()], "responses": [*begins(), End()]},
            "no: its events are not those of Responses, from response.created to response.in_progress",
            "no: it never says why it ends (finish_reason), so every answer counts as cut off",
            UNCLEAR,
            None,
        ),
        (
            {"chat": [Status(200, b"")], "responses": [Status(200, b"")]},
            "no: the answer is empty",
            "no: the answer is empty",
            LITELLM,
            None,
        ),
        (
            {"responses": [*begins(), TEXT_ANSWER[-1]]},
            "no: its events are not those of Responses, from response.created to response.incomplete",
            NO_CHAT,
            LITELLM,
            "→ It has /responses: use --via responses.",
        ),
    ],
    ids=["key", "html", "nothing", "405", "failing", "without an end", "empty", "without items"],
)
def test_why_nothing_works_is_reported(
    paths: dict[str, list[Step]],
    responses: str,
    chat: str,
    suits: str,
    advice: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Server(**paths) as server:
        code, printed = probed(server.url, capsys)
    assert printed.pop("", None) == advice
    assert (code, printed) == (
        1,
        {
            "reachable": "yes",
            "asked for": NO_MODEL,
            "Responses": responses,
            "chat completions": chat,
            "suits it": suits,
            "configured": 'via = "chat", which does not work',
        },
    )


def test_a_missing_key_is_distinguished_from_a_refused_one(capsys: pytest.CaptureFixture[str]) -> None:
    with Server(chat=[Status(401)], responses=[Status(401)]) as server:
        assert main(["check", "--probe", "--upstream", server.url, "--via", "chat"]) == 1
    assert "  chat completions  no: it needs an API key, and none is set\n" in capsys.readouterr().out


def unstreamed_answer(ask: Ask) -> list[Step]:
    """A server that knows neither limits nor streams."""
    if "max_tokens" in ask.body:
        return [Status(400, {"error": {"message": "unknown parameter max_tokens"}})]
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    return [Status(200, {"object": "chat.completion", "choices": [choice]})]


def test_a_server_that_neither_limits_nor_streams_nor_counts_works(capsys: pytest.CaptureFixture[str]) -> None:
    with Server(chat=unstreamed_answer) as server:
        code, printed = probed(server.url, capsys)
    assert (code, printed["chat completions"]) == (
        0,
        (
            "yes: not streamed, all in one piece, without usage, which is then estimated, finish reason stop; "
            "but it refuses the limit of an answer"
        ),
    )


def test_a_server_that_never_ends_is_given_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "PATIENCE", 0.2)
    monkeypatch.setattr(probe, "SURVEY_WITHIN", 0.2)
    with Server(models=[Hang()], chat=[says("Hi"), Hang()], responses=[Hang()]) as server:
        code, printed = probed(server.url, capsys)
    late = "no: It did not end its answer within 0.2 seconds"
    assert (code, printed["reachable"], printed["chat completions"], printed["Responses"]) == (1, "yes", late, late)


def test_a_port_without_a_server_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert probed(f"http://127.0.0.1:{port}/v1", capsys) == (
        1,
        {
            "reachable": f"no: nothing listens on 127.0.0.1 port {port}",
            "": "→ Is it running? Look at the port in --upstream.",
            "configured": 'via = "chat", which does not work',
        },
    )


def test_https_where_there_is_none_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as url:
        code, printed = probed(f"{url.replace('http:', 'https:')}/v1", capsys)
    assert (code, printed["TLS"][:4], printed[""]) == (1, "no: ", "→ Write http:// instead of https:// in --upstream.")


@pytest.mark.parametrize(
    "body", [b"[]", b'{"data": 5}', b'{"data": [1, {"id": 2}, {}]}', b"[" * 99_999, b"x" * 2_000_000]
)
def test_a_list_of_models_that_is_none_does_no_harm(body: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with Server(models=[Status(200, body)], chat=SAYS) as server:
        code, printed = probed(server.url, capsys)
    assert (code, printed["asked for"]) == (0, NO_MODEL)


def test_a_server_that_says_the_key_wherever_it_can_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    with Server(models=[listing(KEY)], chat=[says("Hi", finish=KEY)], responses=[{"type": KEY}, End()]) as server:
        code, printed = probed(server.url, capsys)
    assert (code, printed["asked for"][:1], printed["chat completions"].partition(";")[0][-1:]) == (0, "…", "…")


def test_the_flag_is_of_check_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--probe"])
    assert "unknown flag --probe: it is a flag of check" in capsys.readouterr().err
