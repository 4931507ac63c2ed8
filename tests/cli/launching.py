"""A user's machine on which `am-proxy launch` runs, with a scripted program in the place of the agent."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from tests.support.surveyed_server import shown
from tests.support.terminal import surroundings

AGENT: Final = """\
#!{python} -IS
import sys
if sys.argv[1:] == ["--version"]:
    print("codex-cli 0.169.0")
    sys.exit()
import http.client, json, os, pathlib, signal, time, tomllib
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
def post():
    connection.request("POST", "/v1/responses", json.dumps({{"model": settings["model"], "input": "Hi"}}), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())
seen["status"], seen["answer"] = post()
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
        for made in (self.work, self.bin, folder / "home" / ".codex"):
            made.mkdir(parents=True)
        (folder / "home" / ".codex" / "config.toml").write_text('model = "gpt"\n')

    def install(self, ending: str = "") -> None:
        """Put the agent on the path."""
        program = self.bin / "codex"
        program.write_text(AGENT.format(python=sys.executable, ending=ending))
        program.chmod(0o755)

    @property
    def environ(self) -> dict[str, str]:
        """The environment for the command."""
        path = f"{self.bin}:/usr/bin:/bin"
        home = {"HOME": str(self.folder / "home"), "XDG_CONFIG_HOME": ""}
        return surroundings({**home, "PATH": path, "SEEN": str(self.seen_file)})

    @property
    def seen(self) -> dict[str, Any]:
        """What the agent was given, and the answer it got."""
        result: dict[str, Any] = json.loads(self.seen_file.read_text())
        return result

    def files(self) -> dict[str, str]:
        """All files in the home, with their contents."""
        home = self.folder / "home"
        return {str(file.relative_to(home)): file.read_text() for file in home.rglob("*") if file.is_file()}
