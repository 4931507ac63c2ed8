"""Reads the answers to a probe: whether they are complete and streamed, and which faults clients would see."""

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal, NamedTuple

from ..dialects.chat.decode import STOPPED, ChunkReader
from ..dialects.messages.message_reader import MessageReader
from ..emitter.deltas import CallArguments, CallOpened, ReasoningDelta, Stopped, TextDelta, UsageReported
from ..protocol.problems import Problem

Json = dict[str, Any]

COUNT: Final = "Count from one to thirty, in words."
LAST_WORDS: Final = ("thirty", "30")
"""The end of a complete answer to `COUNT`."""
MOST_TOKENS: Final = 16
"""A limit that is shorter than the answer to `COUNT`. OpenAI's Responses API accepts no smaller one."""
ENDS: Final = frozenset({"response.completed", "response.incomplete"})


class FoundTools(NamedTuple):
    """How a server with the Responses API gets tools best."""

    sent_as: Literal["native", "functions"]
    message: str
    """The text to print about it."""
    faults: tuple[str, ...] = ()
    """Why it is no use to agents in either way."""


class ProbeAnswer(NamedTuple):
    """One answer of an upstream. Times are in seconds since it was asked."""

    state: Literal["works", "unsupported", "unclear"]
    """Whether the upstream supports this dialect; unclear if it may, but the answer failed."""
    message: str
    """The text to print about it."""
    faults: tuple[str, ...] = ()
    """Faults that clients would see, although it works."""
    problem: Problem | None = None
    """Why there is no answer."""
    first: float = 0
    whole: float = 0
    pieces: int = 0
    """The number of pieces of its content."""
    counted: bool = False
    """Whether it had usage."""
    spent: Any = None
    """Its tokens, as counted by the upstream."""
    text: str = ""
    cut: bool = False
    """Whether the upstream reports that the limit cut it."""
    calls: frozenset[tuple[str, str]] = frozenset()
    """The type and the name of each call of a tool, the name after that of its namespace: `space/name`."""
    tools: FoundTools | None = None
    """Of Responses, and if its tools are of use to agents."""

    def with_faults(self, *faults: str) -> "ProbeAnswer":
        """The same answer with more faults, which the text names too."""
        if not faults:
            return self
        joint = ", " if self.faults else "; but "
        return self._replace(message=f"{self.message}{joint}{', '.join(faults)}", faults=(*self.faults, *faults))


def read_chunks(chunks: Sequence[Json], times: Sequence[float]) -> ProbeAnswer:
    """Reads an answer of chat completions."""
    reader = ChunkReader()
    read = [(when, reader.read(chunk)) for when, chunk in zip(times, chunks, strict=True)]
    deltas = [delta for _, each in read for delta in each] + reader.rest()
    content = [when for when, each in read if any(not isinstance(delta, Stopped | UsageReported) for delta in each)]
    choices = [choice for chunk in chunks for choice in _list(chunk.get("choices")) if isinstance(choice, dict)]
    finish = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), None)
    if not choices:
        return ProbeAnswer("unsupported", "no: the answer is empty")
    if finish is None:
        return ProbeAnswer(
            "unclear", "no: it never says why it ends (finish_reason), so every answer counts as cut off"
        )
    streamed = "streamed" if len(chunks) > 1 else "not streamed, all in one piece"
    usages = [chunk["usage"] for chunk in chunks if isinstance(chunk.get("usage"), dict)]
    usage = "with usage" if usages else "without usage, which is then estimated"
    return ProbeAnswer(
        "works",
        f"yes: {streamed}, {usage}, finish reason {str(finish)[:40]}",
        first=content[0] if content else 0,
        pieces=len(content),
        counted=bool(usages),
        spent=usages[-1].get("completion_tokens") if usages else None,
        text="".join(delta.text for delta in deltas if isinstance(delta, TextDelta)),
        cut=STOPPED.get(str(finish).lower()) == Stopped("length"),
        calls=frozenset(("function_call", delta.name) for delta in deltas if isinstance(delta, CallOpened)),
    )


def read_messages(events: Sequence[Json], times: Sequence[float]) -> ProbeAnswer:
    """Reads an answer of the Messages API."""
    reader = MessageReader()
    read = [(when, reader.read(event)) for when, event in zip(times, events, strict=True)]
    deltas = [delta for _, each in read for delta in each] + reader.rest()
    shown = (TextDelta, ReasoningDelta, CallOpened, CallArguments)
    content = [when for when, each in read if any(isinstance(delta, shown) for delta in each)]
    stops = [delta for delta in deltas if isinstance(delta, Stopped)]
    usages = [delta.usage for delta in deltas if isinstance(delta, UsageReported)]
    if not stops:
        return ProbeAnswer("unclear", "no: it never says why it ends (stop_reason), so every answer counts as cut off")
    usage = "with usage" if usages else "without usage, which is then estimated"
    return ProbeAnswer(
        "works",
        f"yes: {len(events)} events, {usage}",
        first=content[0] if content else 0,
        pieces=len(content),
        counted=bool(usages),
        spent=usages[-1].output_tokens if usages else None,
        text="".join(delta.text for delta in deltas if isinstance(delta, TextDelta)),
        cut=stops[-1] == Stopped("length"),
        calls=frozenset(("function_call", delta.name) for delta in deltas if isinstance(delta, CallOpened)),
    )


