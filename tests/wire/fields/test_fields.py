"""Every member that the `openai` package knows: each lane honours it, passes it on, warns of it or refuses it."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

import pytest

from tests.wire.fields.field_samples import ELSEWHERE, MEMBERS, TABLE, Case, cases
from tests.wire.fields.lanes import Lane, Outcome, is_about, open_lanes, place_of
from tests.wire.fields.quiet_fields import REASONS, reason
from tests.wire.web_site import PDF, Site, page

pytestmark = pytest.mark.timeout(300)
"""The first test sends all requests: 1,900."""
T = TypeVar("T")
Rows = Sequence[tuple[Case, Sequence[Outcome]]]


@pytest.fixture(scope="module")
def lanes() -> Iterator[list[Lane]]:
    with open_lanes() as opened:
        yield opened


@pytest.fixture(scope="module")
def rows(lanes: list[Lane]) -> Iterator[Rows]:
    """The outcomes in each lane; a link to a file leads to one."""
    with Site({"/a.pdf": page(PDF, kind="application/pdf")}) as site:
        sent = [case for case in cases(f"{site.url}/a.pdf") if not case.frame]
        found = in_each(lanes, lambda lane: [lane.outcome(case) for case in sent])
        yield list(zip(sent, zip(*found, strict=True), strict=True))


def in_each(lanes: list[Lane], work: Callable[[Lane], T]) -> list[T]:
    """The lanes work side by side."""
    with ThreadPoolExecutor(len(lanes)) as pool:
        return list(pool.map(work, lanes))


def test_the_table_says_what_each_lane_does(lanes: list[Lane], rows: Rows, blessed: Path | None) -> None:
    words = {case.name: [outcome.word for outcome in outcomes] for case, outcomes in rows}
    words |= {case.name: sorted({lane.frame(case) for lane in lanes}) for case in cases() if case.frame}
    table = [f"{name}: {', '.join(each)}" for name, each in words.items()]
    if blessed == TABLE.parent:
        TABLE.write_text("\n".join([*table, ""]))
    told = {line.rpartition(": ")[0]: line for line in TABLE.read_text().splitlines()}
    changed = list(unified_diff(list(told.values()), table, lineterm="", n=0))
    assert changed == [], "\n".join(changed)


def test_a_strict_server_refuses_what_has_a_warning(lanes: list[Lane], rows: Rows) -> None:
    def check(lane: Lane) -> None:
        for case, outcomes in rows:
            word, sentence, _ = outcomes[lanes.index(lane)]
            if word == "warned":
                got = lane.strictly(case)
                assert (got.status, got.asks) == (HTTPStatus.BAD_REQUEST, []), (lane.name, case.name)
                assert got.error["code"] == "unsupported_value"
                assert sentence in got.error["message"], (lane.name, case.name)

    in_each(lanes, check)


def test_a_refusal_or_a_warning_names_what_it_is_about(rows: Rows) -> None:
    """By its name, or by the path of the item, part or tool that holds it."""
    for case, outcomes in rows:
        for word, sentence, param in outcomes:
            if word in {"refused", "warned"}:
                steps = [f"'{step}" for step in case.name.partition(":")[2].split(".")]
                steps += ["'local_shell_call'"] if "local_shell" in case.name else []  # the call before an output
                assert is_about(sentence, case) or any(step in sentence for step in steps), (case.name, sentence)
            if word == "refused":
                member = ".file_id" if case.name.endswith(".file_id") else ""
                assert param == place_of(case) + member, (case.name, param)


def test_whatever_has_no_effect_without_a_warning_has_a_reason(rows: Rows) -> None:
    quiet = {case.name for case, outcomes in rows if "quiet" in {outcome.word for outcome in outcomes}}
    assert [name for name in quiet if not reason(name)] == []
    assert [pattern for pattern in REASONS if not any(re.fullmatch(pattern, name) for name in quiet)] == []


def test_other_specifications_add_only_what_the_package_lacks() -> None:
    known = {json.loads(line)["name"] for line in MEMBERS.read_text().splitlines()}
    assert set(ELSEWHERE) & known == {"item:configuration_update"}
