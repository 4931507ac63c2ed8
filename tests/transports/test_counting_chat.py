"""POST /v1/responses/input_tokens before chat servers: which addresses are asked, and which answers are believed."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Any

import pytest

from app.settings import Key, Upstream
from app.upstreams import counting
from tests.support.counting import Json, count, counted, settings
from tests.support.servers import Ask, ChatUpstream, Latch, Script, Status, Step
from tests.support.serving import serving

LLAMA, VLLM = "/v1/chat/completions/input_tokens", "/tokenize"
NO_PATH = Status(404, {"detail": "Not Found"})


class CountingChat(ChatUpstream):
    """A chat server that counts at one of two addresses, or at none; what it is not sent it does not count."""

    def __init__(self, *, llama: Script = (NO_PATH,), vllm: Script = (NO_PATH,)) -> None:
        self._paths = {LLAMA: llama, VLLM: vllm}
        super().__init__(self._steps)

    def _steps(self, ask: Ask) -> list[Step]:
        script = self._paths[ask.path]
        return list(script(ask) if callable(script) else script)

    def faults(self, ask: Ask) -> list[str]:
        """VLLM's address takes messages and tools; llama.cpp's takes what its chat completions take."""
        if ask.path == VLLM:
            return [f"unknown {key}" for key in ask.body.keys() - {"model", "messages", "tools"}]
        if self._paths[LLAMA] == (NO_PATH,):
            return []
        streams = {"stream": True, "stream_options": {"include_usage": True}}
        unstreamed = [f"{key} where nothing is answered" for key in streams if key in ask.body]
        return unstreamed + super().faults(Ask("/v1/chat/completions", ask.headers, ask.body | streams, ask.raw))

    @property
    def paths(self) -> list[str]:
        """Where it was asked."""
        return [ask.path for ask in self.asks]


def chat(upstream: ChatUpstream, **more: Any) -> AbstractContextManager[str]:
    return serving(settings(Upstream(via="chat", base_url=upstream.url, **more)))


THOUGHTFUL: list[Json] = [
    {"role": "user", "content": "Hello"},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "They greet me."}]},
    {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": "Bye"},
]


def vllm_counts(*names: str) -> Script:
    """As vLLM does: of earlier thoughts only what it knows by one of these names is in the prompt."""

    def script(ask: Ask) -> list[Step]:
        thoughts = [next((m[name] for name in names if name in m), "") for m in ask.body["messages"]]
        return [Status(200, {"count": 10 + sum(map(len, thoughts)), "max_model_len": 4096, "tokens": []})]

    return script


@pytest.mark.parametrize("version", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "none"])
def test_vllm_counts_earlier_thoughts_where_they_are_sent(version: str, field: Any) -> None:
    """Its `/tokenize` knows them by one name, and which that is depends on its version."""
    with CountingChat(vllm=vllm_counts(version)) as upstream, chat(upstream, reasoning_field=field) as url:
        expected = 10 if field == "none" else 10 + len("They greet me.")
        assert counted(count(url, input=THOUGHTFUL)) == (200, expected, "upstream")


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


@pytest.mark.parametrize(
    ("llama", "vllm", "asks"),
    [
        ([NO_PATH], [NO_PATH], 2),
        ([NO_PATH], NOT_COUNTED, 2),
        (NOT_COUNTED, NOT_COUNTED, 2),
        ([Status(200, b"<html>")], [NO_PATH], 2),
        ([Status(200, {"input_tokens": 0})], [Status(200, {"count": -1})], 2),
        ([Status(200, {"input_tokens": True})], [Status(200, {"count": 10**40})], 2),
        ([NO_PATH], [Status(500, {})], 3),
        ([NO_PATH], [Status(404, {"error": {"message": "The model `m` does not exist."}})], 3),
    ],
    ids=["no such address", "as llama.cpp's", "both", "a page", "nothing", "nonsense", "broken", "the model"],
)
def test_a_chat_server_that_does_not_count_is_estimated_for(llama: Script, vllm: Script, asks: int) -> None:
    """Whether it can is learnt once; that it fails, or does not know one model, says nothing of that."""
    with CountingChat(llama=llama, vllm=vllm) as upstream, chat(upstream) as url:
        counts = [counted(count(url)) for _ in "ab"]
        assert [(status, by) for status, _, by in counts] == [(200, "estimated")] * 2
        assert len(upstream.paths) == asks


def test_requests_that_learn_at_once_that_nobody_counts_are_all_estimated() -> None:
    gate = Latch()
    slow: list[Step] = [gate, NO_PATH]
    with CountingChat(llama=slow, vllm=slow) as upstream, chat(upstream) as url, ThreadPoolExecutor(4) as pool:
        counts = [pool.submit(count, url) for _ in range(4)]
        while len(upstream.asks) < 4:
            time.sleep(0.005)
        gate.open()
        assert [counted(done.result())[::2] for done in counts] == [(200, "estimated")] * 4


def test_an_address_that_did_not_count_is_asked_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may be a newer one by then."""
    monkeypatch.setattr(counting, "PAUSE", 0)
    answers = iter([NO_PATH, NO_PATH, Status(200, {"input_tokens": 15})])
    with CountingChat(llama=lambda _: [next(answers)]) as upstream, chat(upstream) as url:
        assert [counted(count(url))[::2] for _ in "abc"] == [(200, "estimated"), (200, "estimated"), (200, "upstream")]


def test_counting_runs_no_turn_and_counts_against_its_key(caplog: pytest.LogCaptureFixture) -> None:
    key = Key("alice", sha256(b"sk-alice").digest(), requests_per_minute=1)
    with (
        CountingChat() as upstream,
        serving(settings(Upstream(via="chat", base_url=upstream.url), keys=(key,))) as url,
        caplog.at_level("INFO", "am_proxy.turn"),
    ):
        bearer = {"authorization": "Bearer sk-alice"}
        assert [count(url).status_code, *(count(url, headers=bearer).status_code for _ in "ab")] == [401, 200, 429]
    assert upstream.paths == [LLAMA, VLLM]
    lines = [record.__dict__["fields"] for record in caplog.records if record.name == "am_proxy.turn"]
    assert [(line["finish"], line["status"]) for line in lines] == [
        ("refused", 401),
        ("counted", 200),
        ("refused", 429),
    ]
