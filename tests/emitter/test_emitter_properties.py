"""Whatever a model writes, its stream is valid; in whatever order the emitter is called, nothing breaks."""

import re
from typing import Any, ClassVar

from hypothesis import given
from hypothesis import strategies as st

from app.compaction.remaining_history import Compaction
from app.emitter.deltas import (
    AnnotationAdded,
    Broke,
    CallArguments,
    CallOpened,
    Delta,
    ImageWritten,
    ItemWritten,
    ProviderStateAdded,
    ReasoningDelta,
    RefusalTextDelta,
    SearchMade,
    Stopped,
    TextDelta,
    ThoughtEnded,
    UsageReported,
)
from app.emitter.emitter import Emitter
from app.emitter.ledger import MisuseError
from app.protocol.problems import ERROR_SHAPES, Problem
from tests.support.emitters import FORBIDDEN, USAGE, new_emitter, plain, written
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check

CITATION = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}

texts = st.sampled_from(["", " ", "\n", "a", "é", "\u2028", "{", "}", "{}", '{"a":1}']) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=3
)
problems = st.sampled_from(sorted(ERROR_SHAPES)).map(lambda code: Problem(code=code, message="Something broke."))
keys = st.integers(0, 3)
fields = st.sampled_from([{}, {"signature": "s"}])
deltas_of_all_kinds = st.one_of(
    texts.map(TextDelta),
    texts.map(RefusalTextDelta),
    texts.map(ReasoningDelta),
    st.builds(AnnotationAdded, st.just(CITATION), st.integers(0, 5), st.integers(0, 5)),
    st.just(ImageWritten("aGk=", "png")),
    st.just(ItemWritten("cmp", Compaction(id=""), Compaction(id="", encrypted_content="AM1.sealed"))),
    st.builds(CallOpened, keys, st.sampled_from(["f", "g", FORBIDDEN]), st.sampled_from(["", "c", "d"]), fields),
    st.builds(ProviderStateAdded, fields, st.none() | keys),
    st.builds(CallArguments, keys, texts),
    st.just(ThoughtEnded()),
    st.builds(SearchMade, st.just("who"), st.sampled_from([(), ("https://a.example",)]), st.booleans()),
    st.just(UsageReported(USAGE)),
)
endings: st.SearchStrategy[Delta | None] = st.one_of(
    st.sampled_from([Stopped("end"), Stopped("length"), Stopped("content_filter"), None]), problems.map(Broke)
)
answers = st.tuples(st.lists(deltas_of_all_kinds | st.just(Stopped("end")), max_size=12), endings, st.booleans())


def streamed(deltas: list[Delta], ending: Delta | None, *, raw: bool) -> tuple[list[Delta], list[dict[str, Any]]]:
    """What the emitter took before it was over, and the stream, with a sign of life between any two deltas."""
    emitter = new_emitter(raw_reasoning=raw, seal=written)
    events = [*emitter.begin(), *emitter.keep_alive()]
    taken: list[Delta] = []
    for delta in [*deltas, *([ending] if ending else [])]:
        if emitter.over:
            break
        taken.append(delta)
        events += emitter.feed([delta])
        if not emitter.over:
            events += emitter.keep_alive()
    if not emitter.over:
        events += emitter.end()
    return taken, plain(events)


@given(answers)
def test_every_stream_passes_grammar_judges_and_consumer(
    answer: tuple[list[Delta], Delta | None, bool],
) -> None:
    """All kinds of deltas, in any order, cut anywhere, with signs of life in between."""
    deltas, ending, raw = answer
    _, events = streamed(deltas, ending, raw=raw)
    check(events)
    judge(events)
    check_consumed(events)


@given(answers)
def test_nothing_the_model_wrote_is_lost_or_altered(answer: tuple[list[Delta], Delta | None, bool]) -> None:
    """Text, refusals and thoughts arrive whole and in order; only white space that opens nothing may be missing."""
    deltas, ending, raw = answer
    taken, events = streamed(deltas, ending, raw=raw)
    pieces = check_consumed(events).pieces
    for kind, name in ((TextDelta, "text"), (RefusalTextDelta, "refusal"), (ReasoningDelta, "thought")):
        wrote = "".join(delta.text for delta in taken if isinstance(delta, kind))
        received = "".join(piece[1] for piece in pieces if piece[0] == name)
        assert without_white_space(received) == without_white_space(wrote)
        assert is_within(received, wrote)


