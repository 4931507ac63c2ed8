"""The rules of clients are silent about what OpenAI's own servers were recorded to answer.

The recordings are those with which other projects test their clients: see docs/compliance.md. `make recordings`
fetches them and runs these tests; a package that was not to be had is skipped.
"""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.judges import Frames, StreamJudge, TypesJudge, judge_answered_error, judge_answered_response
from tests.judges.cassettes import Recorded, recorded
from tests.judges.fetch_recordings import VERSIONS, archive

pytestmark = pytest.mark.apart("make recordings")

PAGE: Final = Path(__file__).parents[2] / "docs" / "compliance.md"
EXPECTED: Final[dict[str, dict[str, set[str]]]] = {
    # a refused login at chatgpt.com, which answers before any server of the Responses API does
    "langchain-openai": {"cassettes/TestChatOpenAICodexStandard.test_stop_sequence 1": {"error-body"}},
}
"""The broken rules of each recording that breaks one."""


@cache
def answers(package: str) -> list[Recorded]:
    """The answers of a package, read once."""
    if not archive(package).is_file():
        pytest.skip(f"{package} was not fetched: make recordings")
    return list(recorded(archive(package)))


def broken(answer: Recorded) -> set[str]:
    """The rules that an answer breaks, notes included."""
    types = TypesJudge()
    if answer.kind == "stream":
        frames, judge = Frames(), StreamJudge()
        for event in frames.feed(answer.content) + frames.end():
            judge.read(event)
        judge.end()
        found = [*frames.found.found, *judge.found.found, *types.events(judge.sound)]
    elif answer.kind == "error":
        found = judge_answered_error(answer.status, {}, json.loads(answer.content))
    else:
        body = json.loads(answer.content)
        found = judge_answered_response(body) + types.response(body)
    return {finding.rule.name for finding in found}


@pytest.mark.parametrize("package", VERSIONS)
def test_recorded_answers_break_no_rule(package: str) -> None:
    found = {answer.name: broken(answer) for answer in answers(package)}
    assert len(found) == len(answers(package)), "two have the same name"
    assert {name: rules for name, rules in found.items() if rules} == EXPECTED.get(package, {})
    count = Counter(answer.kind for answer in answers(package))
    row = f"| {package} | {VERSIONS[package]} | {count['stream']} | {count['whole']} | {count['error']} |"
    assert row in PAGE.read_text("utf-8"), row
