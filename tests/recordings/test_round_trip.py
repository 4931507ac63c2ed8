"""What is recorded of any provider is replayed without a difference: an agent's loop of two turns with thoughts."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.cli.replayed_turn import differences
from app.recordings.folders import folders_in
from app.recordings.reading import read
from app.settings import Server
from tests.support.provider_lanes import LANES, RELAYED, wired
from tests.wire.servers import Calls, Says, Thinks

EVERY = {**LANES, **RELAYED}
TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two turns with each provider, recorded."""
    folder = tmp_path_factory.mktemp("all") / "recordings"
    with wired(EVERY, server=Server(record=str(folder))) as server:
        for name, wire in server.wires.items():
            wire.say([Thinks("Let me see."), Calls("get_weather", '{"city": "Rome"}')], [Says("It is "), Says("fine.")])
            body: dict[str, Any] = {
                "model": name, "stream": True, "tools": [TOOL], "include": ["reasoning.encrypted_content"],
                "input": [{"role": "user", "content": "The weather in Rome?"}], "reasoning": {"effort": "low"},
            }  # fmt: skip
            first = httpx.post(f"{server.url}/v1/responses", json=body | {"stream": False}, timeout=30).json()
            call = next(item for item in first["output"] if item["type"] == "function_call")
            output = {"type": "function_call_output", "call_id": call["call_id"], "output": "fine"}
            body["input"] += [*first["output"], output]
            httpx.post(f"{server.url}/v1/responses", json=body, timeout=30).raise_for_status()
    return folder


@pytest.mark.parametrize("name", EVERY)
def test_a_loop_with_each_provider(name: str, folder: Path) -> None:
    found = [recording for recording in map(read, folders_in(folder)) if recording.about.model == name]
    assert [recording.about.outcome["finish"] for recording in found] == ["completed", "completed"]
    for recording in found:
        assert asyncio.run(differences(recording)) == []
