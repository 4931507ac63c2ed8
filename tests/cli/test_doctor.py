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
from tests.support.probed_server import KEY, Examined, examined
from tests.support.serving import serving
from tests.support.surveyed_server import SurveyedServer, chats, listing
from tests.wire.script import chunk, counts, says, stops
from tests.wire.servers import Ask, Json, Script, Step

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


def answering(words: Script = SAYS, tools: Script = CALLS, *listed: Json | str) -> SurveyedServer:
    """A server that answers a plain question so, and one with tools so."""

    def script(ask: Ask) -> list[Step]:
        chosen = tools if "tools" in ask.body else words
        return list(chosen(ask) if callable(chosen) else chosen)

    pages = chats(models=listing(*listed)) if listed else chats()
    return SurveyedServer(pages, script)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THE_KEY", KEY)
    return tmp_path


def seen(url: str, folder: Path, capsys: pytest.CaptureFixture[str], *, key: bool = False) -> Examined:
    """What is printed about the upstream of a file."""
    (folder / "config.toml").write_text(CONFIG.format(url=url, key='api_key = "env:THE_KEY"' if key else ""))
    code = main(["doctor"])
    return examined(code, capsys.readouterr().out)


def test_an_upstream_that_is_well_is_well_at_every_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(SAYS, CALLS, {"id": "small", "max_model_len": 65_536}) as server:
        found = seen(server.url, folder, capsys, key=True)
        assert {ask.headers["authorization"] for ask in server.asks} == {f"Bearer {KEY}"}
    assert found == Examined(
        0,
        f"upstreams.it {server.url}",
        {
            "reachable": f"✓ port {server.port}  (N ms)",
            "server": "✓ has /chat/completions",
            "models": "· 1 for chat: small",
            "asked for": "· small by /chat/completions (named in [models])",
            "key": "✓ accepted",
            "answers": "✓ small in N ms",
            "streams": "✓ first token after N ms, 2 pieces",
            "calls tools": "✓ after N ms",
            "context": "✓ 65536 tokens",
        },
        {},
        "all checks passed",
    )


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
    assert re.search(r"^  ✓ streams +first token after [0-9]+ ms, 2 pieces$", printed, re.MULTILINE)


def test_a_server_behind_a_proxy_is_reached_by_the_proxy(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the proxy has to know the name of the server."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
    found = seen("http://nowhere.invalid/v1", folder, capsys)
    assert found.steps == {
        "proxy": "· 127.0.0.1, which the environment names",
        "reachable": f"✗ nothing listens on 127.0.0.1 port {port}",
    }
    assert found.code == 1
    assert "HTTP_PROXY" in found.advice["reachable"]


def test_a_proxy_that_does_not_speak_http_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1080")
    found = seen("http://nowhere.invalid/v1", folder, capsys)
    assert found.steps == {"proxy": "✗ 127.0.0.1 speaks socks5, and only http and https proxies can be used"}
    assert found.code == 1
    assert "HTTP_PROXY" in found.advice["proxy"]


def test_a_proxy_is_not_used_for_this_machine(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://nowhere.invalid:3128")
    with answering() as server:
        found = seen(server.url, folder, capsys)
    assert (found.code, found.steps["reachable"]) == (0, f"✓ port {server.port}  (N ms)")


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
    found = seen(f"https://127.0.0.1:{impostor}/v1", folder, capsys)
    assert (found.code, found.steps["TLS"].partition(":")[0]) == (1, "✗ its certificate is not trusted")
    assert "certificate must be one" in found.advice["TLS"]


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
    assert capsys.readouterr().out.startswith("upstreams.demo inside this server\n")


def test_the_name_of_an_unknown_upstream_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "other"]) == 2
    assert capsys.readouterr().err == "am-proxy: there is no upstream named other; there is demo\n"
