"""Compaction: what is summed up and what is kept, and the two asks of one turn over real sockets."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.history.compaction import SUM_UP, Conversation, Summary, read
from app.history.sealing import Sealer, Seals
from app.history.shortening import shortened
from app.tools.table import SHAPES
from app.types.problems import ProblemError
from tests.core.servers import DONE, USAGE, Step, chunk, says, served, upstream
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.event_stream import events_of
from tests.wire.grammar import check
from tests.wire.program import serving
from tests.wire.servers import AnthropicUpstream, Ask, Hang, Status
from tests.wire.servers.anthropic import begins, ends, text

Json = dict[str, Any]
SEALER = Sealer(Seals(["k" * 32]), "")


def user(text: str) -> Json:
    """A message of the user."""
    return {"type": "message", "role": "user", "content": text}


def step(name: str, output: str = "out") -> list[Json]:
    """A call and its output."""
    call = {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}
    return [call, {"type": "function_call_output", "call_id": name, "output": output}]


SYSTEM: Json = {"role": "system", "content": "Be brief."}
SAID: Json = {"role": "assistant", "content": "Yes."}


def conversation(items: list[Json], threshold: int = 1_000) -> Conversation:
    """The conversation of a request that wants a summary above so many tokens."""
    managed = [{"type": "compaction", "compact_threshold": threshold}]
    found = read({"model": "m", "input": items, "context_management": managed}, SEALER, SHAPES)[2]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("items", "before", "after"),
    [
        ([SYSTEM, user("a"), SAID, user("b")], [SYSTEM, user("a")], [user("b")]),
        ([user("a"), *step("1"), *step("2")], [user("a")], step("2")),
        ([user("a"), *step("1"), *step("2", "long " * 500)], [user("a")], []),
        ([user("a" * 2_000), SAID, user("b"), SAID, user("c")], [user("b")], [user("c")]),
        ([user("a"), user("b")], None, []),
    ],
    ids=["a question", "an output", "an output that is too long", "a message that is too long", "nothing to sum up"],
)
def test_the_last_step_and_what_was_asked_is_kept(
    items: list[Json], before: list[Json] | None, after: list[Json]
) -> None:
    held = conversation(items)
    assert (held.split(None) is None) == (before is not None)
    if before is None:
        return
    item, _ = held.going_on(Summary("Notes.", "end"))
    window = SEALER.fresh().open("compaction", item.encrypted_content, "")
    assert (window["summary"], window["whole"]) == ("Notes.", True)
    assert (window.get("before", []), window.get("after", [])) == (before, after)
    whole = {"model": "m", "input": [user("gone"), {"type": "compaction", "encrypted_content": item.encrypted_content}]}
    request = read({**whole, "input": [*whole["input"], user("next")]}, SEALER, SHAPES)[0]
    assert len(request.items) == len(before) + 1 + len(after) + 1
    assert [request.path_of(index) for index in (0, len(request.items) - 1)] == ["input[1]", "input[2]"]


def test_a_fault_names_the_place_where_the_item_was_posted() -> None:
    held = conversation([user("a"), SAID, user("b")])
    envelope = held.item(Summary("Notes.", "end")).encrypted_content
    items = [user("a"), SAID, {"type": "compaction", "encrypted_content": envelope}, {"role": "user", "content": 7}]
    with pytest.raises(ProblemError) as fault:
        read({"model": "m", "input": items}, SEALER, SHAPES)
    assert fault.value.problem.param == "input[3].content"


def test_the_oldest_outputs_are_shortened_and_no_more_than_it_takes() -> None:
    items = [user("a"), *step("1", "x" * 9_000), *step("2", "y" * 9_000), *step("3", "z" * 9_000)]
    short = [len(json.dumps(item)) < 5_000 for item in shortened(items, 6_000)]
    assert short == [True, True, True, True, True, True, False]
    for part in ({"type": "input_image", "image_url": "x" * 9}, 1):
        output = {"type": "local_shell_call_output", "call_id": "1", "output": [part] * 9_000}
        assert "left out" in json.dumps(shortened([output], 10_000))


LONG: Json = {
    "model": "m",
    "stream": True,
    "input": [user("a"), {"role": "assistant", "content": "word " * 2_000}, user("b")],
    "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
}


async def test_a_summary_and_an_answer_are_one_response_with_signs_of_life(tmp_path: Path) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    summary: list[Step] = [chunk("No"), first, chunk("tes."), chunk(None, "stop"), USAGE, DONE]
    async with (
        upstream(summary, [second, *says("Yes.")]) as model,
        served(tmp_path, model.url, "keep_alive = 0.05\nfirst_payload_wait = 0") as url,
        httpx.AsyncClient(timeout=50) as client,
        client.stream("POST", f"{url}/v1/responses", json=LONG) as answer,
    ):
        told = b""
        async for piece in answer.aiter_bytes():
            told += piece
            if told.count(b"event: response.in_progress") > 2:
                first.set()
            if b"event: response.in_progress" in told.partition(b"output_item.done")[2]:
                second.set()
    events = events_of(told)
    check(events)
    last = events[-1]["response"]
    assert [item["type"] for item in last["output"]] == ["compaction", "message"]
    assert (last["status"], last["usage"]["total_tokens"], model.asks) == ("completed", 4, 2)


async def test_an_ask_after_a_summary_that_is_not_answered_is_an_outage(tmp_path: Path) -> None:
    table = "retries = 0\ntimeout = 0.3\nbreaker_failures = 1"
    async with (
        upstream(says("Notes."), [asyncio.Event()]) as model,
        served(tmp_path, model.url, "keep_alive = 0.05", table) as url,
        httpx.AsyncClient(timeout=50) as client,
    ):
        answers = [await client.post(f"{url}/v1/responses", json={**LONG, "stream": False}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [504, 503]
    assert "did not answer" in answers[0].text


@pytest.mark.parametrize("place", [0, 1], ids=["summed up", "answered"])
async def test_a_client_that_leaves_stops_whichever_ask_runs(tmp_path: Path, place: int) -> None:
    scripts: list[Any] = [says("Notes."), says("Yes.")]
    scripts[place] = [chunk("Once"), asyncio.Event()]
    async with upstream(*scripts) as model, served(tmp_path, model.url, "keep_alive = 0.05") as url:
        async with (
            httpx.AsyncClient(timeout=50) as client,
            client.stream("POST", f"{url}/v1/responses", json=LONG) as answer,
        ):
            async for _ in answer.aiter_bytes():
                if model.asks > place:
                    break
        async with asyncio.timeout(5):
            while not model.gone:
                await asyncio.sleep(0.01)
    assert model.asks == place + 1


def is_count(ask: Ask) -> bool:
    """Whether a Messages server is asked for a count."""
    return ask.path.endswith("/count_tokens")


class Counts(AnthropicUpstream):
    """A server that counts what a script says."""

    counts = False

    def faults(self, ask: Ask) -> list[str]:
        return [] if is_count(ask) else super().faults(ask)


@pytest.mark.parametrize(
    ("words", "count", "asked"),
    [
        (1_000, Status(200, {"input_tokens": 900}), "ca"),
        (600, Status(200, {"input_tokens": 1_001}), "csa"),
        (200, Status(200, {"input_tokens": 9_000}), "a"),
        (2_600, Status(200, {"input_tokens": 1}), "sa"),
        (1_000, Status(500), "csa"),
        (600, Status(400, {"error": {"message": "No."}}), "ca"),
        (1_000, Hang(), "csa"),
    ],
    ids=["above, counted below", "below, counted above", "far below", "far above", "fails", "refuses", "too slow"],
)
def test_the_server_counts_where_an_estimate_is_near_the_threshold(words: int, count: Any, asked: str) -> None:
    with Counts(lambda ask: [count] if is_count(ask) else [*begins(), *text(0, "Notes."), *ends()]) as model:
        there = Upstream(via="messages", base_url=model.url, api_key="sk", retries=0)
        models = {"m": Model(upstream="there", name="claude-sonnet-4-5")}
        body = {
            "model": "m",
            "input": [user("Hi"), {"role": "assistant", "content": "word " * words}, user("Go on.")],
            "context_management": [{"type": "compaction", "compact_threshold": 1_000}],
        }
        with serving(Settings(upstreams={"there": there}, models=models)) as url:
            response = httpx.post(f"{url}/v1/responses", json=body, timeout=20).json()
        asks = [
            "c" if is_count(ask) else "s" if SUM_UP in str(ask.body["messages"][-1]["content"][-1]["text"]) else "a"
            for ask in model.asks
        ]
    assert "".join(asks) == asked
    assert [item["type"] for item in response["output"]] == ["compaction", "message"][-len(asked.replace("c", "")) :]


def test_a_count_is_asked_for_again_without_what_the_server_gave_out_and_refuses() -> None:
    refusal = Status(400, {"error": {"message": "messages.1.content.0: Invalid `signature` in `thinking` block"}})
    with Counts([refusal], [Status(200, {"input_tokens": 7})]) as model:
        there = Upstream(via="messages", base_url=model.url, api_key="sk", retries=0)
        models = {"m": Model(upstream="there", name="claude-sonnet-4-5")}
        with serving(Settings(upstreams={"there": there}, models=models)) as url:
            answer = httpx.post(f"{url}/v1/responses/input_tokens", json={"model": "m", "input": "Hi"}, timeout=20)
    assert (answer.json().get("input_tokens"), answer.headers["x-am-token-count"]) == (7, "upstream")
