"""What the log says about upstreams that fail: once for an outage, and once when it is over."""

import logging
from typing import Any

import pytest

from app.turns.upstream_log import QUIET, Asked, UpstreamLog, duration
from app.upstreams.causes import Cause

THERE = Asked("there", "http://127.0.0.1:1/v1")
REFUSED = Cause("refused", "refused the connection")
BUSY = Cause("busy", "answered 429: Slow down")
KEY = Cause("key", "answered 401")


class Lines:
    """The lines of a log whose clock is set by hand."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "am_proxy")
        self._caplog = caplog
        self.now = 0.0
        self.log = UpstreamLog(lambda: self.now)

    def after(self, seconds: float, *causes: Cause | None, asked: Asked = THERE) -> list[str]:
        """The lines about requests that fail for these causes, or are answered, after so many seconds."""
        self.now += seconds
        for cause in causes:
            if cause is None:
                self.log.answered(asked)
            else:
                self.log.failed(asked, cause, "req_1")
        lines = [record.__dict__["words"] for record in self._caplog.records]
        self._caplog.clear()
        return lines


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Lines:
    return Lines(caplog)


STARTS = "upstream there at http://127.0.0.1:1/v1 refused the connection. Is it running?"


def test_an_outage_is_one_line_at_its_begin_and_one_at_its_end(lines: Lines) -> None:
    assert lines.after(0, REFUSED) == [STARTS]
    assert lines.after(100, *[REFUSED] * 39) == []
    lines.now += 80
    assert lines.log.left_alone(THERE) == REFUSED
    assert lines.after(1, None) == [
        "upstream there at http://127.0.0.1:1/v1 answers again after 3 min, 41 requests failed"
    ]
    assert lines.after(1, None) == []


def test_programs_read_the_fields_of_a_line(caplog: pytest.LogCaptureFixture) -> None:
    lines = Lines(caplog)
    lines.log.failed(THERE, REFUSED, "req_1")
    lines.now += 2.04
    lines.log.answered(THERE)
    there: dict[str, Any] = {"upstream": "there", "address": "http://127.0.0.1:1/v1", "kind": "refused"}
    first, second = caplog.records
    assert (first.message, first.levelname, first.__dict__["request_id"]) == ("upstream fails", "WARNING", "req_1")
    assert first.__dict__["fields"] == {**there, "cause": "refused the connection"}
    assert second.message == "upstream answers again"
    assert second.__dict__["fields"] == {
        "upstream": "there", "address": "http://127.0.0.1:1/v1", "seconds": 2.0, "requests": 1,
    }  # fmt: skip


def test_other_causes_and_other_upstreams_have_lines_of_their_own(lines: Lines) -> None:
    other = Asked("other", "")
    assert lines.after(0, REFUSED, KEY) == [STARTS, "upstream there at http://127.0.0.1:1/v1 answered 401."]
    assert lines.after(0, REFUSED, asked=other) == ["upstream other refused the connection. Is it running?"]
    assert lines.after(5, None, asked=other) == ["upstream other answers again after 5 s, 1 request failed"]
    assert lines.after(0, None) == [
        "upstream there at http://127.0.0.1:1/v1 answers again after 5 s, 2 requests failed"
    ]


def test_an_upstream_that_fails_with_every_second_request_gives_few_lines(lines: Lines) -> None:
    """It serves one model, and fails with another."""
    seen = [line for _ in range(600) for line in lines.after(1, REFUSED, None)]
    assert len(seen) <= 2 * (600 / QUIET + 1)
    assert f"{STARTS} (59 requests more failed so since the last warning)" in seen


def test_a_cause_that_depends_on_the_request_is_logged_again_after_a_while(lines: Lines) -> None:
    """It does not end, and no answer ends it."""
    busy = "upstream there at http://127.0.0.1:1/v1 answered 429: Slow down."
    assert lines.after(0, BUSY, BUSY, None, BUSY) == [busy]
    assert lines.after(QUIET, BUSY) == [f"{busy} (2 requests more failed so since the last warning)"]
    assert lines.after(QUIET, BUSY) == [busy]


def test_a_callers_own_key_is_no_outage(lines: Lines) -> None:
    theirs = THERE._replace(callers_key=True)
    assert len(lines.after(0, KEY, KEY, None, asked=theirs)) == 1


def test_a_request_that_is_refused_is_no_failure(lines: Lines) -> None:
    assert lines.after(0, Cause("request", "answered 400: too warm")) == []


def test_nothing_is_known_of_an_upstream_that_is_not_configured_any_more(lines: Lines) -> None:
    lines.after(0, REFUSED)
    lines.log.follow({"other"})
    assert lines.after(1, None) == []
    assert lines.log.left_alone(THERE) is None


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (180, "3 min"), (7440, "2 h 4 min")])
def test_a_duration_is_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_the_upstream_of_the_flag_has_no_name_of_its_own(lines: Lines) -> None:
    given = Asked("upstream", "http://127.0.0.1:1/v1")
    assert lines.after(0, REFUSED, asked=given) == [STARTS.replace("upstream there", "upstream")]
