import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.settings import Server, Settings
from tests.running import run
from tests.serving import serving

BODY: dict[str, Any] = {"model": "demo", "input": "A secret."}


def lines(caplog: pytest.LogCaptureFixture, settings: Settings) -> list[tuple[str, dict[str, Any]]]:
    with caplog.at_level("INFO", "am_proxy.bodies"), serving(settings) as url:
        httpx.post(f"{url}/v1/responses", json=BODY, headers={"x-request-id": "req-1"})
    records = [record for record in caplog.records if record.name == "am_proxy.bodies"]
    assert {record.__dict__["request_id"] for record in records} <= {"req-1"}
    return [(record.getMessage(), record.__dict__["fields"]) for record in records]


def test_what_was_asked_and_answered_is_written_down_where_somebody_wants_it(caplog: pytest.LogCaptureFixture) -> None:
    asked, answered = lines(caplog, Settings(server=Server(log_bodies=True)))
    assert asked[0] == "asked"
    assert asked[1]["request"] == BODY
    assert asked[1]["ask"]["messages"] == [{"role": "user", "content": "A secret."}]
    assert answered[0] == "answered"
    assert answered[1]["response"]["status"] == "completed"


def test_otherwise_nothing_that_is_said_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert lines(caplog, Settings()) == []
    assert "A secret." not in caplog.text


def test_the_server_warns_of_it_at_its_start(tmp_path: Path) -> None:
    """Here it cannot start, and so ends by itself."""
    flags = ["--log-format", "json", "--host", "256.0.0.1", "--insecure-no-auth"]
    told = run("serve", *flags, folder=tmp_path, environ={"AM_LOG_BODIES": "true"})
    assert json.loads(told.stderr.splitlines()[0])["message"].startswith("log_bodies is on")
