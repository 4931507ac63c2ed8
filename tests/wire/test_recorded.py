"""A turn on disk becomes a case that says the same."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.deploy.program import soon, started
from tests.support.case import make_case
from tests.wire import test_exchanges
from tests.wire.cases import HERE, Stage, case_of
from tests.wire.comparison import lines
from tests.wire.configuration import Settings
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import AnthropicUpstream, ChatUpstream, ScriptedUpstream, Status

KEY = "sk-proj-a1b2c3d4e5f6g7h8"
BUSY = Status(503, {"error": {"message": "All workers are busy."}}, {"retry-after": "0"})
BROKEN = Status(400, {"error": {"message": f"no such thing: {KEY}"}})
CLAUDE = lines(HERE / "transcripts" / "messages-begin-and-end-with-the-user" / "upstream.jsonl")
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
LAPSED = Status(401, {"error": {"message": "no such key"}})


@pytest.mark.parametrize(
    ("upstreams", "key", "stream"),
    [
        (lambda: {"chat": ChatUpstream([BUSY], call_turn("f", "{}"))}, KEY, True),
        (lambda: {"chat": ChatUpstream(text_turn("Hello ", "👋"))}, KEY, False),
        (lambda: {"chat": ChatUpstream([BROKEN])}, KEY, True),
        (lambda: {"chat": ChatUpstream([LAPSED])}, None, False),
        (lambda: {"messages": AnthropicUpstream(CLAUDE)}, KEY, True),
        (lambda: {"chat": ChatUpstream([LAPSED]), "messages": AnthropicUpstream(CLAUDE)}, KEY, True),
    ],
    ids=["a retry", "whole", "refused", "an address in a message", "messages", "another API"],
)
def test_a_recorded_turn_is_a_case(
    upstreams: Callable[[], dict[str, ScriptedUpstream]], key: str | None, *, stream: bool, tmp_path: Path
) -> None:
    folder, case = tmp_path / "turns", tmp_path / "exchanges" / "recorded"
    with ExitStack() as stack:
        tables = {
            via: {"via": via, "api_key": key, "base_url": stack.enter_context(server).url}
            for via, server in upstreams().items()
        }
        models = {"my-model": {"upstreams": [*tables]}}
        text = Settings(server={"record": str(folder)}, upstreams=tables, models=models)
        with started(tmp_path, text) as server:
            body = {"model": "my-model", "input": f"Hi, {KEY}", "tools": [TOOL], "stream": stream}
            httpx.post(f"{server.url}/responses", json=body, timeout=30)
            assert soon(lambda: any(folder.glob("*.json")))
    make_case(next(folder.glob("*.json")), case)
    written = (case / "exchange.jsonl").read_text()
    assert "sk-proj" not in written
    stage = Stage()
    stage.cases = {"case-recorded": case_of(case)}
    test_exchanges.test_everything_is_said_as_the_exchange_has_it(case, stage, None)
    assert '"Hi' in written
