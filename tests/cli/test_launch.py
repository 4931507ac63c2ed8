"""`am-proxy launch`, with a scripted program in the place of the agent."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.running import surroundings
from tests.support.script import text_turn
from tests.support.servers import Status
from tests.support.surveyed_server import SurveyedServer, chats, listing, ollama, shown, vllm
from tests.support.terminal import am_proxy, terminal

AGENT: Final = """\
#!{python}
import http.client, json, os, pathlib, signal, sys, time, tomllib
if sys.argv[1:] == ["--version"]:
    print("codex-cli {version}")
    sys.exit()
flags = dict(word.split("=", 1) for before, word in zip(sys.argv, sys.argv[1:]) if before == "-c")
settings = tomllib.loads("\\n".join(f"{{name}} = {{value}}" for name, value in flags.items()))
server = settings["model_providers"]["am"]
catalogue = json.loads(pathlib.Path(settings["model_catalog_json"]).read_text())
seen = {{
    "arguments": [word for before, word in zip(sys.argv, sys.argv[1:]) if "-c" not in (before, word)],
    "settings": settings,
    "catalogue": [(entry["slug"], entry.get("context_window")) for entry in catalogue["models"]],
    "words": sys.argv,
    "environ": dict(os.environ),
    "input": sys.stdin.read() if "read" in sys.argv else None,
}}
host = server["base_url"].removeprefix("http://").removesuffix("/v1")
headers = {{"Content-Type": "application/json"}}
if "env_key" in server:
    headers["Authorization"] = "Bearer " + os.environ[server["env_key"]]
connection = http.client.HTTPConnection(host)
connection.request("POST", "/v1/responses", json.dumps({{"model": settings["model"], "input": "Hi"}}), headers)
answer = connection.getresponse()
seen["status"], seen["answer"] = answer.status, json.loads(answer.read())
pathlib.Path(os.environ["SEEN"]).write_text(json.dumps(seen))
print("the agent is running")
sys.stdout.flush()
{ending}
"""
WAITS: Final = """
def stop(number, _):
    print("the agent got", number)
    sys.exit(40 + number)
for number in (1, 2, 15):
    signal.signal(number, stop)
