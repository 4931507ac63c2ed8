"""Ways to break a stream, one fault at a time."""

import copy
from collections.abc import Callable
from typing import Any

Stream = list[dict[str, Any]]
Break = Callable[[Stream], object]


def at(stream: Stream, kind: str, nth: int = 0) -> int:
    """Where the nth event of a type stands."""
    return [place for place, event in enumerate(stream) if event["type"] == f"response.{kind}"][nth]


def change(kind: str, nth: int = 0, /, **fields: Any) -> Break:
    """Break an event: other values under some keys."""
    return lambda stream: stream[at(stream, kind, nth)].update(fields)


def change_in(kind: str, key: str, nth: int = 0, /, **fields: Any) -> Break:
    """Break the response, item or part within an event."""
    return lambda stream: stream[at(stream, kind, nth)][key].update(fields)


def in_output(index: int, **fields: Any) -> Break:
    """Break an item both where it is done and in the final output, so that the two agree."""

    def break_both(stream: Stream) -> None:
        done = [event for event in stream if event["type"] == "response.output_item.done"]
        item = next(event for event in done if event["output_index"] == index)["item"]
        place = stream[-1]["response"]["output"].index(item)
        item.update(fields)
        stream[-1]["response"]["output"][place].update(fields)

    return break_both


def drop(kind: str, nth: int = 0, key: str = "") -> Break:
    """Leave an event, or one of its keys, out."""
    if key:
        return lambda stream: stream[at(stream, kind, nth)].pop(key)
    return lambda stream: renumber(stream, lambda: stream.pop(at(stream, kind, nth)))


def repeat(kind: str, nth: int = 0) -> Break:
    """Say an event twice."""
    return lambda stream: renumber(
        stream, lambda: stream.insert(at(stream, kind, nth), copy.deepcopy(stream[at(stream, kind, nth)]))
    )


def move(kind: str, nth: int, to: str, to_nth: int = 0) -> Break:
    """Say an event earlier or later: where another one stands."""

    def step(stream: Stream) -> None:
        target = at(stream, to, to_nth)
        stream.insert(target, stream.pop(at(stream, kind, nth)))

    return lambda stream: renumber(stream, lambda: step(stream))


def renumber(stream: Stream, step: Callable[[], object]) -> None:
    """Number the events anew, so that it is not the number that is found fault with."""
    step()
    for number, event in enumerate(stream):
        event["sequence_number"] = number


def both(*breaks: Break) -> Break:
    """Break a stream in several places."""
    return lambda stream: [one(stream) for one in breaks]


def drop_last(stream: Stream) -> None:
    """Leave the last item out of the final output."""
    stream[-1]["response"]["output"].pop()


def in_silence(stream: Stream) -> None:
    """Tell a thought that is only white space."""
    item = stream[at(stream, "output_item.done")]["item"]
    for kind, key in (("delta", "delta"), ("done", "text")):
        change(f"reasoning_summary_text.{kind}", **{key: "\n"})(stream)
    for part in (stream[at(stream, "reasoning_summary_part.done")]["part"], item["summary"][0]):
        part["text"] = "\n"
    stream[-1]["response"]["output"][0] = item


def without_arguments(stream: Stream) -> None:
    """Tell a call that passes nothing at all."""
    in_output(2, arguments="")(stream)
    change("function_call_arguments.done", 1, arguments="")(stream)
    renumber(stream, lambda: stream.pop(at(stream, "function_call_arguments.delta", 1)))
