"""Somebody who answers the questions of `am-proxy init`, what runs on the machine, and what is written."""

import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.cli import init as module
from app.settings import load
from app.upstreams.local_servers import FoundServer
from app.upstreams.model_list import ListedModel
from app.upstreams.survey import Survey

KEYS = dict.fromkeys(("MY_KEY", "OPENAI_API_KEY", "GROQ_API_KEY", "ANTHROPIC_API_KEY"), "a-key")
QWEN = ListedModel("qwen3:8b", 40_960, takes_images=False, calls_tools=True, thinks=True)
HERE = [
    FoundServer("Ollama", Survey("http://127.0.0.1:11434/v1", "ollama", (QWEN,), "chat", "")),
    FoundServer("LM Studio", Survey("http://127.0.0.1:1235/v1", "lmstudio", (ListedModel("m"),), "chat", "")),
]


def found(monkeypatch: pytest.MonkeyPatch, *servers: FoundServer) -> None:
    """From here on, these servers are on this machine."""

    async def local(_: object) -> list[FoundServer]:
        return list(servers)

    monkeypatch.setattr(module, "find_local_servers", local)


class Answers:
    """Somebody who gives these answers, then closes the terminal."""

    def __init__(self, *answers: str) -> None:
        self._left = list(answers)
        self.questions: list[str] = []

    def __call__(self, question: str) -> str:
        self.questions.append(question)
        if not self._left:
            raise EOFError
        return self._left.pop(0)


def written(path: Path = Path("am-proxy.toml")) -> dict[str, Any]:
    """What was written, which can be read."""
    load({"config": str(path)}, KEYS)
    tables = tomllib.loads(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return tables
