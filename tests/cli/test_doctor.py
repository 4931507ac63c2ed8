"""`am-proxy doctor` against servers of every kind, on real sockets."""

import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.__main__ import main
from tests.support.script import chunk, counts, says, stops
from tests.support.servers import Ask, ChatUpstream, Script, Status, Step
from tests.support.serving import serving

KEY = "sk-a-key-that-must-stay-secret"
CALL = chunk(
    {
        "index": 0,
        "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "get_time", "arguments": "{}"}}]},
        "finish_reason": "tool_calls",
    }
)
CALLS = [CALL, counts(7, 5)]
SAYS = [says("Hello"), says(" there"), stops(), counts(7, 5)]
CONFIG = """
[upstreams.it]
via = "chat"
base_url = "{url}"
{key}
[models.small]
upstream = "it"
"""


class Server(ChatUpstream):
    """One that lists no models: the doctor does not mind."""

    takes_empty_bodies = True

    def _all_faults(self, ask: Ask) -> list[str]:
        return [] if ask.path == "/v1/models" else super()._all_faults(ask)


def answering(words: Script = SAYS, tools: Script = CALLS) -> Server:
    """A server that answers a plain question so, and one with tools so."""

    def script(ask: Ask) -> list[Step]:
        if ask.path == "/v1/models":
            return [Status(404)]
        chosen = tools if "tools" in ask.body else words
        return list(chosen(ask) if callable(chosen) else chosen)

    return Server(script)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THE_KEY", KEY)
    return tmp_path


def seen(
    url: str, folder: Path, capsys: pytest.CaptureFixture[str], *, key: bool = False
) -> tuple[int, dict[str, str], str]:
    """The exit code, each step with its mark and words, and all advice."""
    (folder / "config.toml").write_text(CONFIG.format(url=url, key='api_key = "env:THE_KEY"' if key else ""))
    code = main(["doctor"])
    printed = capsys.readouterr().out
    assert KEY not in printed
    steps = re.findall(r"^  ([✓!✗·]) (\S.*?)(?: {2,}(.*))?$", printed, re.MULTILINE)
    advice = " ".join(re.findall(r"→ (.*)$", printed, re.MULTILINE))
    return code, {title: f"{mark} {re.sub(r'[0-9]+ ms', 'N ms', words)}" for mark, title, words in steps}, advice


def test_an_upstream_that_is_well_is_well_at_every_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with answering() as server:
        code, steps, advice = seen(server.url, folder, capsys, key=True)
        assert [ask.headers["authorization"] for ask in server.asks[1:]] == [f"Bearer {KEY}"] * 2
    assert (code, advice) == (0, "")
    assert steps == {
        "name resolves": "✓ 127.0.0.1  (N ms)",
        "reachable": f"✓ port {server.port}  (N ms)",
        "asked for": "· small (named in [models])",
        "key": "✓ accepted",
        "answers": "✓ small in N ms",
        "streams": "✓ first word after N ms, 2 pieces",
        "calls tools": "✓ after N ms",
    }


