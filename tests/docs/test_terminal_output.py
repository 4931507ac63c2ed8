"""What pages show of a terminal is what a person sees there. Times and the port of the server differ."""

import re
from pathlib import Path

from tests.docs.snippets import FENCED
from tests.support.doctor_failures import CALLS, SAYS
from tests.support.running import ROOT
from tests.support.surveyed_server import SurveyedServer, ollama, shown
from tests.support.terminal import am_proxy, terminal
from tests.wire.servers import Ask, Json, Status, Step

TINY: dict[str, Json] = {"tinyllama": shown("llama", 2048), "qwen3:8b": shown("qwen3", 40_960, "tools", "thinking")}


def script(ask: Ask) -> list[Step]:
    if "tools" not in ask.body:
        return list(SAYS)
    no_tools = Status(400, {"error": {"message": f"{ask.body['model']} does not support tools"}})
    return [no_tools] if ask.body["model"] == "tinyllama" else list(CALLS)


def plain(text: str, port: int = 11434) -> str:
    """The text with the usual port, and without times."""
    return re.sub(r"\b\d+ ms", "N ms", text.replace(f":{port}", ":11434").replace(f"port {port}", "port 11434")).strip()


def block(page: str, start: str) -> str:
    """The block of this page that starts so, as `plain` makes it."""
    texts = [found[3] for found in FENCED.finditer((ROOT / page).read_text())]
    (text,) = (text for text in texts if text.startswith(start))
    return plain(text.removeprefix(start))


def test_pages_show_what_is_printed(tmp_path: Path) -> None:
    with SurveyedServer(ollama(TINY), script) as server:
        command = ["doctor", "--upstream", f"http://127.0.0.1:{server.port}/v1"]
        environ = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        with terminal(am_proxy(*command), folder=tmp_path, columns=100, environ=environ) as seen:
            assert seen.wait() == 0
    assert plain(seen.text, server.port) == block(
        "docs/troubleshooting.md", f"$ am-proxy {plain(' '.join(command), server.port)}\n"
    )
