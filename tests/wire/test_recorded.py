"""A turn on disk becomes a case that says the same."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.deploy.program import config, soon, started
from tests.support.case import make_case
from tests.wire import test_exchanges
from tests.wire.cases import HERE, Stage, case_of
from tests.wire.comparison import lines
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import AnthropicUpstream, ChatUpstream, ScriptedUpstream, Status

BUSY = Status(503, {"error": {"message": "All workers are busy."}}, {"retry-after": "0"})
BROKEN = Status(400, {"error": {"message": "no such thing: sk-proj-a1b2c3d4e5f6g7h8"}})
CLAUDE = lines(HERE / "transcripts" / "messages-begin-and-end-with-the-user" / "upstream.jsonl")
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("upstream", "via", "stream"),
    [
        (lambda: ChatUpstream([BUSY], call_turn("f", "{}")), "chat", True),
        (lambda: ChatUpstream(text_turn("Hello ", "👋")), "chat", False),
        (lambda: ChatUpstream([BROKEN]), "chat", True),
        (lambda: AnthropicUpstream(CLAUDE), "messages", True),
    ],
    ids=["a retry", "whole", "refused", "messages"],
)
def test_a_recorded_turn_is_a_case(
    upstream: Callable[[], ScriptedUpstream], via: str, *, stream: bool, tmp_path: Path
) -> None:
    folder, case = tmp_path / "turns", tmp_path / "exchanges" / "recorded"
    with upstream() as up:
        text = config(up.url, "my-model").replace(
            "base_url", f'via = "{via}"\napi_key = "sk-proj-a1b2c3d4e5f6g7h8"\nbase_url'
        )
        with started(tmp_path, f'[server]\nrecord = "{folder}"\n{text}') as server:
            body = {"model": "my-model", "input": "Hi, sk-proj-a1b2c3d4e5f6g7h8", "tools": [TOOL], "stream": stream}
            httpx.post(f"{server.url}/responses", json=body, timeout=30)
            assert soon(lambda: any(folder.glob("*.json")))
    make_case(next(folder.glob("*.json")), case)
    written = (case / "exchange.jsonl").read_text()
    assert "sk-proj" not in written
    stage = Stage()
    stage.cases = {"case-recorded": case_of(case)}
    test_exchanges.test_everything_is_said_as_the_exchange_has_it(case, stage, None)
    assert '"Hi' in written
