"""POST /v1/responses/input_tokens before chat servers: which addresses are asked, and which answers are believed."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import pytest

from tests.http.logged import line_of_turn
from tests.http.transports.counting import LLAMA, NO_PATH, VLLM, CountingChat, Json, count, counted, many_models
from tests.http.transports.one_model import one_model
from tests.wire.configuration import Key, Model, Settings, Upstream
from tests.wire.program import own_program, serving
from tests.wire.servers import Ask, ChatUpstream, Latch, Script, Status, Step


def chat(upstream: ChatUpstream, **more: Any) -> AbstractContextManager[str]:
    """A server of its own: it remembers who counts."""
    return serving(one_model(upstream, **more), fresh=True)


THOUGHTFUL: list[Json] = [
    {"role": "user", "content": "Hello"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "They greet me."}]},
    {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": "Bye"},
]


def vllm_counts(name: str) -> Script:
    """As vLLM does: of earlier thoughts only what it knows by this name is in the prompt."""

    def script(ask: Ask) -> list[Step]:
        thoughts = [message.get(name, "") for message in ask.body["messages"]]
        return [Status(200, {"count": 10 + sum(map(len, thoughts)), "max_model_len": 4096, "tokens": []})]

    return script


@pytest.mark.parametrize("version", ["reasoning", "reasoning_content"])
def test_vllm_counts_earlier_thoughts_where_they_are_sent(version: str) -> None:
    """Its `/tokenize` knows them by one name, and which that is depends on its version."""
    fields = ("reasoning_content", "reasoning", "none")
    with CountingChat(vllm=vllm_counts(version)) as upstream:
        settings = Settings(
            upstreams={field: Upstream(via="chat", base_url=upstream.url, reasoning_field=field) for field in fields},
            models={field: Model(upstream=field) for field in fields},
        )
        with serving(settings, fresh=True) as url:
            counts = [counted(count(url, model=field, input=THOUGHTFUL)) for field in fields]
    sent = 10 + len("They greet me.")
    assert counts == [(200, sent, "upstream"), (200, sent, "upstream"), (200, 10, "upstream")]


def test_vllm_is_found_once_and_asked_alone_from_then_on() -> None:
    with CountingChat(vllm=[Status(200, {"count": 42, "tokens": [1, 2]})]) as upstream, chat(upstream) as url:
        asked = [counted(count(url, instructions="Be brief.", max_output_tokens=9)) for _ in "ab"]
        assert (asked, upstream.paths) == ([(200, 42, "upstream")] * 2, [LLAMA, VLLM, VLLM])
        assert [message["role"] for message in upstream.asks[-1].body["messages"]] == ["system", "user"]


def test_llama_cpp_counts_the_whole_ask() -> None:
    """What its template makes of tools depends on more than the messages."""
    tool = {"type": "function", "name": "f", "parameters": {}}
    with CountingChat(llama=[Status(200, {"input_tokens": 15})]) as upstream, chat(upstream) as url:
        assert counted(count(url, tools=[tool], tool_choice="required")) == (200, 15, "upstream")
        [ask] = upstream.asks
    assert (ask.path, ask.body["tool_choice"], len(ask.body["tools"])) == (LLAMA, "required", 1)


NOT_COUNTED: list[Step] = [Status(200, {"tokens": []})]
NOT_COUNTING: dict[str, tuple[Script, Script, int]] = {
    "no such address": ([NO_PATH], [NO_PATH], 2),
    "as llama.cpp's": ([NO_PATH], NOT_COUNTED, 2),
    "both": (NOT_COUNTED, NOT_COUNTED, 2),
    "a page": ([Status(200, b"<html>")], [NO_PATH], 2),
    "nothing": ([Status(200, {"input_tokens": 0})], [Status(200, {"count": -1})], 2),
    "nonsense": ([Status(200, {"input_tokens": True})], [Status(200, {"count": 10**40})], 2),
    "broken": ([NO_PATH], [Status(500, {})], 3),
    "the model": ([NO_PATH], [Status(404, {"error": {"message": "The model `the model` does not exist."}})], 3),
}


def test_a_chat_server_that_does_not_count_is_estimated_for() -> None:
    """Whether it can is learnt once; that it fails, or does not know one model, says nothing of that."""
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(CountingChat(llama=llama, vllm=vllm))
            for name, (llama, vllm, _) in NOT_COUNTING.items()
        }
        url = stack.enter_context(many_models(servers))
        for name, (_, _, asks) in NOT_COUNTING.items():
            counts = [counted(count(url, model=name)) for _ in "ab"]
            assert [(status, by) for status, _, by in counts] == [(200, "estimated")] * 2, name
            assert len(servers[name].paths) == asks, name


def test_requests_that_learn_at_once_that_nobody_counts_are_all_estimated() -> None:
    gate = Latch()

    def slow(_: Ask) -> list[Step]:
        if len(upstream.asks) == 4:
            gate.open()
        return [gate, NO_PATH]

    with CountingChat(llama=slow, vllm=slow) as upstream, chat(upstream) as url, ThreadPoolExecutor(4) as pool:
        counts = [pool.submit(count, url) for _ in range(4)]
        assert [counted(done.result())[::2] for done in counts] == [(200, "estimated")] * 4


def test_counting_runs_no_turn_and_counts_against_its_key() -> None:
    keys = [Key(name="alice", value="sk-alice", requests_per_minute=1)]
    with CountingChat() as upstream, own_program(one_model(upstream, keys=keys)) as program:
        bearer = {"authorization": "Bearer sk-alice"}
        answers = [count(program.url), *(count(program.url, headers=bearer) for _ in "ab")]
        lines = [line_of_turn(program, answer.headers["x-request-id"]) for answer in answers]
    assert upstream.paths == [LLAMA, VLLM]
    assert [(line["finish"], line["status"]) for line in lines] == [
        ("refused", 401),
        ("counted", 200),
        ("refused", 429),
    ]
