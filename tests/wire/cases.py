"""Cases: each is a model `case-NAME` of a generated configuration, and its upstream is `…/scripted/case-NAME`.

A case says in `case.toml` what it needs beside `via = "chat"`: `[upstream]` and `[model]` for itself; any other table
(`[server]`, `[search]`, …) for its whole process, which it shares with all cases that need the same. Cases over litellm
have processes of their own.
"""

import asyncio
import json
import threading
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import httpx

from tests.wire.comparison import lines
from tests.wire.configuration import Settings
from tests.wire.ports import listening
from tests.wire.program import serving
from tests.wire.seals import SEAL_KEY
from tests.wire.servers import AnthropicUpstream, Ask, ChatUpstream, GeminiUpstream, ResponsesUpstream, ScriptedUpstream
from tests.wire.servers.server import Connection, serve

Json = dict[str, Any]

HERE: Final = Path(__file__).parent
ERRORS: Final = HERE / "errors.jsonl"
FORMATS: Final[dict[str, type[ScriptedUpstream]]] = {
    "chat": ChatUpstream,
    "messages": AnthropicUpstream,
    "responses": ResponsesUpstream,
    "litellm anthropic": AnthropicUpstream,
    "litellm gemini": GeminiUpstream,
    "litellm openai": ChatUpstream,
}
"""The wire format of an upstream, by its `via`, and over litellm by its provider."""


class Case(NamedTuple):
    """One case."""

    name: str
    upstream: Json
    model: Json
    shared: Json
    """The tables of its process."""

    @property
    def via(self) -> str:
        """How its upstream is asked."""
        return str(self.upstream.get("via", "chat"))

    @property
    def format(self) -> type[ScriptedUpstream]:
        """The wire format of its upstream."""
        return FORMATS[f"{self.via} {self.upstream['provider']}" if self.via == "litellm" else self.via]

    @property
    def process(self) -> str:
        """Equal for cases that share a process."""
        return json.dumps([self.shared, self.via == "litellm"], sort_keys=True)

    @classmethod
    def of(cls, name: str, told: Json) -> Self:
        """A case with these tables."""
        shared = {table: held for table, held in told.items() if table not in {"upstream", "model"}}
        return cls(f"case-{name}", told.get("upstream", {}), told.get("model", {}), shared)


def case_of(folder: Path) -> Case:
    """The case of a folder."""
    file = folder / "case.toml"
    told = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if folder.parent.name == "transcripts":  # also a failure before the first payload is told in a stream
        told["server"] = {"first_payload_wait": 0, "max_body_bytes": 16384, **told.get("server", {})}
        told["model"] = {"name": "upstream-model", **told.get("model", {})}
    return Case.of(folder.name, told)


def folders(kind: str, needed: Iterable[str]) -> list[Path]:
    """The folders of this kind of case. Raises an error if one of them lacks a file."""
    found = sorted(folder for folder in (HERE / kind).iterdir() if folder.is_dir())
    for folder in found:
        missing = [name for name in needed if not (folder / name).is_file()]
        if missing:
            raise FileNotFoundError(f"tests/wire/{kind}/{folder.name} has no {', '.join(missing)}")
    return found


def all_cases() -> Iterator[Case]:
    """The cases of all folders, and of the rows of errors."""
    yield from map(case_of, folders("transcripts", ["request.json", "ask.json", "upstream.jsonl", "events.jsonl"]))
    yield from map(case_of, folders("exchanges", ["exchange.jsonl"]))
    tables: Json = {"": {}}
    for row in lines(ERRORS):
        if "tables" in row:
            tables[row["process"]] = row["tables"]
        else:
            told = {**tables[row.get("process", "")], **row.get("case", {})}
            told["model"] = {"name": "upstream-model", **told.get("model", {})}
            yield Case.of(f"error-{row['name']}", told)


class Stage:
    """One socket on which the upstreams of all cases are played, and the configurations of the programs before it."""

    def __init__(self) -> None:
        self.cases = {case.name: case for case in all_cases()}
        self.client = httpx.Client(timeout=30, trust_env=False)
        self._playing: dict[str, ScriptedUpstream] = {}
        self._texts: dict[str, str] = {}
        self._imported: set[str] = set()
        """The addresses of programs that have imported litellm."""
        self._socket = listening()
        self._loop = asyncio.new_event_loop()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def base_url(self, case: Case) -> str:
        """Where the upstream of a case is."""
        return f"{self.url}/scripted/{case.name}{case.format.base_path}"

    def configuration(self, case: Case) -> str:
        """The configuration of the process that serves this case, and all cases that share it."""
        if "models" in case.shared:
            return self._text_of_its_own(case)
        if case.process not in self._texts:
            self._texts[case.process] = self._text(case)
        return self._texts[case.process]

    def _text(self, case: Case) -> str:
        together = [each for each in self.cases.values() if each.process == case.process]
        return Settings(
            server={"watch": 0, **case.shared.get("server", {})},
            seal={"keys": [SEAL_KEY]},
            **{table: held for table, held in case.shared.items() if table != "server"},
            upstreams={each.name: self._upstream(each) for each in together},
            models={each.name: {"upstream": each.name, **each.model} for each in together},
        )

    def _upstream(self, case: Case) -> Json:
        key = None if case.via in {"chat", "responses"} else "sk-case"
        return {"via": "chat", "retries": 0, "base_url": self.base_url(case), "api_key": key, **case.upstream}

    def _text_of_its_own(self, case: Case) -> str:
        """The configuration of a case that tells all its upstreams and models itself."""
        upstreams = {name: {"base_url": self.base_url(case), **told} for name, told in case.shared["upstreams"].items()}
        return Settings(**{**case.shared, "upstreams": upstreams})

    @contextmanager
    def playing(
        self, case: Case, upstream: ScriptedUpstream, addresses: Mapping[str, str] | None = None
    ) -> Iterator[str]:
        """The address of the program while this upstream is that of the case. `addresses`: of other servers."""
        text = self.configuration(case)
        for name, address in (addresses or {}).items():
            text = text.replace(name, address)
        try:
            with serving(text) as url:
                if case.via == "litellm" and url not in self._imported:  # else the stream begins before its warnings
                    self.client.post(f"{url}/v1/responses", json={"model": case.name, "input": "Hi"})
                    self._imported.add(url)
                self._playing[case.name] = upstream
                yield url
        finally:
            self._playing.pop(case.name, None)
        assert upstream.may_violate or not upstream.violations, upstream.violations

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        made = self._loop.create_server(lambda: Connection(self._serve), sock=self._socket)
        self._loop.run_until_complete(made)
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer, self._find)

    def _find(self, ask: Ask) -> ScriptedUpstream | None:
        """The upstream of the case that a path names. The rest of the path is what that upstream is asked."""
        _, _, path = ask.path.partition("/scripted/")
        name, _, rest = path.partition("/")
        ask.path = f"/{rest}"
        return self._playing.get(name)
