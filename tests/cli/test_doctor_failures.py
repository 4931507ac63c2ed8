"""What `am-proxy doctor` says about every failure: the step, a sentence, and what to do."""

import socket
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli import probe, reach
from app.upstreams.local_servers import USUAL_SERVERS, FoundServer
from app.upstreams.survey import Survey
from tests.support.doctor_failures import CALLS, FAILURES, QWEN, SAYS, FailureCase, refusing
from tests.support.probed_server import KEY, Examined, examined
from tests.support.serving import serving
from tests.support.surveyed_server import SurveyedServer, chats, listing, ollama
from tests.wire.servers import Ask, Hang, Step


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THE_KEY", KEY)
    return tmp_path


def doctor(capsys: pytest.CaptureFixture[str], url: str, *flags: str) -> Examined:
    """What is said about the upstream at this address."""
    code = main(["doctor", "--upstream", url, *flags])
    printed = capsys.readouterr()
    assert printed.err == ""
    return examined(code, printed.out)


@pytest.mark.parametrize("case", FAILURES.values(), ids=FAILURES)
def test_every_failure_has_its_sentence_and_its_advice(case: FailureCase, capsys: pytest.CaptureFixture[str]) -> None:
    def script(ask: Ask) -> list[Step]:
        chosen = case.tools if "tools" in ask.body else case.words
        return list(chosen(ask) if callable(chosen) else chosen)

    with SurveyedServer(case.pages, script, other=case.other) as server:
        found = doctor(capsys, f"{server.root}{case.path}", *case.flags)
    assert found.steps[case.step].startswith(case.printed.format(port=server.port))
    assert case.advice in found.advice.get(case.step, "")
    assert bool(case.advice) == (case.step in found.advice)
    assert found.verdict.startswith(case.verdict)
    is_error = case.printed.startswith("✗")
    assert found.code == (1 if is_error else 0)
    assert not is_error or list(found.steps)[-1] == case.step
    assert "upstreams.upstream" not in str(found)


def test_a_server_that_never_answers_is_given_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "PATIENCE", 0.3)
    with SurveyedServer(chats(models=listing("m")), [Hang()]) as server:
        found = doctor(capsys, server.url)
    assert found.steps["answers"] == "✗ It did not end its answer within 0.3 seconds"
    assert found.advice["answers"].startswith("It may be loading its model")


MISTYPED = """
[upstreams.near]
via = "{via}"
base_url = "{url}"
[models]
{models}
"""


@pytest.mark.parametrize(
    ("models", "printed", "advice"),
    [
        (
            '"qwen3:8g".upstream = "near"',
            '✗ it has no model "qwen3:8g"',
            "It lists qwen3:8b (did you mean qwen3:8b?): correct the name in [models], or run `ollama pull qwen3:8g`.",
        ),
        (
            'q = {upstream = "near", name = "llama9"}',
            '✗ it has no model "llama9"',
            "It lists qwen3:8b: correct the name in [models], or run `ollama pull llama9`.",
        ),
    ],
)
def test_a_model_that_the_server_does_not_have_is_told_from_those_that_it_has(
    folder: Path, capsys: pytest.CaptureFixture[str], models: str, printed: str, advice: str
) -> None:
    with SurveyedServer(ollama({"qwen3:8b": QWEN}), [refusing(404, "model not found, try pulling it first")]) as server:
        (folder / "config.toml").write_text(MISTYPED.format(via="chat", url=server.url, models=models))
        code = main(["doctor"])
    found = examined(code, capsys.readouterr().out)
    assert (found.code, found.steps["answers"], found.advice["answers"]) == (1, printed, advice)


def test_other_models_that_the_server_does_not_list_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["qwen3:8b", "llama", "x/llama:nitro", "qwen3:80b"]
    models = "\n".join(f'"{name}".upstream = "near"' for name in names)
    pages = chats(models=listing("qwen3:8b", "llama:latest", "x/llama"))

    def script(ask: Ask) -> list[Step]:
        return list(CALLS if "tools" in ask.body else SAYS)

    with SurveyedServer(pages, script) as server:
        (folder / "config.toml").write_text(MISTYPED.format(via="chat", url=server.url, models=models))
        code = main(["doctor", "near"])
    found = examined(code, capsys.readouterr().out)
    assert found.code == 0
    assert found.steps["models"] == '! [models] qwen3:80b: the server lists no "qwen3:80b"'
    assert "did you mean qwen3:8b?" in found.advice["models"]
    assert found.verdict == 'works, but may not have "qwen3:80b": needs attention'


