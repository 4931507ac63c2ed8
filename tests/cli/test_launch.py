"""`am-proxy launch`: what the agent is given, and what is said if something is missing."""

import os
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.support.launching import MODELS, Home
from tests.support.running import running
from tests.support.surveyed_server import SurveyedServer, ollama, vllm
from tests.wire.ports import listening
from tests.wire.script import text_turn
from tests.wire.servers import Status


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def server() -> Iterator[SurveyedServer]:
    with SurveyedServer(ollama(MODELS), text_turn("Hello")) as made:
        yield made


def test_the_agent_gets_a_server_and_its_models_and_no_file_of_the_user_is_changed(
    home: Home, server: SurveyedServer
) -> None:
    home.install("sys.exit(7)")
    before = home.files()
    ran = home.launch("codex", "--upstream", server.url, "--", "exec", "--json", "read")
    assert (ran.returncode, ran.stdout) == (7, "the agent is running\n")
    seen = home.seen
    provider = seen["settings"]["model_providers"]["am"]
    assert seen["settings"]["model"] == "coder:8b"  # the first one that calls tools and has enough context
    assert seen["settings"]["model_provider"] == "am"
    assert provider == {"name": "AM Proxy", "base_url": provider["base_url"], "wire_api": "responses"}
    assert seen["arguments"] == ["exec", "--json", "read"]
    assert seen["catalogue"] == [["small:1b", 8_192], ["coder:8b", 40_960], ["seer:30b", 131_072]]
    assert (seen["status"], seen["answer"]["output"][0]["content"][0]["text"]) == (200, "Hello")
    assert seen["input"] == "piped in"
    assert ran.stderr == (
        "am-proxy: Codex uses coder:8b with 40,960 tokens of context; its menu has 2 more\n"
        f"am-proxy: the server ends with Codex: {provider['base_url']}\n"
    )
    assert home.files() == before
    assert list(home.cache.iterdir()) == []


def test_a_profile_is_printed_and_nothing_is_started_or_written(home: Home, server: SurveyedServer) -> None:
    home.install()
    before = home.files()
    with listening() as taken:
        port = str(taken.getsockname()[1])
    ran = home.launch("codex", "--upstream", server.url, "--port", port, "--print", environ={"AM_KEY": "sk-alice"})
    assert (ran.returncode, ran.stderr, home.seen_file.exists(), home.files()) == (0, "", False, before)
    profile = tomllib.loads(ran.stdout)
    provider = {"name": "AM Proxy", "base_url": f"http://127.0.0.1:{port}/v1", "wire_api": "responses"}
    assert (profile["model"], profile["model_providers"]["am"]) == ("coder:8b", provider | {"env_key": "AM_KEY"})
    assert "sk-alice" not in ran.stdout


def test_a_named_model_is_the_one_it_starts_with(home: Home, server: SurveyedServer) -> None:
    home.install()
    flags = ["--upstream", server.url, "--upstream-key", "env:OLLAMA_KEY"]
    ran = home.launch("codex", *flags, "--model", "seer:30b", environ={"OLLAMA_KEY": "sk-upstream"})
    assert (ran.returncode, home.seen["settings"]["model"]) == (0, "seer:30b")
    assert {ask.headers.get("authorization") for ask in server.asks} == {"Bearer sk-upstream"}
    ran = home.launch("codex", "--upstream", server.url, "--model", "small:1b")
    assert (ran.returncode, home.seen["settings"]["model"]) == (0, "small:1b")
    assert ran.stderr.splitlines()[0] == (
        "am-proxy: the context of small:1b is 8,192 tokens, and Codex needs about 32,000: "
        "start Ollama with OLLAMA_CONTEXT_LENGTH=32768."
    )


def test_a_configuration_with_keys_gives_the_agent_one_for_this_run(home: Home, server: SurveyedServer) -> None:
    """The key is in the environment of the agent, not among its arguments, which every user of the machine can read."""
    home.install()
    (home.work / "config.toml").write_text(f"""
[[keys]]
name = "alice"
value = "sk-alice"

[upstreams.local]
via = "chat"
base_url = "{server.url}"

[models.coder]
upstream = "local"
name = "coder:8b"
context_window = 64000
""")
    ran = home.launch("codex")
    seen = home.seen
    key = seen["environ"]["AM_LAUNCH_KEY"]
    assert (ran.returncode, seen["status"]) == (0, 200)
    assert seen["catalogue"] == [["coder", 64_000]]
    assert seen["settings"]["model_providers"]["am"]["env_key"] == "AM_LAUNCH_KEY"
    assert len(key) > 40
    assert [word for word in seen["words"] if key in word] == []
    assert server.asks[-1].body["model"] == "coder:8b"


