"""Messages between a supervisor and a worker."""

import pytest

from app.settings import Secret, Settings, Upstream
from app.workers.control_channel import GoneError, Reload, Reloaded, Stop, pair


def test_settings_arrive_whole_with_their_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.workers.control_channel._PIECE", 1000)
    one, other = pair()
    upstream = Upstream(via="chat", base_url="http://127.0.0.1:1", api_key=Secret("sk-" + "x" * 10_000))
    settings = Settings(upstreams={"it": upstream})
    assert other.receive() == []
    one.send(Reload(settings))
    one.send(Stop(1.5))
    found: list[object] = []
    while len(found) < 2:
        messages = other.receive()
        assert messages is not None
        found += messages
    assert found == [Reload(settings), Stop(1.5)]
    assert isinstance(found[0], Reload)
    key = found[0].settings.upstreams["it"].api_key
    assert key is not None
    assert key.reveal() == "sk-" + "x" * 10_000
    one.close()
    assert other.receive() is None
    with pytest.raises(GoneError):
        other.send(Reloaded())
    other.close()


def test_who_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.workers.control_channel.WAIT", 0.05)
    one, other = pair()
    settings = Settings(file="x" * 10_000_000)
    with pytest.raises(GoneError):
        one.send(Reload(settings))
    one.close()
    other.close()