def read_events(events: Sequence[Json], times: Sequence[float]) -> ProbeAnswer:
    """Reads an answer of Responses."""
    if not events:
        return ProbeAnswer("unsupported", "no: the answer is empty")
    kinds = [str(event["type"])[:60] for event in events]
    response = _dict(events[-1].get("response"))
    if kinds[-1] == "response.failed":
        reason = _dict(response.get("error")).get("message")
        return ProbeAnswer("unclear", f"no: it speaks them, but the answer failed: {reason}")
    whole = kinds[0] == "response.created" and kinds[-1] in ENDS
    if not whole or (_list(response.get("output")) and "response.output_item.done" not in kinds):
        return ProbeAnswer("unsupported", f"no: its events are not those of Responses, from {kinds[0]} to {kinds[-1]}")
    counted = isinstance(response.get("usage"), dict)
    usage = "with usage" if counted else "without usage"
    content = [when for when, event in zip(times, events, strict=True) if isinstance(event.get("delta"), str)]
    done = [event.get("item") for event in events if event["type"] == "response.output_item.done"]
    items = [_dict(item) for item in (*_list(response.get("output")), *done)]
    return ProbeAnswer(
        "works",
        f"yes: {len(events)} events from {kinds[0]} to {kinds[-1]}, {usage}",
        first=content[0] if content else 0,
        pieces=len(content),
        counted=counted,
        spent=_dict(response.get("usage")).get("output_tokens"),
        text="".join(_texts(events)),
        cut=response.get("status") == "incomplete",
        calls=frozenset((str(item.get("type")), _full_name(item)) for item in items),
    ).with_faults(*_event_faults(events, kinds[-1], response))


def limit_faults(answer: ProbeAnswer, *, limited: bool) -> Iterator[str]:
    """The faults about the limit of an answer to `COUNT`. `limited`: it was asked with `MOST_TOKENS`.

    Only a part of the answer fits the limit. Without usage, the text shows whether it is complete.
    """
    counted = type(answer.spent) is int and answer.spent > 0
    whole = any(word in answer.text.lower() for word in LAST_WORDS)
    if not limited:
        yield "it refuses the limit of an answer"
    elif answer.spent > MOST_TOKENS if counted else whole:
        yield "it does not keep to the limit of an answer"
    elif not answer.cut and (answer.spent == MOST_TOKENS if counted else not whole):
        yield "it does not say that the limit cut the answer"


def _event_faults(events: Sequence[Json], last: str, response: Json) -> Iterator[str]:
    yield from _position_faults(events)
    yield from _id_faults(events)
    if not isinstance(_dict(events[0].get("response")).get("output"), list):
        yield "no output in response.created"
    if (response.get("status") == "incomplete") != (last == "response.incomplete"):
        yield "a status that its last event contradicts"


def is_refused(answer: ProbeAnswer) -> bool:
    """Whether the upstream refused the question."""
    return answer.problem is not None and answer.problem.shape.status == HTTPStatus.BAD_REQUEST


def _full_name(item: Json) -> str:
    name, space = item.get("name"), item.get("namespace")
    return f"{space}/{name}" if space else str(name)


def _texts(events: Sequence[Json]) -> Iterator[str]:
    for event in events:
        if event["type"] == "response.output_text.delta" and isinstance(event.get("delta"), str):
            yield event["delta"]


def _position_faults(events: Sequence[Json]) -> Iterator[str]:
    for position, kinds in (
        ("output_index", ("response.output_item.", "response.content_part.", "response.output_text.")),
        ("content_index", ("response.content_part.", "response.output_text.")),
    ):
        about = [event for event in events if str(event.get("type")).startswith(kinds)]
        if any(type(event.get(position)) is not int for event in about):
            yield f"no {position}"


def _id_faults(events: Sequence[Json]) -> Iterator[str]:
    responses = [event["response"] for event in events if isinstance(event.get("response"), dict)]
    if any(type(response.get("created_at")) is not int for response in responses):
        yield "created_at is no whole number"
    if len({str(response.get("id", "")) for response in responses} - {""}) != 1:
        yield "the response's id changes"
    done = [_dict(event.get("item")).get("id") for event in events if event["type"] == "response.output_item.done"]
    last = [_dict(item).get("id") for item in _list(responses[-1].get("output"))]
    named = [event.get("item_id") for event in events if str(event["type"]).startswith("response.output_text.")]
    if (last and done != last) or not all(isinstance(name, str) and name in done for name in [*done, *named]):
        yield "ids of items change"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
