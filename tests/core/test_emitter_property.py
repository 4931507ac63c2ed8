"""Any deltas become a legal stream, in which nothing that the model wrote is lost. `EXAMPLES=2000` tries more."""

import os
from typing import Any, Final, cast

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from app.emitter import deltas as d
from app.emitter.emitter import Emitter
from app.emitter.response import Lifecycle
from app.tools.table import SHAPES, Tools
from app.types.parse import parse
from app.types.problems import STATUS, Problem
from app.types.response import Usage
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check

EXAMPLES: Final = int(os.environ.get("EXAMPLES", "100"))
TOOLS: Final = [
    {"type": "function", "name": "f"},
    {"type": "custom", "name": "c"},
    {"type": "shell", "environment": {"type": "local"}},
    {"type": "apply_patch"},
    {"type": "function", "name": "forbidden"},
]
CHOICE: Final = {"type": "allowed_tools", "mode": "auto", "tools": TOOLS[:-1]}
REQUEST: Final = parse({"model": "m", "input": "Hello", "tools": TOOLS, "tool_choice": CHOICE}, SHAPES)[0]
NAMES: Final = [spec.name for spec in Tools(REQUEST).specs]
CITED: Final = {"type": "url_citation", "url": "https://a.example", "title": "A"}
texts = st.sampled_from(["", " ", "\n", "a", "é", "\u2028", "{", "}", "{}", '{"a":1}']) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=3
)
keys = st.integers(0, 3)
fields = st.sampled_from([{}, {"signature": "s"}])
deltas = st.one_of(
    texts.map(d.TextDelta),
    texts.map(d.RefusalDelta),
    texts.map(d.ReasoningDelta),
    st.just(d.ThoughtEnded()),
    st.builds(d.AnnotationAdded, st.just(CITED), st.integers(0, 5), st.integers(0, 5)),
    st.builds(d.ImageWritten, st.just("aGk="), st.sampled_from(["", "png"])),
    st.builds(d.SearchMade, st.just("who"), st.sampled_from([(), ("https://a.example",)]), st.booleans()),
    st.builds(d.ProviderStateAdded, fields, st.none() | keys),
    st.builds(d.CallOpened, keys, st.sampled_from(NAMES), st.sampled_from(["", "c", "d"]), fields),
    st.builds(d.CallArguments, keys, texts),
    st.just(d.UsageReported(Usage(input_tokens=1, output_tokens=1, total_tokens=2))),
    st.builds(d.Stopped, st.sampled_from(["end", "length", "content_filter"])),
)
problems = st.sampled_from(sorted(STATUS)).map(lambda code: d.Broke(Problem(code=code, message="Something broke.")))


def key_of(delta: d.Delta) -> object:
    """A key is that of one call only."""
    return delta.key if isinstance(delta, d.CallOpened) else object()


endings = st.sampled_from([None, "interrupted", "cancelled"]) | problems


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(deltas, max_size=12, unique_by=key_of), endings, st.booleans(), st.booleans(), st.booleans())
def test_any_deltas_become_a_legal_stream(
    written: list[d.Delta], ending: Any, raw: bool, for_codex: bool, sealed: bool
) -> None:
    lifecycle = Lifecycle(REQUEST, for_codex=for_codex)
    seal = (lambda text, pieces: f"sealed {text} {pieces}") if sealed else None
    emitter = Emitter(lifecycle, Tools(REQUEST), raw_reasoning=raw, seal=seal)
    events = [*lifecycle.begin(), *emitter.sign_of_life()]
    taken: list[d.Delta] = []
    for delta in [*written, *([ending] if isinstance(ending, d.Broke) else [])]:
        events += emitter.feed([delta])
        if emitter.over:
            break
        taken.append(delta)
        events += emitter.sign_of_life()
    if not emitter.over:
        events += emitter.stop(cast(Any, ending)) if isinstance(ending, str) else emitter.end()
    told = msgspec.to_builtins(events)
    check(told, for_codex=for_codex)
    judge(told)
    if isinstance(ending, str) and emitter.problem is None:
        return  # what is unfinished is given up
    parts = [part for item in told[-1]["response"]["output"] for part in parts_of(item)]
    refusals, no_refusals = (d.RefusalDelta, ()) if not for_codex else ((), d.RefusalDelta)
    assert shown(parts, "output_text", "text") == meant(taken, d.TextDelta, no_refusals)
    assert shown(parts, "refusal", "refusal") == meant(taken, refusals)
    thought = "reasoning_text" if raw else "summary_text"
    assert shown(parts, thought, "text") == meant(taken, d.ReasoningDelta)


def parts_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a message, or of reasoning."""
    return [*item.get("summary", []), *item.get("content", [])]


def shown(parts: list[dict[str, Any]], kind: str, field: str) -> str:
    """What the client got, without white space."""
    return "".join("".join([part[field] for part in parts if part["type"] == kind]).split())


def meant(taken: list[d.Delta], *kinds: Any) -> str:
    """What the model wrote. White space that opens no item is not sent."""
    return "".join("".join([delta.text for delta in taken if isinstance(delta, kinds)]).split())
