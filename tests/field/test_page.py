"""What `make field` stands on: findings become signs and rows, and no server is left out."""

import json
import re
from typing import Any

import pytest

from tests.conformance.install import ROOT
from tests.field.asking import LONGEST_QUOTE, Address, Cleaned, asked, shortened, websocket_status
from tests.field.notes import NOTES
from tests.field.own import OWN, own_lane
from tests.field.page import FOUND, PAGE, Numbers, page, sign
from tests.field.run import broken
from tests.field.servers import GROUPS, SERVERS
from tests.judges.judged_server import Answers, judged_server
from tests.judges.questions import OVER_WEBSOCKET, QUESTIONS

Json = dict[str, Any]
KNOWN: dict[str, Json] = json.loads(FOUND.read_text("utf-8"))


def finding(rule: str, *, is_fault: bool = True, detail: str = "d", quote: str = "q") -> Json:
    return {"rule": rule, "is_fault": is_fault, "says": "s", "breaks": "b", "detail": detail, "quote": quote}


def found(websocket: int = 404, **questions: list[Json]) -> Json:
    ground = {"date": "2026-11-19", "version": "a 1", "openai": "3", "how": "a", "files": {}, "judged": "c"}
    return {**ground, "websocket": websocket, "questions": questions}


@pytest.mark.parametrize(
    ("server", "question", "shown"),
    [
        (found(text=[]), "text", "✓"),
        (found(text=[finding("a")]), "text", "✗<sup>1</sup>"),
        (found(text=[finding("a"), finding("b", is_fault=False)]), "text", "✗<sup>1, 2</sup>"),
        (found(text=[finding("a"), finding("a")]), "text", "✗<sup>1</sup>"),
        (found(text=[finding("a", is_fault=False)]), "text", "✓<sup>1</sup>"),
        (found(text=[finding("not-offered", is_fault=False)]), "text", "n/a<sup>1</sup>"),
        (found(text=[finding("not-offered", is_fault=False), finding("a")]), "text", "✗<sup>1, 2</sup>"),
        (found(), "websocket-response", "n/a"),
        (found(101), "websocket-response", "not run"),
        (found(), "new-question", "not run"),
        ({"date": "2026-11-19", "not_run": "it is not there"}, "text", "not run"),
        (None, "text", "not run"),
    ],
)
def test_findings_become_a_sign(server: Json | None, question: str, shown: str) -> None:
    assert sign("s", server, question, Numbers()) == shown


def test_a_row_names_the_rule_what_was_seen_and_what_breaks() -> None:
    numbers = Numbers()
    details = ["no id", "no | model", "no id", "x" * 200, "y", "z"]
    for detail in details:
        numbers.of("s", finding("a", detail=detail, quote='{"a": "`|"}'))
    [row] = numbers.rows("s")
    assert row == (f'| 1 | `a`: s | b | no id; no \\| model; {"x" * 120}… and 2 more<br>`{{"a": "\'\\|"}}` |')
    assert numbers.rows("t") == []


def test_a_server_that_did_not_run_is_shown_with_the_reason() -> None:
    written = page({"vllm": {"date": "2026-11-19", "not_run": "pip cannot install it"}})
    assert "### vLLM\n\nNot run: pip cannot install it." in written
    assert "### opencodex\n\nNot run: no run has included it yet." in written


def test_nothing_of_this_machine_is_published() -> None:
    address = Address(
        "http://127.0.0.1:41234/v1", "m", "sk-secret", folder=ROOT / "x", upstream="http://127.0.0.1:45678/v1"
    )
    text = f'{ROOT}/x/a.toml {ROOT}/.cache/b --port 41234 "port": 41234 :41234/v1 :45678/v1 sk-secret'
    assert Cleaned(address)(text) == 'FOLDER/a.toml .cache/b --port 8080 "port": 8080 :8080/v1 :8000/v1 KEY'
    assert len(shortened("x" * 1000)) == LONGEST_QUOTE + 1
    everything = FOUND.read_text("utf-8") + PAGE.read_text("utf-8")
    assert str(ROOT) not in everything
    assert not re.search(r"/(work|home|root|tmp)/|sk-field", everything)
    assert set(re.findall(r"127\.0\.0\.1:(\d+)", everything)) == {"8000", "8080", "8081"}


def test_a_server_is_asked_and_what_it_breaks_is_kept() -> None:
    with judged_server(Answers(error={"detail": "No."})) as url:
        kept = asked(Address(url, "scripted", how="start it"))
        assert websocket_status(Address(f"{url}/other", "scripted")) == 404
    assert list(kept["questions"]) == [*QUESTIONS, *OVER_WEBSOCKET]
    assert broken(kept) == ["error-body"]
    assert kept["judged"] == "python -m tests.judges http://127.0.0.1:8080/v1 --model scripted --websocket"


def test_a_lane_of_this_server_is_asked_over_its_websocket_too() -> None:
    with own_lane("responses") as address:
        kept = asked(address)
    assert list(kept["questions"]) == [*QUESTIONS, *OVER_WEBSOCKET]
    assert broken(kept) == []


def test_the_page_shows_what_was_found() -> None:
    """`make field` writes both. If only the words of the page changed: python -m tests.field.page."""
    assert PAGE.read_text("utf-8") == page(KNOWN)


def test_every_server_has_been_run_and_every_row_is_a_question() -> None:
    assert list(KNOWN) == list(SERVERS)
    assert {each.group for each in SERVERS.values()} == set(GROUPS)
    assert {f"own-{name}" for name in OWN} < set(SERVERS)
    assert {name for each in KNOWN.values() for name in each.get("questions", {})} <= {*QUESTIONS, *OVER_WEBSOCKET}


def test_this_server_breaks_no_client() -> None:
    own = {name: each for name, each in KNOWN.items() if str(each.get("version")).startswith("AM Proxy")}
    assert len(own) == len(OWN) + 3
    assert {name: broken(each) for name, each in own.items()} == {name: [] for name in own}


def test_notes_are_about_findings() -> None:
    kept = {
        (name, finding["rule"])
        for name, each in KNOWN.items()
        for findings in each.get("questions", {}).values()
        for finding in findings
    }
    assert set(NOTES) <= kept