SEARCH: Final = '[search]\nbackend = "searxng"\nbase_url = "http://127.0.0.1:9"\n'
KEYS: Final = '[[keys]]\nname = "alice"\nvalue = "sk-alice"\n'


@pytest.mark.parametrize(
    ("search", "version", "searches"),
    [
        (SEARCH, "0.169.0", True),
        (f"{KEYS}{SEARCH}", "0.170.1", True),
        (SEARCH, "0.168.2", False),
        ("", "0.169.0", False),
    ],
)
def test_the_agent_searches_if_the_server_does(
    home: Home, server: SurveyedServer, search: str, version: str, *, searches: bool
) -> None:
    home.install(version=version)
    model = f'[upstreams.local]\nvia = "chat"\nbase_url = "{server.url}"\n[models."coder:8b"]\nupstream = "local"\n'
    (home.work / "config.toml").write_text(search + model)
    assert home.launch("codex").returncode == 0
    settings = home.seen["settings"]
    assert settings.get("features") == ({"standalone_web_search": True} if searches else None)
    assert settings["model_providers"]["am"].get("supports_standalone_web_search", False) is searches


def test_this_machine_is_not_asked_through_a_proxy(home: Home, server: SurveyedServer) -> None:
    home.install()
    given = {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.0/8,intra.net"}
    assert home.launch("codex", "--upstream", server.url, environ=given).returncode == 0
    assert home.seen["environ"]["NO_PROXY"] == "127.0.0.0/8,intra.net,127.0.0.1"


def test_what_is_missing_is_said_before_the_agent_starts(home: Home) -> None:
    home.install()
    with SurveyedServer(vllm("qwen", 16_384)) as server:
        ran = home.launch("codex", "--upstream", server.url)
    assert (ran.returncode, ran.stdout, ran.stderr) == (
        1,
        "",
        (
            "am-proxy: cannot launch Codex: the context of qwen is 16,384 tokens, and Codex needs about 32,000: "
            "start vLLM with --max-model-len 32768; --model qwen tries it all the same.\n"
        ),
    )
    assert not home.seen_file.exists()


def test_an_agent_that_is_missing_or_too_old_is_named_with_the_command_that_installs_it(
    home: Home, server: SurveyedServer
) -> None:
    ran = home.launch("codex", "--upstream", server.url)
    assert (ran.returncode, ran.stderr) == (
        1,
        (
            "am-proxy: cannot launch Codex: the command codex is not installed; "
            "install it with: npm install --global @openai/codex\n"
        ),
    )
    home.install(version="0.41.0")
    ran = home.launch("codex", "--upstream", server.url)
    assert (ran.returncode, ran.stderr) == (
        1,
        (
            "am-proxy: cannot launch Codex: it is version 0.41.0, and 0.80 or newer is needed; "
            "update it with: npm install --global @openai/codex\n"
        ),
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("echo a script without its first line", "PATH does not start: Exec format error"),
        ("#!/bin/sh\necho >&2\necho 'Error: half installed' >&2\nexit 1", "PATH does not run: Error: half installed"),
        ("#!/bin/sh\nexit 3", "PATH does not run: exit code 3"),
    ],
    ids=["no program", "a reason", "no reason"],
)
def test_an_agent_that_does_not_run_is_to_be_installed_again(
    home: Home, server: SurveyedServer, content: str, said: str
) -> None:
    home.install()
    (home.bin / "codex").write_text(content)
    ran = home.launch("codex", "--upstream", server.url)
    said = said.replace("PATH", str(home.bin / "codex"))
    assert (ran.returncode, ran.stderr) == (
        1,
        f"am-proxy: cannot launch Codex: {said}; install it again with: npm install --global @openai/codex\n",
    )


def test_without_a_configuration_it_says_what_to_give(home: Home) -> None:
    home.install()
    ran = home.launch("codex")
    assert ran.returncode == 1
    assert ran.stderr.startswith("am-proxy: cannot launch Codex: no model is configured: add --upstream URL")
    ran = home.launch("codex", "--upstream", "http://127.0.0.1:9/v1")
    assert (ran.returncode, ran.stderr) == (
        1,
        (
            "am-proxy: cannot launch Codex: --upstream http://127.0.0.1:9/v1: Nothing listens on 127.0.0.1 port 9. "
            "Start the server there, or correct the address.\n"
        ),
    )
    ran = home.launch("codex", "--port", "x")
    assert (ran.returncode, "--port" in ran.stderr) == (2, True)