@pytest.mark.parametrize("key", ["key", "none", "streams", "ms"])
def test_a_key_that_is_a_common_word_is_left_in_the_doctors_own_words(
    folder: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    """Servers that want no key are often given such a one."""
    with answering() as server:
        (folder / "config.toml").write_text(CONFIG.format(url=server.url, key=f'api_key = "{key}"'))
        assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert "…" not in printed
    assert re.search(r"^  ✓ key +accepted$", printed, re.MULTILINE)
    assert re.search(r"^  ✓ streams +first word after [0-9]+ ms, 2 pieces$", printed, re.MULTILINE)


REFUSED = Status(401, {"error": {"message": f"wrong key {KEY}", "type": "invalid_request_error", "code": None}})

UNKNOWN = [Status(404, {"error": {"message": "no", "code": "model_not_found"}})]


@pytest.mark.parametrize(
    ("words", "tools", "step", "printed", "advice"),
    [
        ([REFUSED], [], "key", "✗ no: it is refused", "Look at api_key"),
        (
            UNKNOWN,
            [],
            "answers",
            "✗ no: ",
            "`name` must be",
        ),
        ([Status(500)], [], "answers", "✗ no: ", "check --probe"),
        ([says("Hel"), says("lo")], [], "answers", "✗ no: it never says why it ends", "check --probe"),
        ([says("Hello", finish="stop"), counts(1, 1)], [CALL], "streams", "! the answer came in one piece", "buffer"),
        ([says("a"), says("b"), stops()], [CALL], "counts tokens", "! no: usage will be estimated", "stream_options"),
        (SAYS, SAYS, "calls tools", "! no: it answered in words", "Agents need"),
        (SAYS, [Status(400, {"error": {"message": "no tools here"}})], "calls tools", "! no: ", "Agents need"),
    ],
)
def test_what_is_wrong_is_printed_with_advice(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    words: Script,
    tools: Script,
    step: str,
    printed: str,
    advice: str,
) -> None:
    with answering(words, tools) as server:
        code, steps, advised = seen(server.url, folder, capsys, key=True)
    assert steps[step].startswith(printed)
    assert advice in advised
    assert code == (1 if printed.startswith("✗") else 0)


def test_a_port_without_a_server_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    code, steps, advice = seen(f"http://127.0.0.1:{port}/v1", folder, capsys)
    assert (code, steps["reachable"]) == (1, f"✗ no: nothing listens there (port {port})")
    assert "Is it running?" in advice


def test_a_name_that_does_not_resolve_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, steps, advice = seen("http://nowhere.invalid/v1", folder, capsys)
    assert (code, steps) == (1, {"name resolves": "✗ no: nowhere.invalid"})
    assert "base_url" in advice


def test_a_server_behind_a_proxy_is_reached_by_the_proxy(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the proxy has to know the name of the server."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
    code, steps, advice = seen("http://nowhere.invalid/v1", folder, capsys)
    assert (code, steps) == (
        1,
        {
            "proxy": "· 127.0.0.1, which the environment names",
            "name resolves": "✓ 127.0.0.1  (N ms)",
            "reachable": f"✗ no: nothing listens there (port {port})",
        },
    )
    assert "HTTP_PROXY" in advice


def test_a_proxy_is_not_used_for_this_machine(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://nowhere.invalid:3128")
    with answering() as server:
        code, steps, _ = seen(server.url, folder, capsys)
    assert (code, steps["reachable"]) == (0, f"✓ port {server.port}  (N ms)")


@pytest.fixture(scope="module")
def impostor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a TLS server with a certificate that no authority signed."""
    folder = tmp_path_factory.mktemp("tls")
    made = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
    subprocess.run(made.split(), cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    listener = socket.create_server(("127.0.0.1", 0))

    def shake() -> None:
        while True:
            try:
                taken, _ = listener.accept()
            except OSError:
                return
            with taken:
                try:
                    context.wrap_socket(taken, server_side=True).close()
                except OSError:
                    continue

    threading.Thread(target=shake, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def test_a_certificate_that_is_not_trusted_is_reported(
    impostor: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, steps, advice = seen(f"https://127.0.0.1:{impostor}/v1", folder, capsys)
    assert (code, steps["TLS"].startswith("✗ no: ")) == (1, True)
    assert "certificate must be one" in advice


def test_tls_where_there_is_none_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as url:
        code, steps, advice = seen(f"{url.replace('http:', 'https:')}/v1", folder, capsys)
    assert (code, steps["TLS"].startswith("✗ no: ")) == (1, True)
    assert "plain http" in advice


def test_a_server_that_speaks_responses_is_asked_in_its_own_language(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving() as url:
        (folder / "config.toml").write_text(
            f'[upstreams.it]\nvia = "responses"\nbase_url = "{url}/v1"\n[models.demo]\nupstream = "it"\n'
        )
        assert main(["doctor", "it"]) == 0
    printed = capsys.readouterr().out
    assert "✓ streams" in printed
    assert "✓ calls tools" in printed
    assert printed.endswith("all checks passed\n")


def test_the_demo_is_well_without_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "upstreams.demo  via demo, inside this server" in capsys.readouterr().out


def test_the_name_of_an_unknown_upstream_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "other"]) == 2
    assert capsys.readouterr().err == "there is no upstream named other; there is demo\n"
