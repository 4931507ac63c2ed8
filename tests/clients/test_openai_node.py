"""The openai package for Node. Its `.stream()` throws on any event that does not fit the ones before it.

It needs `node` and the packages, wherever `tests/support/node.py` finds them.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.demo_behaviours import BEHAVIOURS, CALLED_WITH, TOOL_SAID, WEATHER, Behaviour
from tests.support.node import NODE, modules_with
from tests.wire.event_stream import judged

pytestmark = [pytest.mark.needs("node", "npm:openai", "npm:zod")]

ALL = pytest.mark.parametrize(("name", "behaviour"), BEHAVIOURS.items(), ids=BEHAVIOURS)


@pytest.fixture(scope="module")
def modules() -> Path:
    """The folder that holds the package."""
    return modules_with("openai", "zod")


@pytest.fixture(scope="module")
def report(modules: Path, demo_url: str) -> dict[str, Any]:
    """Everything the package made of this server, by one run of node."""
    asked = {name: {"input": behaviour.prompt, "tools": behaviour.tools} for name, behaviour in BEHAVIOURS.items()}
    completed = subprocess.run(
        [NODE, str(Path(__file__).with_name("openai_node.cjs")), str(modules), f"{demo_url}/v1"],
        input=json.dumps({"behaviours": asked, "tool": WEATHER}),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    result: dict[str, Any] = json.loads(completed.stdout)
    return result


@ALL
def test_the_stream_helper_puts_every_stream_together(report: dict[str, Any], name: str, behaviour: Behaviour) -> None:
    """It throws on none of them: a response that failed is one it can hand out."""
    result = {key: value for key, value in report["helped"][name].items() if key != "text"}
    assert result == {"status": behaviour.status, "items": behaviour.items, "last": behaviour.last_event}


@ALL
def test_create_with_stream_tells_every_event(report: dict[str, Any], name: str, behaviour: Behaviour) -> None:
    response = judged(report["plain"][name])
    assert response["status"] == behaviour.status


@ALL
def test_create_gives_the_whole_response(report: dict[str, Any], name: str, behaviour: Behaviour) -> None:
    whole = report["whole"][name]
    if behaviour.status == "failed":
        assert (whole["threw"], whole["status"], whole["code"]) == ("InternalServerError", 502, "upstream_error")
    else:
        assert whole == {"status": behaviour.status, "items": behaviour.items}


@pytest.mark.parametrize("way", ["loop", "helpedLoop"])
def test_a_tool_loop_closes_in_two_turns(report: dict[str, Any], way: str) -> None:
    assert report[way] == {"name": "get_weather", "arguments": CALLED_WITH, "text": TOOL_SAID}


def test_what_a_line_iterator_would_split_comes_back_whole(report: dict[str, Any]) -> None:
    assert report["helped"]["line ends"]["text"].endswith(BEHAVIOURS["line ends"].prompt)


def test_parse_fills_a_schema(report: dict[str, Any]) -> None:
    assert report["parsed"] == [{"city": "demo", "degrees": 1, "sunny": True}] * 2


def test_a_stream_can_be_left_midway(report: dict[str, Any]) -> None:
    assert report["left"] == {"aborted": True}


def test_models_are_listed(report: dict[str, Any]) -> None:
    assert report["models"] == ["demo", "gpt-5"]


@pytest.mark.parametrize(
    ("step", "kind", "status", "code"),
    [
        ("unknown", "NotFoundError", 404, "model_not_found"),
        ("unknownHelped", "NotFoundError", 404, "model_not_found"),
        ("busy", "RateLimitError", 429, "rate_limit_exceeded"),
        ("stored", "NotFoundError", 404, "not_found"),
    ],
)
def test_a_refusal_is_thrown_as_the_class_that_programs_catch(
    report: dict[str, Any], step: str, kind: str, status: int, code: str
) -> None:
    result = report[step]
    assert (result["threw"], result["status"], result["code"]) == (kind, status, code)
