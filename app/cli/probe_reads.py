"""How `am-proxy check --probe` judges the answers of a lane: whether they are whole, and what is wrong. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

Json = dict[str, Any]

MOST_TOKENS: Final = 16
"""Of an answer. OpenAI's Responses take no smaller limit, and the question wants a longer answer."""
LIMITED: Final = frozenset({"length", "max_tokens", "model_length"})
"""Finish reasons that tell of a limit."""
LAST_WORDS: Final = ("thirty", "30")
"""How a whole answer to the question ends: it counts that far."""
ENDS: Final = frozenset({"response.completed", "response.incomplete"})


class Heard(NamedTuple):
    """What came of one lane."""

    state: Literal["works", "not spoken", "unclear"]
    words: str
    faults: tuple[str, ...] = ()
    """What clients would get wrong, though the lane works."""

    def with_faults(self, *faults: str) -> "Heard":
        """The same, with more of them, which the words tell too."""
        if not faults:
            return self
        joint = "; but " if not self.faults else ", "
        return self._replace(words=f"{self.words}{joint}{', '.join(faults)}", faults=(*self.faults, *faults))


def read_chunks(chunks: list[Json], *, limited: bool) -> Heard:
    """An answer of chat completions. `limited`: the limit was asked for."""
    choices = [choice for chunk in chunks for choice in _list(chunk.get("choices")) if isinstance(choice, dict)]
    finish = next((choice["finish_reason"] for choice in choices if choice.get("finish_reason")), None)
    if not choices:
        return Heard("not spoken", "no: the answer is empty")
    if finish is None:
        return Heard("unclear", "no: it never says why it ends (finish_reason), so every answer counts as cut off")
    streamed = "streamed" if len(chunks) > 1 else "not streamed, all in one piece"
    usages = [chunk["usage"] for chunk in chunks if isinstance(chunk.get("usage"), dict)]
    usage = "with usage" if usages else "without usage, which is then estimated"
    heard = Heard("works", f"yes: {streamed}, {usage}, finish reason {str(finish)[:40]}")
    spent = usages[-1].get("completion_tokens") if usages else None
    told = str(finish).lower() in LIMITED
    return heard.with_faults(*_limit_faults(spent, _chat_text(choices), limited=limited, told=told))


def read_events(events: list[Json], *, limited: bool) -> Heard:
    """An answer of Responses. `limited`: the limit was asked for."""
    if not events:
        return Heard("not spoken", "no: the answer is empty")
    kinds = [str(event["type"])[:60] for event in events]
    response = _dict(events[-1].get("response"))
    if kinds[-1] == "response.failed":
        told = _dict(response.get("error")).get("message")
        return Heard("unclear", f"no: it speaks them, but the answer failed: {told}")
    whole = kinds[0] == "response.created" and kinds[-1] in ENDS
    if not whole or (_list(response.get("output")) and "response.output_item.done" not in kinds):
        return Heard("not spoken", f"no: its events are not those of Responses, from {kinds[0]} to {kinds[-1]}")
    usage = "with usage" if isinstance(response.get("usage"), dict) else "without usage"
    heard = Heard("works", f"yes: {len(events)} events from {kinds[0]} to {kinds[-1]}, {usage}")
    spent = _dict(response.get("usage")).get("output_tokens")
    told = response.get("status") == "incomplete"
    wrong_name = told != (kinds[-1] == "response.incomplete")
    faults = [*_position_faults(events), *_id_faults(events)]
    faults += _limit_faults(spent, _events_text(events), limited=limited, told=told)
    if not isinstance(_dict(events[0].get("response")).get("output"), list):
        faults.append("no output in response.created")
    return heard.with_faults(*faults, *(["a status that its last event contradicts"] if wrong_name else []))


def calls_custom_tool(events: Sequence[Json], name: str) -> bool:
    """Whether the answer holds a call of this custom tool."""
    output = _list(_dict(events[-1].get("response")).get("output")) if events else []
    done = [event.get("item") for event in events if event.get("type") == "response.output_item.done"]
    items = [_dict(item) for item in (*output, *done)]
    return any(item.get("type") == "custom_tool_call" and item.get("name") == name for item in items)


def _limit_faults(spent: Any, text: str, *, limited: bool, told: bool) -> Iterator[str]:
    """Of the question's answer only a part fits the limit: as much, and called a whole one, it was cut in silence.

    Where nothing is counted, the text shows it: without the last word the answer is not whole.
    """
    counted = type(spent) is int and spent > 0
    whole = any(word in text.lower() for word in LAST_WORDS)
    if not limited:
        yield "it refuses the limit of an answer"
    elif spent > MOST_TOKENS if counted else whole:
        yield "it does not keep to the limit of an answer"
    elif not told and (spent == MOST_TOKENS if counted else not whole):
        yield "an answer that the limit cut is told as a whole one"


def _chat_text(choices: Sequence[Json]) -> str:
    said = [_dict(choice.get(key)).get("content") for choice in choices for key in ("delta", "message")]
    return "".join(text for text in said if isinstance(text, str))


def _events_text(events: Sequence[Json]) -> str:
    said = [event.get("delta") for event in events if event["type"] == "response.output_text.delta"]
    return "".join(text for text in said if isinstance(text, str))


def _position_faults(events: Sequence[Json]) -> Iterator[str]:
    for place, kinds in (
        ("output_index", ("response.output_item.", "response.content_part.", "response.output_text.")),
        ("content_index", ("response.content_part.", "response.output_text.")),
    ):
        about = [event for event in events if str(event.get("type")).startswith(kinds)]
        if any(type(event.get(place)) is not int for event in about):
            yield f"no {place}"


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


def _list(told: Any) -> list[Any]:
    return told if isinstance(told, list) else []


def _dict(told: Any) -> Json:
    return told if isinstance(told, dict) else {}