def test_that_turns_are_recorded_is_no_problem(home: Home, server: SurveyedServer) -> None:
    home.install()
    (home.work / "config.toml").write_text('[server]\nrecord = "turns"\n')
    ran = home.launch("codex", "--upstream", server.url)
    assert (ran.returncode, home.seen["status"], "problems" in ran.stderr) == (0, 200, False)
    assert list(home.cache.iterdir()) == []
    assert any((home.work / "turns").iterdir())


def test_a_log_with_problems_is_kept_and_named(home: Home) -> None:
    """For a week."""
    home.install()
    with SurveyedServer(ollama(MODELS), [Status(500, {"error": {"message": "Boom"}})]) as server:
        ran = home.launch("codex", "--upstream", server.url)
    assert (ran.returncode, home.seen["status"]) == (0, 502)
    log = Path(ran.stderr.rstrip().rpartition("am-proxy: there were problems; the log of the server is ")[2])
    assert (log.parent.parent, "  502  " in log.read_text()) == (home.cache, True)
    assert [file.name for file in log.parent.iterdir()] == ["server.log"]
    week_ago = time.time() - 8 * 86_400
    os.utime(log.parent, (week_ago, week_ago))
    home.launch("codex", "--upstream", "http://127.0.0.1:9/v1")
    assert log.exists()  # nothing was started
    with SurveyedServer(ollama(MODELS), text_turn("Hello")) as server:
        home.launch("codex", "--upstream", server.url)
    assert not log.parent.exists()


def test_a_server_that_runs_is_used_if_nothing_is_configured_here(home: Home, server: SurveyedServer) -> None:
    home.install()
    with running("--upstream", server.url, folder=home.folder) as proxy:
        port = proxy.url.split(":")[2].removesuffix("/v1")
        ran = home.launch("codex", environ={"AM_PORT": port})
        assert (ran.returncode, home.seen["status"]) == (0, 200)
        assert home.seen["settings"]["model_providers"]["am"]["base_url"] == proxy.url
        assert ran.stderr == (
            f"am-proxy: Codex uses words:4b; its menu has 3 more\nam-proxy: the server runs already: {proxy.url}\n"
        )
        ran = home.launch("codex", "--upstream", server.url, "--port", port)
        assert (ran.returncode, home.seen["settings"]["model"]) == (0, "coder:8b")
        assert ran.stderr.endswith(f"the server runs already: {proxy.url}\n")
        with SurveyedServer(vllm("another", 131_072)) as other:
            ran = home.launch("codex", "--upstream", other.url, "--port", port)
        assert (ran.returncode, ran.stderr) == (
            1,
            (
                f"am-proxy: cannot launch Codex: the AM Proxy at {proxy.url} serves other models (coder:8b, seer:30b, "
                "small:1b, words:4b): leave --port out, so that a server of its own is started\n"
            ),
        )


def test_a_server_that_wants_a_key_gets_it_from_the_environment(home: Home, server: SurveyedServer) -> None:
    home.install()
    with running("--upstream", server.url, folder=home.folder, environ={"AM_KEY": "sk-alice"}) as proxy:
        port = proxy.url.split(":")[2].removesuffix("/v1")
        ran = home.launch("codex", "--port", port)
        assert (ran.returncode, ran.stderr) == (
            1,
            (
                f"am-proxy: cannot launch Codex: the AM Proxy at {proxy.url} needs a key: "
                "put it into the environment variable AM_KEY\n"
            ),
        )
        ran = home.launch("codex", "--port", port, environ={"AM_KEY": "sk-bob"})
        assert "does not know the key in the environment variable AM_KEY" in ran.stderr
        ran = home.launch("codex", "--port", port, environ={"AM_KEY": "sk-alice"})
        assert (ran.returncode, home.seen["status"]) == (0, 200)
        assert home.seen["settings"]["model_providers"]["am"]["env_key"] == "AM_KEY"


def test_a_port_of_another_program_is_refused(home: Home, server: SurveyedServer) -> None:
    home.install()
    ran = home.launch("codex", "--upstream", server.url, "--port", str(server.port))
    assert (ran.returncode, ran.stderr) == (
        1,
        (
            f"am-proxy: cannot launch Codex: port {server.port} is used by another program: "
            "leave --port out, or choose another port\n"
        ),
    )


def test_the_demo_is_launched_only_by_its_name(home: Home) -> None:
    home.install()
    ran = home.launch("codex", "--model", "demo")
    assert (ran.returncode, home.seen["catalogue"], home.seen["status"]) == (0, [["demo", None]], 200)
