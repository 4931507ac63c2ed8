"""When a chat server that did not count tokens is asked again."""

import pytest

from app.settings import Model, Settings, Upstream
from app.upstreams import counting
from tests.http.transports.counting import NO_PATH, CountingChat, count, counted
from tests.support.serving import serving
from tests.wire.servers import Status


def test_an_address_that_did_not_count_is_asked_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may be a newer one by then."""
    monkeypatch.setattr(counting, "PAUSE", 0)
    answers = iter([NO_PATH, NO_PATH, Status(200, {"input_tokens": 15})])
    with CountingChat(llama=lambda _: [next(answers)]) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        with serving(Settings(upstreams={"up": there}, models={"m": Model(upstream="up")})) as url:
            asked = [counted(count(url))[::2] for _ in "abc"]
    assert asked == [(200, "estimated"), (200, "estimated"), (200, "upstream")]