@given(answers)
def test_every_call_arrives_with_the_arguments_the_model_wrote(answer: tuple[list[Delta], Delta | None, bool]) -> None:
    """To the letter; a call without any passes `{}`; one the client ruled out is never sent."""
    deltas, ending, raw = answer
    taken, events = streamed(deltas, ending, raw=raw)
    added = [event["item"] for event in events if event["type"] == "response.output_item.added"]
    opened = [item for item in added if item["type"] == "function_call"]
    expected = calls_in(taken)
    assert [item["name"] for item in opened] == [name for name, _ in expected]
    done = {item["id"]: item for item in events[-1]["response"]["output"]}
    for item, (_, wrote) in zip(opened, expected, strict=True):
        call = done.get(item["id"])
        if call is None:
            assert events[-1]["type"] == "response.failed"
        elif call["status"] == "completed":
            assert call["arguments"].strip() == (wrote.strip() or "{}")
        else:
            assert call["arguments"] == wrote


@given(answers)
def test_it_does_not_matter_how_deltas_are_batched(answer: tuple[list[Delta], Delta | None, bool]) -> None:
    """One by one or all at once: the same stream."""
    deltas, ending, raw = answer
    script = [*deltas, *([ending] if ending else [])]
    at_once, one_by_one = new_emitter(raw_reasoning=raw, seal=written), new_emitter(raw_reasoning=raw, seal=written)
    first = [*at_once.begin(), *at_once.feed(script)]
    second = one_by_one.begin()
    for delta in script:
        if not one_by_one.over:
            second += one_by_one.feed([delta])
    assert at_once.over == one_by_one.over
    if not at_once.over:
        first += at_once.end()
        second += one_by_one.end()
    assert first == second


class Driver:
    """Drives an emitter in any order, and knows only what each phase allows."""

    allowed: ClassVar = {"new": {"begin"}, "talking": {"feed", "keep_alive", "end", "fail"}, "over": set[str]()}

    def __init__(self) -> None:
        self.emitter = new_emitter()
        self.events: list[Any] = []
        self.phase = "new"

    def step(self, method: str, *arguments: Any) -> None:
        """It steps, or it refuses and nothing has changed."""
        if method not in self.allowed[self.phase]:
            try:
                getattr(self.emitter, method)(*arguments)
            except MisuseError:
                return
            raise AssertionError(f"{method} was not refused while {self.phase}")
        self.events += getattr(self.emitter, method)(*arguments)
        self.phase = "over" if self.emitter.over else "talking"


steps = st.one_of(
    st.just(("begin",)),
    st.lists(deltas_of_all_kinds | problems.map(Broke) | st.just(Stopped("end")), max_size=3).map(
        lambda deltas: ("feed", deltas)
    ),
    st.just(("keep_alive",)),
    st.just(("end",)),
    problems.map(lambda problem: ("fail", problem)),
)


@given(st.lists(steps, max_size=15))
def test_any_order_of_steps_steps_or_is_refused(script: list[tuple[Any, ...]]) -> None:
    """What was let through is a sound stream as soon as it has its last event."""
    driver = Driver()
    for step in script:
        driver.step(*step)
    finish(driver)
    check(plain(driver.events))
    check_consumed(plain(driver.events))


def finish(driver: Driver) -> Emitter:
    """Bring any emitter to its end."""
    if driver.phase == "new":
        driver.step("begin")
    if driver.phase == "talking":
        driver.step("end")
    assert driver.emitter.over
    return driver.emitter


def without_white_space(text: str) -> str:
    """What a reader would call the text."""
    return re.sub(r"\s", "", text)


def is_within(received: str, wrote: str) -> bool:
    """Whether everything received was written, in this order."""
    rest = iter(wrote)
    return all(letter in rest for letter in received)


def calls_in(taken: list[Delta]) -> list[tuple[str, str]]:
    """The calls a model made of tools it may use, in order: name and joined arguments."""
    calls: list[tuple[str, list[str]]] = []
    by_key: dict[int, list[str]] = {}
    for delta in taken:
        if isinstance(delta, CallOpened):
            by_key[delta.key] = []
            if delta.name != FORBIDDEN:
                calls.append((delta.name, by_key[delta.key]))
        elif isinstance(delta, CallArguments) and delta.key in by_key:
            by_key[delta.key].append(delta.text)
    return [(name, "".join(arguments)) for name, arguments in calls]
