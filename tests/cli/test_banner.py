"""What `am-proxy serve` says when it is ready: to people on a terminal, to programs as JSON."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.support.surveyed_server import SAYS, SurveyedServer, ollama, shown
from tests.support.terminal import surroundings, terminal

SERVE = [sys.executable, "-m", "app", "serve", "--port", "0"]
QWEN = {"qwen3:8b": shown("qwen3", 40_960, "tools")}
KEYS = (
    '[[keys]]\nname = "alice"\nvalue = "sk-alice"\n[upstreams.demo]\nvia = "demo"\n[models.tiny]\nupstream = "demo"\n'
)


@pytest.mark.parametrize("keys", [False, True], ids=["open", "keys"])
def test_a_terminal_shows_a_request_that_works(tmp_path: Path, *, keys: bool) -> None:
    with SurveyedServer(ollama(QWEN), SAYS) as upstream:
        if keys:
            (tmp_path / "am-proxy.toml").write_text(KEYS)
        flags = [] if keys else ["--upstream", upstream.root]
        with terminal([*SERVE, *flags], folder=tmp_path, columns=80) as screen:
            screen.wait_for("Content-Type")
            screen.wait_for("Hello!\"}'")
            text = screen.text
            url = re.search(r"is ready: (http://\S+)", text)[1]  # type: ignore[index]
            facts = dict(re.findall(r"^  (models|keys|watch) +(.*)$", text, re.MULTILINE))
            curl = ["sh", "-c", text[text.index("  curl ") : text.index('!"}') + 4]]
            if keys:
                assert facts == {"models": "tiny", "keys": "needed: that of alice", "watch": url.removesuffix("v1")}
            else:
                assert f"{upstream.root}/v1 is asked by chat completions (ollama)." in text.replace("\n", "")
                assert facts == {
                    "models": f"qwen3:8b, any other name (sent to {upstream.root}/v1)",
                    "keys": "none needed: only this machine can call",
                    "watch": url.removesuffix("v1"),
                }
            answer = subprocess.run(
                curl, capture_output=True, env=surroundings({"AM_KEY": "sk-alice"}), timeout=30, check=True
            ).stdout
            assert json.loads(answer)["status"] == "completed"


def test_a_server_ends_with_its_terminal(tmp_path: Path) -> None:
    with terminal(SERVE, folder=tmp_path) as screen:
        screen.wait_for("watch   ")
        url = re.search(r"watch +(http://\S+/)", screen.text)[1]  # type: ignore[index]
        with urlopen(f"{url}health/ready", timeout=30):
            screen.process.send_signal(signal.SIGHUP)
        screen.wait_for("configuration reloaded")
        screen.close()
        screen.process.wait(30)


def test_every_line_for_a_program_is_json(tmp_path: Path) -> None:
    with (
        SurveyedServer(ollama(QWEN), SAYS) as upstream,
        subprocess.Popen(
            [*SERVE, "--upstream", upstream.root],
            cwd=tmp_path,
            env=surroundings(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.terminate()
        lines += map(json.loads, process.stdout)
    assert lines[0]["message"] == f"{upstream.root}/v1 is asked by chat completions (ollama)."
    assert (lines[1]["message"], lines[1]["url"].startswith("http://127.0.0.1:")) == ("ready", True)
