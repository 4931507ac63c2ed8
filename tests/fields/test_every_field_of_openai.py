"""Every member that the `openai` package knows: each lane honours it, passes it on, warns of it or refuses it."""

import json
import subprocess
import tomllib
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

import httpx
import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.conformance.install import PYTHON
from tests.fields import openai_members
from tests.fields.field_lanes import BY_SERVER, LANES, Lane, Outcome
from tests.fields.field_samples import ELSEWHERE, MEMBERS, Case, cases
from tests.fields.fields_page import Row, page
from tests.fields.quiet_fields import REASONS, reason
from tests.support.running import ROOT
from tests.support.script import text_turn
from tests.support.servers import ChatUpstream, ResponsesUpstream
from tests.support.servers.responses import answer
from tests.support.serving import serving
from tests.support.sockets import opened

pytestmark = pytest.mark.xdist_group("litellm")

PAGE: Final = ROOT / "docs" / "fields.md"
TABLE: Final = ROOT / "tests" / "fields" / "outcomes.txt"
"""What each lane does with each member: the table that a change of behaviour changes."""
VERSION: Final[str] = tomllib.loads((ROOT / "tests" / "conformance" / "clients.toml").read_text())["pypi"]["openai"]
CASES: Final = cases()
READ: Final = ("input", "instructions", "messages", "tools", "tool_choice", "temperature", "reasoning")
"""Members of what an upstream is sent that are compared."""


@pytest.fixture(scope="module")
def lanes() -> Iterator[list[Lane]]:
    made = [Lane(name) for name in LANES]
    yield made
    for lane in made:
        lane.close()


@pytest.fixture(scope="module")
def rows(lanes: list[Lane]) -> list[Row]:
    return [Row(case.name, [lane.outcome(case) for lane in lanes]) for case in CASES if not case.frame]


@pytest.mark.skipif(not PYTHON.is_file(), reason="the clients of `make conformance` are not installed")
def test_the_list_of_members_is_that_of_the_package(pytestconfig: pytest.Config) -> None:
    """A member that a new version of the package has gets its row with `--bless`; the diff is then the review."""
    command = [str(PYTHON), str(openai_members.__file__)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if pytestconfig.getoption("bless"):
        MEMBERS.write_text(printed)
    assert MEMBERS.read_text() == printed


async def outcome_of(frame: Case, url: str) -> Outcome:
    """What a connection answers to this frame."""
    told = {"model": "demo", "input": "Hi"} if frame.held["type"] == "response.create" else {}
    async with opened(url, max_queue=None) as client:  # it closes at once, although events that nobody reads arrive
        await client.connection.send(json.dumps(told | frame.held))
        first = await client.event()
    if first["type"] == "error" or first["type"].endswith(".failed"):
        return Outcome("refused", f"`{first['type']}`: {first['error']['message']}")
    return Outcome("honoured")


async def test_the_table_says_what_each_lane_does(rows: list[Row], pytestconfig: pytest.Config) -> None:
    with serving() as url:
        frames = [Row(case.name, [await outcome_of(case, url)]) for case in CASES if case.frame]
    table = "".join(f"{row.name}: {', '.join(row.words)}\n" for row in (*rows, *frames))
    told = page([*rows, *frames], list(LANES), VERSION)
    if pytestconfig.getoption("bless"):
        TABLE.write_text(table)
        PAGE.write_text(told)
    assert TABLE.read_text() == table
    assert PAGE.read_text() == told


def test_whatever_has_no_effect_without_a_warning_has_a_reason(rows: list[Row]) -> None:
    quiet = [row.name for row in rows if "quiet" in row.words]
    assert [name for name in quiet if not reason(name)] == []
    used = {reason(name) for name in quiet}
    assert used == set(REASONS.values())


def test_a_refusal_or_a_warning_names_what_it_is_about(rows: list[Row]) -> None:
    """By its name, or by the path of the item, part or tool that holds it."""
    for row in rows:
        what, _, path = row.name.partition(":")
        names = {path, path.split(".")[0], path.split(".")[-1], f"{what}[", "input[", "tools[", "tool_choice"}
        for outcome in row.outcomes:
            if outcome.word in {"refused", "warned"}:
                assert any(name in outcome.sentence for name in names), row


@pytest.mark.parametrize("name", ["chat", "relay"])
def test_what_the_caller_gets_over_http_is_what_the_table_says(lanes: list[Lane], name: str) -> None:
    """The warning is in the header, and a strict server refuses; what is honoured or passed on reaches the upstream."""
    lane = next(each for each in lanes if each.name == name)
    made = ChatUpstream(text_turn("Hi")) if name == "chat" else ResponsesUpstream(answer())
    made.may_violate = True
    with made as upstream, httpx.Client(timeout=20) as client:
        via: Any = "chat" if name == "chat" else "responses"
        it = {"it": Upstream(via=via, base_url=upstream.url)}
        models = {"m": Model(upstream="it", name="gpt")}
        with (
            serving(Settings(upstreams=it, models=models)) as url,
            serving(Settings(upstreams=it, models=models, server=Server(strict=True))) as strict,
        ):
            for case in different(CASES):
                word, sentence = lane.outcome(case)
                upstream.asks.clear()
                got = client.post(f"{url}/v1/responses", json=case.body)
                if got.status_code == HTTPStatus.OK and upstream.asks:
                    sent, shown = upstream.asks[0].body, lane.ask(case)
                    assert {key: sent.get(key) for key in READ} == {key: shown.get(key) for key in READ}, case.name
                if word == "refused":
                    assert got.status_code == HTTPStatus.BAD_REQUEST, case.name
                if word == "warned":
                    assert sentence in json.loads(got.headers["x-am-warnings"]), case.name
                    assert client.post(f"{strict}/v1/responses", json=case.body).status_code == HTTPStatus.BAD_REQUEST


def different(every: list[Case]) -> Iterator[Case]:
    """All parameters, and one case of each kind of item, part, tool and choice, where an answer is asked for."""
    for case in every:
        what, _, path = case.name.partition(":")
        whole = what in {"parameter", "include"} or (what != "frame" and "." not in path)
        if whole and case.name not in {"parameter:generate", "item:compaction_trigger", *BY_SERVER}:
            yield case


def test_other_specifications_add_only_what_the_package_lacks() -> None:
    known = {json.loads(line)["name"] for line in MEMBERS.read_text().splitlines()}
    assert set(ELSEWHERE) & known == {"item:configuration_update"}
