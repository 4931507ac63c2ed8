"""Images that a model writes, as `image_generation_call` items."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions
from tests.support.chat_answers import client_events, turn
from tests.support.event_lines import event_lines
from tests.wire.script import Chunk, calls, delta, more, says, stops, thinks

PNG = "iVBORw0KGgo="


def draws(url: str) -> Chunk:
    return delta(images=[{"type": "image_url", "image_url": {"url": url}, "index": 0}])


IMAGE = draws(f"data:image/png;base64,{PNG}")


def made(result: str, kind: str | None = "png", number: int = 2) -> dict[str, Any]:
    item = {"type": "image_generation_call", "id": f"ig_AM-{number}", "status": "completed", "result": result}
    return item if kind is None else item | {"output_format": kind}


def test_an_image_is_told_by_the_events_of_its_making() -> None:
    """The item of its `done` is the one of the final response."""
    events = client_events(turn(), IMAGE, stops())
    spot = {"output_index": 0, "item_id": "ig_AM-2"}
    assert [event for event in events if "response" not in event] == [
        {
            "type": "response.output_item.added",
            "sequence_number": 2,
            "output_index": 0,
            "item": {"type": "image_generation_call", "id": "ig_AM-2", "status": "in_progress"},
        },
        {"type": "response.image_generation_call.in_progress", "sequence_number": 3, **spot},
        {"type": "response.image_generation_call.generating", "sequence_number": 4, **spot},
        {"type": "response.image_generation_call.completed", "sequence_number": 5, **spot},
        {"type": "response.output_item.done", "sequence_number": 6, "output_index": 0, "item": made(PNG)},
    ]
    assert events[-1]["response"]["output"] == [made(PNG)]


def test_it_closes_words_and_thoughts_and_stands_beside_calls() -> None:
    chunks = [
        thinks("hm"), says("Here:"), IMAGE, says("and"), calls(0, "f", id="c1"), IMAGE, more(0, "{}"), stops()
    ]  # fmt: skip
    events = client_events(turn(), *chunks)
    result = [line for line in event_lines(events) if "added" in line or "done" in line]
    assert [line for line in result if "text" not in line] == [
        "0 added reasoning",
        "0 done reasoning completed",
        "1 added message",
        "1 done message completed",
        "2 added image_generation_call",
        "2 done image_generation_call completed",
        "3 added message",
        "3 done message completed",
        "4 added function_call f c1",
        "5 added image_generation_call",
        "5 done image_generation_call completed",
        "4 done function_call completed",
    ]


@pytest.mark.parametrize(
    ("chunk", "item"),
    [
        (draws("data:image/jpeg;base64,/9j/4AAQ"), made("/9j/4AAQ", "jpeg")),
        (draws("data:image/jpeg;base64,iVBORw0KGgo="), made(PNG)),
        (draws("data:image/avif;base64,AAAA"), made("AAAA", "avif")),
        (draws("data:;base64,AAAA"), made("AAAA", None)),
        (delta(images=[{"image_url": f"data:image/png;base64,{PNG}"}]), made(PNG)),
        (delta(content=[{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]), made(PNG)),
    ],
)
def test_what_it_is_its_bytes_say_and_if_they_do_not_its_address(chunk: Chunk, item: dict[str, Any]) -> None:
    assert client_events(turn(), chunk, stops())[-1]["response"]["output"] == [item]


def test_one_that_lies_elsewhere_is_shown_by_its_address() -> None:
    output = client_events(turn(), draws("https://a.example/cat.png"), stops())[-1]["response"]["output"]
    assert output[0]["content"][0]["text"] == "![image](https://a.example/cat.png)"


@pytest.mark.parametrize("odd", [None, 7, [7], [{"image_url": None}], [{"image_url": {"url": ""}}], [{}]])
def test_what_is_no_image_says_nothing(odd: Any) -> None:
    assert (
        client_events(turn(), says("Hi"), delta(images=odd), stops())[-1]["response"]["output"][0]["type"] == "message"
    )


def test_a_model_that_writes_images_is_asked_for_them_and_its_tool_is_no_surprise() -> None:
    tools = [{"type": "image_generation"}]
    plain, painter = turn(tools=tools), turn(ChatOptions(model=ModelOptions(image_output=True)), tools=tools)
    assert "modalities" not in plain.ask
    assert len(plain.warnings) == 1
    assert painter.ask["modalities"] == ["image", "text"]
    assert len(painter.warnings) == 0