@pytest.mark.parametrize("via", ["chat", "responses"])
def test_the_address_of_a_file_is_not_changed(folder: Path, capsys: pytest.CaptureFixture[str], via: str) -> None:
    with SurveyedServer(ollama({"qwen3:8b": QWEN})) as server:
        models = 'q = {upstream = "near", name = "qwen3:8b"}'
        (folder / "config.toml").write_text(MISTYPED.format(via=via, url=server.root, models=models))
        code = main(["doctor"])
        assert server.paths[-1] == ("/chat/completions" if via == "chat" else "/responses")
    found = examined(code, capsys.readouterr().out)
    assert code == 1
    assert found.title == f"upstreams.near {server.root}"
    assert found.advice["answers"] == f"{server.url} answers: add /v1 in base_url."


def test_a_configured_context_that_is_longer_than_the_real_one_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def script(ask: Ask) -> list[Step]:
        return list(CALLS if "tools" in ask.body else SAYS)

    models = '"qwen3:8b" = {upstream = "near", context_window = 131072}'
    with SurveyedServer(ollama({"qwen3:8b": QWEN}), script) as server:
        (folder / "config.toml").write_text(MISTYPED.format(via="chat", url=server.url, models=models))
        code = main(["doctor"])
    found = examined(code, capsys.readouterr().out)
    assert code == 0
    assert found.steps["context"] == "! 65536 tokens, but context_window in [models] says 131072"
    assert "correct context_window" in found.advice["context"]
    assert found.verdict == "works, but has a smaller context than configured: needs attention"


def test_a_key_that_callers_bring_is_no_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with SurveyedServer({}, [refusing(401)], other=refusing(401)) as server:
        (folder / "config.toml").write_text(
            f'[upstreams.x]\nvia = "chat"\nbase_url = "{server.url}"\nauth = "passthrough"\n'
            '[models."*"]\nupstream = "x"\n'
        )
        code = main(["doctor"])
    found = examined(code, capsys.readouterr().out)
    assert (code, found.verdict) == (0, "all checks passed")
    assert found.steps["key"] == "· it needs one: callers send theirs, so nothing more can be tested here"


@pytest.mark.parametrize(
    ("here", "advice"),
    [
        ("its own", "Ollama usually listens on this port: `ollama serve` starts it."),
        ("another", "On this machine there is vLLM at http://127.0.0.1:8000/v1: did you mean this one?"),
        ("nothing", "Is it running? Look at the port in --upstream."),
    ],
)
def test_a_port_without_a_server_is_an_error(
    here: str, advice: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    found = Survey("http://127.0.0.1:8000/v1", "vllm", (), "chat", "")

    async def local() -> list[FoundServer]:
        return [FoundServer("vLLM", found)] if here == "another" else []

    monkeypatch.setattr(reach, "find_local_servers", local)
    if here == "its own":
        ollama_here = USUAL_SERVERS[0]._replace(port=port)
        monkeypatch.setattr(reach, "servers_on", lambda number: [ollama_here] if number == port else [])
    seen = doctor(capsys, f"http://127.0.0.1:{port}/v1")
    assert (seen.code, seen.steps) == (1, {"reachable": f"✗ nothing listens on 127.0.0.1 port {port}"})
    assert seen.advice["reachable"] == advice
    assert seen.verdict == f"does not work: nothing listens on 127.0.0.1 port {port}"


@pytest.mark.parametrize(
    ("host", "printed", "advice"),
    [
        ("nowhere.invalid", "✗ there is no host nowhere.invalid", "Look at --upstream: is the name right"),
        ("api.groq.com", "✗ no DNS server here knows api.groq.com", "Is this machine online?"),
        ("api.anthropic.com", "✗ no DNS server here knows api.anthropic.com", "Is this machine online?"),
        ("api.example.com", "✗ there is no host api.example.com", "Look at --upstream"),
        ("api.gorq.com", "✗ there is no host api.gorq.com (did you mean api.groq.com?)", "Correct the name"),
    ],
)
def test_a_name_that_does_not_resolve_is_reported(
    host: str, printed: str, advice: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    found = doctor(capsys, f"https://{host}/v1")
    assert (found.code, found.steps) == (1, {"name resolves": printed})
    assert advice in found.advice["name resolves"]


def test_a_dns_server_that_does_not_answer_is_no_unknown_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    found = doctor(capsys, "https://api.example.com/v1")
    assert found.steps == {"name resolves": "✗ no DNS server answers about api.example.com"}
    assert "online" in found.advice["name resolves"]


def test_https_where_there_is_none_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as url:
        found = doctor(capsys, f"{url.replace('http:', 'https:')}/v1")
    port = url.rpartition(":")[2]
    assert found.steps == {"TLS": f"✗ port {port} speaks plain http, not https"}
    assert found.advice["TLS"] == "Write http:// instead of https:// in --upstream."


def test_a_provider_of_a_flag_has_its_name(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object, **__: object) -> object:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    code = main(["doctor", "--provider", "groq"])
    found = examined(code, capsys.readouterr().out)
    assert (found.code, found.title) == (1, "--provider groq https://api.groq.com/openai/v1")