open(os.environ["SEEN"] + ".waits", "w").close()
time.sleep(60)
"""
"""It ends when a signal comes."""
MODELS: Final = {
    "words:4b": shown("gemma", 131_072),
    "small:1b": shown("qwen3", 8_192, "tools"),
    "coder:8b": shown("qwen3", 40_960, "tools"),
    "seer:30b": shown("qwen3", 131_072, "tools", "vision"),
}


class Home:
    """A user's machine: a home, a working folder, and the agent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.bin = folder / "bin"
        self.seen_file = folder / "seen.json"
        self.cache = folder / "home" / ".cache" / "am-proxy" / "launch"
        for made in (self.work, self.bin, folder / "home" / ".codex"):
            made.mkdir(parents=True)
        (folder / "home" / ".codex" / "config.toml").write_text('model = "gpt"\n')

    def install(self, ending: str = "", *, name: str = "codex", version: str = "0.169.0") -> None:
        """Put the agent on the path."""
        program = self.bin / name
        program.write_text(AGENT.format(python=sys.executable, version=version, ending=ending))
        program.chmod(0o755)

    @property
    def environ(self) -> dict[str, str]:
        """The environment for the command."""
        path = f"{self.bin}:/usr/bin:/bin"
        return surroundings({"HOME": str(self.folder / "home"), "PATH": path, "SEEN": str(self.seen_file)})

    @property
    def seen(self) -> dict[str, Any]:
        """What the agent was given, and the answer it got."""
        result: dict[str, Any] = json.loads(self.seen_file.read_text())
        return result

    def files(self) -> dict[str, str]:
        """All files in the home, with their contents."""
        home = self.folder / "home"
        return {str(file.relative_to(home)): file.read_text() for file in home.rglob("*") if file.is_file()}

    def launch(self, *words: str, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """The command to its end."""
        return subprocess.run(
            am_proxy("launch", *words),
            cwd=self.work,
            env=self.environ | dict(environ or {}),
            input="piped in",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


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
    context = "40,960 tokens of context"
    where = provider["base_url"]
    assert ran.stderr == f"am-proxy: Codex with coder:8b ({context}); 2 more in its menu, through {where}\n"
    assert home.files() == before
    assert list(home.cache.iterdir()) == []


def test_a_named_model_is_the_one_it_starts_with(home: Home, server: SurveyedServer) -> None:
    home.install()
    ran = home.launch("codex", "--upstream", server.url, "--model", "seer:30b")
    assert (ran.returncode, home.seen["settings"]["model"]) == (0, "seer:30b")
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


def test_this_machine_is_not_asked_through_a_proxy(home: Home, server: SurveyedServer) -> None:
    home.install()
    given = {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.0/8,intra.net"}
    assert home.launch("codex", "--upstream", server.url, environ=given).returncode == 0
    assert home.seen["environ"]["NO_PROXY"] == "127.0.0.0/8,intra.net,127.0.0.1"


NO_MODELS: Final = chats(models=listing())
DEAF: Final = vllm("qwen", 131_072)
CROWDED: Final = ollama({"words:4b": shown("gemma", 131_072)})


@pytest.mark.parametrize(
    ("pages", "words", "said"),
    [
        (
            ollama(MODELS),
            ["--model", "coder:7b"],
            "there is no model 'coder:7b' (did you mean coder:8b?): words:4b, small:1b, coder:8b, seer:30b",
        ),
        (
            ollama(MODELS),
            ["--model", "words:4b"],
            (
                "the model words:4b calls no tools, and Codex needs them; "
                "choose another with --model: small:1b, coder:8b, seer:30b"
            ),
        ),
        (CROWDED, [], "the model words:4b calls no tools, and Codex needs them; none of its models does"),
        (
            vllm("qwen", 16_384),
            [],
            (
                "the context of qwen is 16,384 tokens, and Codex needs about 32,000: start vLLM with "
                "--max-model-len 32768; --model qwen tries it all the same."
            ),
        ),
        (NO_MODELS, [], "--upstream URL lists no models: load one there, or name one with --model."),
        (
            {path: Status(401, {"error": {"message": "no"}}) for path in ("/v1/models",)},
            [],
            "--upstream URL: It needs an API key.",
        ),
    ],
    ids=["unknown model", "no tools", "none has tools", "short context", "no models", "a key is needed"],
)
def test_what_is_missing_is_said_before_the_agent_starts(
    home: Home, pages: Mapping[str, Any], words: Sequence[str], said: str
) -> None:
    home.install()
    with SurveyedServer(pages) as server:
        ran = home.launch("codex", "--upstream", server.url, *words)
        said = said.replace("URL", server.url)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"am-proxy: cannot launch Codex: {said}\n")
    assert not home.seen_file.exists()


def test_an_agent_that_is_missing_or_too_old_is_named_with_the_command_that_installs_it(
    home: Home, server: SurveyedServer
) -> None:
    ran = home.launch("opencode", "--upstream", server.url)
    assert (ran.returncode, ran.stderr) == (
        1,
        (
            "am-proxy: cannot launch opencode: the command opencode is not installed; "
            "install it with: npm install --global opencode-ai\n"
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


def test_without_a_configuration_it_says_what_to_give(home: Home) -> None:
    home.install()
    ran = home.launch("codex")
    assert ran.returncode == 1
    assert ran.stderr.startswith("am-proxy: cannot launch Codex: no model is configured: add --upstream URL")
    ran = home.launch("codex", "--upstream", "http://127.0.0.1:9/v1")
    assert (ran.returncode, ran.stderr) == (
        1,
        "am-proxy: cannot launch Codex: --upstream http://127.0.0.1:9/v1: Nothing listens on 127.0.0.1 port 9.\n",
    )
    ran = home.launch("codex", "--port", "x")
    assert (ran.returncode, "--port" in ran.stderr) == (2, True)


def test_a_log_with_problems_is_kept_and_named(home: Home) -> None:
    """For a week."""
    home.install()
    with SurveyedServer(ollama(MODELS), [Status(500, {"error": {"message": "Boom"}})]) as server:
        ran = home.launch("codex", "--upstream", server.url)
    assert (ran.returncode, home.seen["status"]) == (0, 502)
    log = Path(ran.stderr.rstrip().rpartition("am-proxy: there were problems; the log of the server is ")[2])
    assert (log.parent.parent, "status=502" in log.read_text()) == (home.cache, True)
    assert [file.name for file in log.parent.iterdir()] == ["server.log"]
    week_ago = time.time() - 8 * 86_400
    os.utime(log.parent, (week_ago, week_ago))
    home.launch("codex", "--upstream", "http://127.0.0.1:9/v1")
    assert log.exists()  # nothing was started
    with SurveyedServer(ollama(MODELS), text_turn("Hello")) as server:
        home.launch("codex", "--upstream", server.url)
    assert not log.parent.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_reach_the_agent_and_its_exit_code_is_returned(
    home: Home, server: SurveyedServer, number: signal.Signals
) -> None:
    home.install(WAITS)
    with subprocess.Popen(
        am_proxy("launch", "codex", "--upstream", server.url),
        cwd=home.work,
        env=home.environ,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that there is no terminal, which would send Ctrl-C to both
    ) as process:
        wait_for(Path(f"{home.seen_file}.waits"))
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 40 + number
    assert out == f"the agent is running\nthe agent got {int(number)}\n"


def test_an_agent_that_is_killed_ends_the_command_as_in_a_shell(home: Home, server: SurveyedServer) -> None:
    home.install("os.kill(os.getpid(), 9)")
    assert home.launch("codex", "--upstream", server.url).returncode == 137


def test_the_server_dies_with_the_command_however_that_ends(home: Home, server: SurveyedServer) -> None:
    home.install(WAITS)
    with subprocess.Popen(
        am_proxy("launch", "codex", "--upstream", server.url),
        cwd=home.work,
        env=home.environ,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        wait_for(Path(f"{home.seen_file}.waits"))
        process.kill()
        process.wait()
    port = int(home.seen["settings"]["model_providers"]["am"]["base_url"].split(":")[2].removesuffix("/v1"))
    try:
        assert not listens(port)
    finally:
        os.killpg(process.pid, 9)  # the agent


def test_ctrl_c_on_a_terminal_ends_both_and_the_agent_gets_it_once(home: Home, server: SurveyedServer) -> None:
    home.install(WAITS)
    with terminal(
        am_proxy("launch", "codex", "--upstream", server.url), folder=home.work, environ=home.environ
    ) as seen:
        seen.wait_for("the agent is running")
        wait_for(Path(f"{home.seen_file}.waits"))
        seen.type("\x03")
        assert seen.wait() == 42
    assert seen.text.count("the agent got 2") == 1
    assert seen.text.startswith("am-proxy: Codex with coder:8b (40,960 tokens of context); 2 more in its menu")


def test_the_terminal_is_given_back_as_it_was(home: Home, server: SurveyedServer) -> None:
    """An agent that draws its own screen is killed; the shell behind it has echo, and its own screen."""
    home.install(
        "import tty\ntty.setraw(0)\nsys.stdout.write('\\x1b[?1049h\\x1b[?25l\\x1b[?2004h')\nsys.stdout.flush()\n"
        "os.kill(os.getpid(), 9)"
    )
    launched = " ".join(f"'{word}'" for word in am_proxy("launch", "codex", "--upstream", server.url))
    with terminal(["sh", "-c", f"{launched}; stty -a; echo done"], folder=home.work, environ=home.environ) as seen:
        seen.wait_for("done")
    assert " icanon " in seen.text.replace("\n", " ")
    assert (b"\x1b[?1049l" in seen.raw, b"\x1b[?25h" in seen.raw, b"\x1b[?2004l" in seen.raw) == (True, True, True)


def wait_for(file: Path) -> None:
    """Until it is there."""
    deadline = time.monotonic() + 30
    while not file.exists():
        assert time.monotonic() < deadline, f"{file} did not come"
        time.sleep(0.02)


def listens(port: int) -> bool:
    """Whether anything takes connections there."""
    import socket  # noqa: PLC0415

    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
