"""Why a cache missed: the prompts of a caller's turns are compared, in the log, the inspector and the response."""

import gc
import json
import logging
import weakref
from hashlib import sha256
from typing import Any, Final

import httpx
import openai
import pytest

from app.observers.recorder import Recorder
from app.parsing.request_body import parse_request
from app.prompt_cache.fingerprint import fingerprint
from app.prompt_cache.prefix import Part, Prefix
from app.settings import Key, Model, Server, Settings, Upstream
from app.turns import prompt_comparison
from app.turns.log import TurnLog
from app.turns.prompt_comparison import (
    NO_RESPONSE,
    NOT_COMPARED,
    NOTHING_KEPT,
    UNCHANGED,
    UNKNOWN,
    KnownPrompt,
    PromptComparison,
)
from app.turns.warning_output import HEADER
from tests.support.compared_prompts import (
    FIRST,
    NEW_RULES,
    SECOND,
    TOOL,
    WATCHING,
    Json,
    lines,
    post,
    replies,
    settings_of,
)
from tests.support.serving import serving
from tests.wire.servers import ChatUpstream

ANSWERS: Final[list[tuple[str, Json, int, Json]]] = [
    ("grown and read", SECOND, 900, {"type": "cache_hit"}),
    ("grown and not read", SECOND, 0, {"type": "unavailable"}),
    (
        "the system prompt",
        NEW_RULES,
        100,
        {"type": "cache_miss", "reason": "input_changed", "place": "messages[0]", "kind": "system", "how": "changed"},
    ),
    ("the tools", SECOND | {"tools": []}, 0, {"type": "cache_miss", "reason": "tools_changed", "place": "tools"}),
    ("the model", SECOND | {"model": "other"}, 0, {"type": "cache_miss", "reason": "model_changed", "place": "model"}),
    (
        "the effort, and the cache was read all the same",
        SECOND | {"reasoning": {"effort": "high"}},
        900,
        {"type": "cache_hit", "place": "reasoning_effort"},
    ),
    (
        "the effort",
        SECOND | {"reasoning": {"effort": "high"}},
        0,
        {"type": "cache_miss", "reason": "reasoning_effort_changed", "cache_missed_tokens": 1000},
    ),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("now", "cached", "expected"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS])
def test_a_client_learns_what_changed_since_a_response(now: Json, cached: int, expected: Json, stream: bool) -> None:  # noqa: FBT001
    with ChatUpstream(replies(), replies(cached)) as upstream, serving(settings_of(upstream)) as url:
        client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        first = client.responses.create(model="m", **FIRST)
        body = {"model": "m", **now, "stream": stream}
        options = {"prompt_cache_options": {"comparison_response_id": first.id}}
        second: Any = client.responses.create(**body, extra_body=options)
        response = [event for event in second][-1].response if stream else second  # noqa: C416 — it is a stream
    found = response.model_dump()["prompt_cache_diagnostics"]
    assert found["message"]
    assert found | found.get("first_change", {}) | expected == found | found.get("first_change", {})
    assert "prompt_cache_diagnostics" not in first.model_dump()


def test_the_tokens_after_the_change_are_estimated() -> None:
    late = SECOND | {"input": [*SECOND["input"][:2], {"role": "user", "content": "Stop."}]}
    with ChatUpstream(replies()) as upstream, serving(settings_of(upstream)) as url:
        first = post(url, SECOND).json()["id"]
        found = post(url, late, compared_with=first).json()["prompt_cache_diagnostics"]
    assert found["first_change"]["place"] == "messages[3]"
    assert 0 < found["cache_missed_tokens"] < 30  # of 1000, for the last of some 1900 bytes


@pytest.mark.parametrize(
    ("body", "change"),
    [
        (SECOND, UNCHANGED),
        (NEW_RULES, "messages[0] (system) changed, near byte "),
        (SECOND | {"tools": [TOOL, {**TOOL, "name": "find"}]}, "tools[1] was added, near byte "),
    ],
)
def test_the_log_line_names_the_turn_before_and_what_changed(
    body: Json, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "am_proxy.turn")
    with ChatUpstream(replies()) as upstream, serving(settings_of(upstream)) as url:
        first = post(url, FIRST)
        post(url, {"input": "Write a title."})
        post(url, body)
    one, title, second = lines(caplog)
    assert "prompt_change" not in one | title
    assert second["prompt_since"] == first.headers["x-request-id"]
    assert str(second["prompt_change"]).startswith(change)


def test_the_upstream_that_answers_is_the_one_that_counts(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "am_proxy.turn")
    with ChatUpstream(replies()) as upstream:
        settings = Settings(
            server=WATCHING,
            upstreams={
                "up": Upstream(via="chat", base_url=upstream.url),
                "dead": Upstream(via="chat", base_url="http://127.0.0.1:9/v1"),
            },
            models={"m": Model(upstream="up"), "n": Model.model_validate({"upstreams": ["dead", "up"], "name": "m"})},
        )
        with serving(settings) as url:
            post(url, FIRST)
            post(url, SECOND | {"model": "n"})
    assert lines(caplog)[-1]["prompt_change"] == UNCHANGED


def test_without_a_ring_buffer_a_client_is_told_that_nothing_is_known() -> None:
    with ChatUpstream(replies(900)) as upstream, serving(settings_of(upstream, Server(watch=0))) as url:
        first = post(url, FIRST)
        second = post(url, SECOND, compared_with=first.json()["id"])
    assert HEADER not in first.headers
    assert json.loads(second.headers[HEADER]) == [NOTHING_KEPT]
    assert second.json()["prompt_cache_diagnostics"] == {"type": "unavailable", "message": NOTHING_KEPT}


