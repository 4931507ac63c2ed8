"""The bench's own arithmetic; that it measures, its runs show."""

from pathlib import Path

import pytest

from bench.goals import GOALS, reached
from bench.profile import Profile, Row
from bench.report import write
from bench.targets import COUNTS, PACES, TARGETS
from bench.upstream import FRAMES, OPENING, WORD, Frames
from bench.workloads import MILLION, WAITING, WORKLOADS

FIGURES = dict.fromkeys(
    (
        "us_per_chunk",
        "ms_per_request",
        "chunks_per_second",
        "first_p50_ms",
        "first_p99_ms",
        "kb_per_stream",
        "grown_mb",
        "answered",
        "quiet",
        "rss",
        "peak",
    ),
    2.0,
)
EVERYTHING = {
    work: {target.name: FIGURES for target in TARGETS}
    for work in ("start", *(each.name for each in [*WORKLOADS, MILLION, WAITING]))
}


def test_every_goal_is_about_something_that_is_measured() -> None:
    assert [goal for goal, _ in reached(EVERYTHING)] == list(GOALS)


def test_a_goal_is_left_out_where_its_programs_were_not_at_hand() -> None:
    assert reached({}) == []


def test_bridges_are_told_of_every_model_that_is_asked_for() -> None:
    for work in [*WORKLOADS, MILLION, WAITING]:
        assert work.chunks in COUNTS
        assert work.pace_ms in PACES


def test_a_report_replaces_what_an_earlier_run_found_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("# Words\n\n<!-- measured -->\nold figures\n<!-- measured -->\n\nMore words.\n")
    seen = {"AM Proxy, chat": [Profile("a workload", [Row("uvicorn", 0.5, 2.0)], [Row("send, uvicorn", 0.4, 2.0)])]}
    write(EVERYTHING, seen, tmp_path, missing=["opencodex"], minutes=9.4)
    text = page.read_text()
    assert text.startswith("# Words\n\n<!-- measured -->\n\nMeasured on ")
    assert text.endswith("<!-- measured -->\n\nMore words.\n")
    assert "old figures" not in text
    assert "Not installed: opencodex." in text
    assert "| codex: ms of CPU a request, chat | ≤ 2 | 2.00 | yes |" in text
    assert "| long, fast: chunks a second, chat ÷ httpx copy | ≥ 1.25 | 1.00 | **no** |" in text
    assert "| LiteLLM proxy † |" in text
    assert "| uvicorn | 50% | 2.0 |" in text
    assert (tmp_path / "performance.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("framed", FRAMES.values(), ids=lambda framed: framed.__name__)
def test_every_dialect_says_the_same_words_behind_its_opening_events(framed: Frames) -> None:
    frames = list(framed(3))
    words = [WORD.encode() in frame for frame in frames]
    assert words.index(True) + 1 == OPENING[framed]
    assert words[OPENING[framed] - 1 :][:3] == [True] * 3
