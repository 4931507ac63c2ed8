"""What a reload is made of, without a server."""

import asyncio
import gc
import inspect
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.application import CurrentApplication
from app.cli import reloading_server
from app.cli.listening import listen
from app.cli.reload import NEEDS_RESTART, _waiting
from app.main import build_app, build_http_guard
from app.settings import Settings
from app.settings import server as server_settings
from tests.support.running import ROOT


async def test_what_cannot_be_closed_harms_neither_a_reload_nor_the_last_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def cannot_be_closed() -> None:
        raise OSError

    before = replace(build_app(Settings()), close=cannot_be_closed)
    current = CurrentApplication(before)
    after = build_app(Settings(), before.shared)
    await current.swap(after)
    assert current.application is after
    assert "closing the former configuration failed" in caplog.text


@pytest.mark.parametrize(
    ("failure", "message"),
    [(RuntimeError("a fault of ours"), "a reload failed unexpectedly"), (asyncio.CancelledError(), None)],
)
async def test_a_reload_that_ends_badly_does_not_stop_the_next_one(
    failure: BaseException, message: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """`reload` itself answers for faults of a configuration; this is what remains."""
    settings = [Settings() for _ in range(3)]
    seen: list[Settings] = []
    outcomes: list[BaseException | Settings] = [failure, settings[1], settings[2]]

    async def reload(_: CurrentApplication, before: Settings, __: Callable[[], Settings]) -> Settings:
        seen.append(before)
        await asyncio.sleep(0)
        outcome = outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setattr(reloading_server, "reload", reload)
    monkeypatch.setattr(gc, "unfreeze", lambda: None)  # here it would be all that the tests have loaded
    with listen("127.0.0.1", 0) as listener:
        server = reloading_server.ReloadingServer(build_app(Settings()), settings[0], listener, Settings)
        reloads: list[asyncio.Future[None]] = []
        for _ in outcomes.copy():
            server._reload()
            assert server._reloading is not None
            reloads.append(server._reloading)
        ends = await asyncio.gather(*reloads, return_exceptions=True)
    assert [before is expected for before, expected in zip(seen, [settings[0], *settings[:2]], strict=True)] == [
        True
    ] * 3
    assert [end is None for end in ends] == [message is not None, True, True]
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == (
        [message] if message else []
    )


EVERYTHING: dict[str, Any] = {"strict": True, "max_turns": 7, "websocket_idle": 1, "keep_alive": 1, "watch": 3}
STARTED_WITH: dict[str, Any] = {
    "drain_delay": 1,
    "header_timeout": 1,
    "host": "localhost",
    "max_body_bytes": 4096,
    "max_header_bytes": 4096,
    "port": 1,
    "send_timeout": 1,
    "shutdown_grace": 1,
    "workers": 3,
}


def test_each_setting_that_the_server_was_started_with_is_reported_and_no_other() -> None:
    """Those are what uvicorn and the listening socket were given; whoever gives them more adds to the list."""
    rooms = ("websocket_guard.py", "websocket_options.py")
    files = ("cli/reloading_server.py", "cli/serve.py", *(f"transports/{file}" for file in rooms))
    text = "".join((ROOT / "app" / file).read_text() for file in files)
    text += inspect.getsource(build_http_guard)
    fields = server_settings.Server.model_fields
    given = set(re.findall(r"\bserver\.(\w+)", text)) & set(fields)
    assert given - {"log_format", "log_level", "log_bodies"} == set(NEEDS_RESTART)
    names = ", ".join(f"server.{name}" for name in sorted(NEEDS_RESTART))
    assert _waiting(server_settings.Server(), server_settings.Server(**{**EVERYTHING, **STARTED_WITH})) == (
        f"{names} take effect (in part: max_body_bytes for websockets, send_timeout for HTTP)"
    )
    assert _waiting(server_settings.Server(), server_settings.Server(**EVERYTHING)) == ""