def test_a_summary_alone_says_nothing_of_a_cache() -> None:
    with ChatUpstream(replies()) as upstream, serving(settings_of(upstream)) as url:
        options = {"prompt_cache_options": {"comparison_response_id": "resp_AM-0"}}
        answered = httpx.post(f"{url}/v1/responses/compact", json={"model": "m", **SECOND, **options})
    assert answered.status_code == 200, answered.text
    assert json.loads(answered.headers[HEADER]) == [NO_RESPONSE]


def test_an_unknown_response_and_one_that_was_forgotten_are_not_found() -> None:
    with ChatUpstream(replies()) as upstream, serving(settings_of(upstream, Server(watch=2))) as url:
        first = post(url, FIRST).json()["id"]
        for wanted in (first, "resp_AM-0", ""):
            found = post(url, SECOND, compared_with=wanted).json()["prompt_cache_diagnostics"]
            known = wanted == first
            assert found["type"] == ("unavailable" if known else "comparison_response_not_found")
        again = post(url, SECOND, compared_with=first).json()["prompt_cache_diagnostics"]
    assert again == {"type": "comparison_response_not_found", "message": UNKNOWN}


@pytest.mark.parametrize("wrong", [7, {}, ["resp_1"], True])
def test_an_id_that_is_no_string_is_refused(wrong: Any) -> None:
    with ChatUpstream(replies()) as upstream, serving(settings_of(upstream, Server(watch=0))) as url:
        error = post(url, FIRST, compared_with=wrong).json()["error"]
        assert upstream.asks == []
    assert (error["code"], error["param"]) == ("invalid_type", "prompt_cache_options.comparison_response_id")


def test_nobody_is_compared_with_the_turns_of_another_key(caplog: pytest.LogCaptureFixture) -> None:
    """Neither by an id that someone else tells, nor because the prompts are alike."""
    caplog.set_level(logging.INFO, "am_proxy.turn")
    keys = tuple(Key(name=name, digest=sha256(name.encode()).digest()) for name in ("alice", "bob"))
    with ChatUpstream(replies(900)) as upstream, serving(settings_of(upstream, keys=keys)) as url:
        of_alice = post(url, FIRST, key="alice")
        of_bob = post(url, SECOND, key="bob", compared_with=of_alice.json()["id"])
        unknown = post(url, {"input": "Another thing."}, key="bob", compared_with="resp_nobodys")
        own = post(url, SECOND, key="alice", compared_with=of_alice.json()["id"])
    found = [each.json()["prompt_cache_diagnostics"] for each in (of_bob, unknown, own)]
    assert found[0] == found[1] == {"type": "comparison_response_not_found", "message": UNKNOWN}
    assert found[2]["type"] == "cache_hit"
    assert ["prompt_since" in line for line in lines(caplog)] == [False, False, False, True]


def test_a_request_id_that_two_callers_choose_mixes_nothing_up() -> None:
    """Clients may choose the id of a request, and the ring buffer knows turns by it."""
    recorder = Recorder(10, 1_000_000, keyed=True)
    for name in ("alice", "bob"):
        recorder.began({"request_id": "same", "owner": f"key:{name}", "key": name}).ended({})
    printed = fingerprint(Prefix(messages=[Part("messages[0]", "user", ("Hi",))]), upstream="up", model="m")
    prompt = KnownPrompt("resp_1", "same", None, printed)
    recorder.keep_prompt("key:alice", prompt, None)
    assert (recorder.prompts_of("key:alice"), recorder.prompts_of("key:bob")) == ([prompt], [])
    assert recorder.prompts_of("key:nobody") == []


def test_fingerprints_count_in_the_ring_buffer() -> None:
    texts = [f"{number} " * 30_000 for number in range(20)]
    recorder = Recorder(100, 100_000)
    for number, text in enumerate(texts):
        recorder.began({"request_id": str(number), "owner": "", "key": ""}).ended({})
        printed = fingerprint(Prefix(messages=[Part("", "", (text,))]), upstream="up", model="m")
        recorder.keep_prompt("", KnownPrompt(f"resp_{number}", str(number), None, printed), None)
    kept = recorder.prompts_of("")
    assert 0 < len(kept) < len(texts)
    assert sum(prompt.fingerprint.size for prompt in kept) < 100_000
    assert kept[-1].response_id == "resp_19"


def test_an_error_in_a_comparison_ends_no_turn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_args: Any, **_more: Any) -> None:
        message = "a fault"
        raise RuntimeError(message)

    monkeypatch.setattr(prompt_comparison, "fingerprint", fail)
    with ChatUpstream(replies()) as upstream, serving(settings_of(upstream)) as url:
        answered = post(url, FIRST, compared_with="resp_AM-0")
    assert answered.json()["prompt_cache_diagnostics"] == {"type": "unavailable", "message": NOT_COMPARED}
    [logged] = [record for record in caplog.records if "could not be compared" in record.message]
    assert logged.request_id == answered.headers["x-request-id"]  # type: ignore[attr-defined]


def test_the_request_is_not_held_until_the_end_of_the_turn() -> None:
    raw: Json = {"model": "m", "input": [{"role": "user", "content": "long " * 10_000}]}
    request = parse_request(json.dumps(raw).encode())
    comparison = PromptComparison(request, TurnLog(), "", kept=Recorder(5, 1_000_000))
    assert comparison.warned(request) is request
    kept = weakref.ref(request)
    del request
    gc.collect()
    assert kept() is None
