"""The Codex CLI, one `codex exec` at a time, set up as docs/codex.md tells a user to.

It needs `node`, and the package where `tests/support/node.py` finds it.
"""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from tests.support.node import NODE

MCP_SERVER: Final = Path(__file__).with_name("weather_mcp.py")
NOWHERE: Final = "http://127.0.0.1:9"
"""An address at which nothing listens."""
CONFIG: Final = """\
model = "{model}"
model_provider = "am"
model_catalog_json = "models.json"

[model_providers.am]
name = "AM Proxy"
base_url = "{url}/v1"
wire_api = "responses"
{provider}

[mcp_servers.weather]
command = "{python}"
args = ["{mcp_server}"]
"""


@dataclass(frozen=True)
class Ran:
    """What one run printed and how it ended."""

    code: int
    events: list[dict[str, Any]]
    stderr: str

    def items(self, kind: str) -> list[dict[str, Any]]:
        """The finished items of one type."""
        result = [event["item"] for event in self.events if event["type"] == "item.completed"]
        return [item for item in result if item["type"] == kind]

    @property
    def said(self) -> list[str]:
        """The texts it shows its user."""
        return [item["text"] for item in self.items("agent_message")]

    @property
    def errors(self) -> list[str]:
        """What it tells its user went wrong."""
        return [event["message"] for event in self.events if event["type"] == "error"]


@dataclass(frozen=True)
class Codex:
    """An installation in a folder of its own: the home with its configuration, and the folder it works in."""

    modules: Path
    folder: Path

    @property
    def work(self) -> Path:
        """Where it runs commands and edits files."""
        return self.folder / "work"

    @property
    def environ(self) -> dict[str, str]:
        """Its environment: nothing of the home of whoever runs the tests."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.folder), "CODEX_HOME": str(self.folder)}

    def set_up(
        self, url: str, model: str, *, provider: str = "", token: str = "none", card: Mapping[str, Any] | None = None
    ) -> None:
        """Write its `config.toml`, and the catalogue that the server gives it, with `card` over every entry."""
        self.work.mkdir(parents=True, exist_ok=True)
        address, headers = f"{url}/v1/models?client_version=0.169.0", {"Authorization": f"Bearer {token}"}
        catalogue = httpx.get(address, headers=headers, timeout=10).raise_for_status().json()
        catalogue["models"] = [{**entry, **(card or {})} for entry in catalogue["models"]]
        (self.folder / "models.json").write_text(json.dumps(catalogue), "utf-8")
        result = CONFIG.format(model=model, url=url, provider=provider, python=sys.executable, mcp_server=MCP_SERVER)
        (self.folder / "config.toml").write_text(result, "utf-8")

    def log_in(self, *, by_address: str = "") -> None:
        """A login to ChatGPT from a local file. Codex uses it with our provider, or with its own at this address."""
        claims = {
            "email": "user@example.com",
            "exp": int(time.time()) + 3600,
            "https://api.openai.com/auth": {"chatgpt_plan_type": "pro", "chatgpt_account_id": "account"},
        }
        pieces = [json.dumps(each).encode() for each in ({"alg": "none", "typ": "JWT"}, claims, "signature")]
        token = ".".join(base64.urlsafe_b64encode(piece).decode().rstrip("=") for piece in pieces)
        tokens = {"id_token": token, "access_token": token, "refresh_token": "none", "account_id": "account"}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        login = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": now}
        (self.folder / "auth.json").write_text(json.dumps(login), "utf-8")
        config = (self.folder / "config.toml").read_text("utf-8")
        if by_address:
            config = config.replace('model_provider = "am"', f'openai_base_url = "{by_address}"')
        else:
            config = config.replace('name = "AM Proxy"', 'name = "OpenAI"\nrequires_openai_auth = true')
        config = config.replace("\n\n", f'\nchatgpt_base_url = "{NOWHERE}/backend-api/"\n\n', 1)
        config += "\n[features]\napps = false\nplugins = false\n\n[analytics]\nenabled = false\n"
        (self.folder / "config.toml").write_text(config, "utf-8")

    def run(
        self,
        prompt: str,
        *flags: str,
        environ: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Ran:
        """`codex exec` to its end. Its sandbox is off: the folder is the test's own."""
        launcher = self.modules / "@openai" / "codex" / "bin" / "codex.js"
        always = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        completed = subprocess.run(
            [NODE, str(launcher), "exec", *always, *flags, "--", prompt],
            cwd=self.work,
            env={**self.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        events = [json.loads(line) for line in completed.stdout.splitlines() if line.startswith("{")]
        return Ran(completed.returncode, events, completed.stderr)
