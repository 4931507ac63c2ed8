"""With `via = "messages"`, the model's server counts whether a conversation is too long and is summed up first."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import AnthropicUpstream, Ask, Hang, Script, Status
from tests.wire.servers.anthropic import begins, ends, text

Json = dict[str, Any]

THRESHOLD: Final = 1_000


class Counts(AnthropicUpstream):
    """A server that counts what a script says."""

    counts = False

    def faults(self, ask: Ask) -> list[str]:
        """The body alone."""
        return [] if ask.path.endswith("count_tokens") else super().faults(ask)


def items(characters: int) -> list[Json]:
    """A conversation of about so many characters."""
    answer = {"role": "assistant", "content": "word " * (characters // 5)}
    return [{"role": "user", "content": "Hi"}, answer, {"role": "user", "content": "Go on."}]


@contextmanager
def asked(characters: int, count: Script, *, times: int = 1) -> Iterator[tuple[list[str], list[Json]]]:
    """The addresses that were asked for such a conversation, and the answers."""

    def answers(ask: Ask) -> Any:
        return count if ask.path.endswith("count_tokens") else [*begins(), *text(0, "Notes."), *ends()]

    with Counts(answers) as upstream:
        there = Upstream(via="messages", base_url=upstream.url, api_key="sk", retries=0)
        body: Json = {
            "model": "m",
            "input": items(characters),
            "context_management": [{"type": "compaction", "compact_threshold": THRESHOLD}],
        }
        model = Model(upstream="there", name="claude-sonnet-4-6")
        with serving(Settings(upstreams={"there": there}, models={"m": model}), fresh=times > 1) as url:
            got = [httpx.post(f"{url}/v1/responses", json=body, timeout=20).json() for _ in range(times)]
        yield [ask.path.removeprefix("/v1/messages") for ask in upstream.asks], got


COUNT: Final = "/count_tokens"
CASES: Final[list[tuple[str, int, Script, list[str]]]] = [
    ("the estimate is above, the count below", 5_000, [Status(200, {"input_tokens": 900})], [COUNT, ""]),
    ("the estimate is below, the count above", 3_000, [Status(200, {"input_tokens": 1_001})], [COUNT, "", ""]),
    ("the estimate is far below", 1_000, [Status(200, {"input_tokens": 9_000})], [""]),
    ("the estimate is far above", 13_000, [Status(200, {"input_tokens": 1})], ["", ""]),
    ("it fails", 5_000, [Status(500)], [COUNT, "", ""]),
    ("it refuses", 3_000, [Status(400, {"error": {"message": "No."}})], [COUNT, ""]),
    ("it is too slow", 5_000, [Hang()], [COUNT, "", ""]),
]


@pytest.mark.parametrize(
    ("characters", "count", "paths"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_server_counts_where_an_estimate_is_near_the_threshold(
    characters: int, count: Script, paths: list[str]
) -> None:
    with asked(characters, count) as (asks, [response]):
        assert asks == paths
    kinds = [item["type"] for item in response["output"]]
    assert kinds == (["compaction", "message"] if paths[-2:] == ["", ""] else ["message"])
    assert "count" not in json.dumps(response)


@pytest.mark.parametrize("count", [Status(404), Status(200, {})])
def test_a_server_that_does_not_count_is_not_asked_again(count: Status) -> None:
    with asked(5_000, [count], times=2) as (asks, _):
        assert asks == [COUNT, "", "", "", ""]
