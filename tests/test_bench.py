"""The bench's own arithmetic; that it measures, its runs show."""

import json
from pathlib import Path

import pytest

from app.settings import Server
from bench.goals import GOALS, reached
from bench.growth import ITEMS, QUICK_SIZES, SIZES, Cost, exponent, figures
from bench.profile import Profile, Row, read
from bench.report import write
from bench.targets import COUNTS, PACES, TARGETS
from bench.upstream import FRAMES, OPENING, WORD, Frames
from bench.workloads import MILLION, WAITING, WORKLOADS

GROWTH = {
    kind: [Cost(size.name, size.amount, 1 + 2 * size.amount / sizes[2].amount, 10, 2.5) for size in sizes]
    for kind, sizes in SIZES.items()
}
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
        *figures(GROWTH),
    ),
    2.0,
)
EVERYTHING = {
    work: {target.name: FIGURES for target in TARGETS}
    for work in ("start", "growth", *(each.name for each in [*WORKLOADS, MILLION, WAITING]))
}


CORES = dict.fromkeys(("one", "two", "ratio", "busiest", "one_wall", "two_wall"), 1.5)
MEMORY = dict.fromkeys(("2 workers", "2 processes", "4 workers", "4 processes"), 90.0)
WORKERS = {"small": CORES, "chunks": CORES, "memory, chat": MEMORY, "memory, litellm": MEMORY}
EVERYTHING["workers"] = WORKERS


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
    grown = {"AM Proxy, chat": GROWTH}
    write(EVERYTHING, seen, tmp_path, missing=["opencodex"], minutes=9.4, grown=grown)
    text = page.read_text()
    assert text.startswith("# Words\n\n<!-- measured -->\n\nMeasured on ")
    assert text.endswith("<!-- measured -->\n\nMore words.\n")
    assert "old figures" not in text
    assert "Not installed: opencodex." in text
    assert "| million: MB more afterwards, chat | ≤ 2 | 2.00 | yes |" in text
    assert "| 100 kB | 3.00 | 10 | 2.5 |" in text
    assert "| long, fast: chunks a second, chat ÷ httpx copy | ≥ 1.25 | 1.00 | **no** |" in text
    assert "| LiteLLM proxy † |" in text
    assert "| uvicorn | 50% | 2.0 |" in text
    assert "| workers: chunks, two ÷ one | ≥ 1.8 | 1.50 | **no** |" in text
    assert '| 4, `via = "litellm"` | 90 | 90 |' in text
    assert (tmp_path / "performance.svg").read_text().startswith("<svg")


def test_a_profile_counts_looks_by_room_and_by_function(tmp_path: Path) -> None:
    looks = [
        ("/x/site-packages/uvicorn/protocols/http/httptools_impl.py", "send", 60),
        ("/x/app/turns/pump.py", "batches", 30),
        ("/x/app/turns/log.py", "write", 9),
        ("<string>", "<lambda>", 1),
    ]
    (tmp_path / "out").write_text(json.dumps({"seconds": 2.0, "functions": looks}))
    profile = read(tmp_path / "out", WORKLOADS[0], 1000)
    assert profile.about.endswith("(2000 µs a request, 100 looks)")
    assert profile.rooms == [
        Row("uvicorn", 0.6, 1200.0), Row("AM Proxy: turns", 0.39, 780.0), Row("other packages", 0.01, 20.0)
    ]  # fmt: skip
    assert profile.functions[0] == Row("send, uvicorn", 0.6, 1200.0)


@pytest.mark.parametrize("framed", FRAMES.values(), ids=lambda framed: framed.__name__)
def test_every_dialect_says_the_same_words_behind_its_opening_events(framed: Frames) -> None:
    frames = list(framed(3))
    words = [WORD.encode() in frame for frame in frames]
    assert words.index(True) + 1 == OPENING[framed]
    assert words[OPENING[framed] - 1 :][:3] == [True] * 3


@pytest.mark.parametrize("power", [0.5, 1, 2])
def test_the_growth_of_costs_is_measured_without_what_every_request_costs(power: float) -> None:
    costs = [Cost("", size, 0.5 + size**power / 100, 0, 0) for size in (1, 1_000, 10_000, 1_000_000)]
    assert exponent(costs) == pytest.approx(power, abs=0.02)


def test_what_a_quick_run_does_not_send_is_no_goal_of_it() -> None:
    costs = {
        kind: [cost for cost in GROWTH[kind] if cost.name in {size.name for size in sizes}]
        for kind, sizes in QUICK_SIZES.items()
    }
    assert set(figures(GROWTH)) - set(figures(costs)) == {"stall_32mb", "stall_items"}


def test_requests_grow_to_the_limits_of_the_server() -> None:
    server = Server()
    largest = [sizes[-1].request.items for sizes in SIZES.values()]
    assert len(largest[1]) == ITEMS[-1] == server.max_items
    assert 0.99 < len(json.dumps({"input": largest[0]})) / server.max_body_bytes < 0.9999
