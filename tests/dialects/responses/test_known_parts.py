"""Parts that a server of functions does not know, and ciphertext that it would take for words."""

from typing import Any, Final

import pytest

from app.prompt.content_parts import ENCRYPTED, NO_VIDEO
from app.prompt.item_reader import UNREADABLE
from tests.support.bridge_cases import CUSTOM, FUNCTION
from tests.support.relay_turns import Json, client_events, new_turn, on_functions
from tests.support.warning_sentences import sentences
from tests.wire.servers.responses import answer, message

SECRET: Final = "gAAAAABpZm9yZWlnbnNlcnZlcnNvbmx5Zm9yZWlnbg=="
VIDEO: Final = {"type": "input_video", "video_url": "https://a.example/v.mp4"}
SEALED: Final = {"type": "encrypted_content", "encrypted_content": SECRET}
PLAIN: Final = {"type": "encrypted_content", "encrypted_content": "Go"}
TEXT: Final = {"type": "input_text", "text": "Hi", "of_tomorrow": 1}
NO_VIDEOS: Final = "was left out: this server sends no videos."


def words(text: str) -> Json:
    return {"type": "input_text", "text": text}


@pytest.mark.parametrize(
    ("parts", "sent", "warned"),
    [
        ([TEXT, VIDEO], [TEXT, words(NO_VIDEO)], [f"[1] {NO_VIDEOS}"]),
        ([SEALED, TEXT], [TEXT], [f"[0] was left out: {ENCRYPTED}"]),
        (
            [PLAIN, VIDEO, SEALED],
            [words("Go"), words(NO_VIDEO)],
            [f"[1] {NO_VIDEOS}", f"[2] was left out: {ENCRYPTED}"],
        ),
    ],
)
@pytest.mark.parametrize("tool", [FUNCTION, CUSTOM], ids=["function", "custom"])
def test_such_parts_are_told_in_words_or_left_out(
    parts: list[Json], sent: list[Json], warned: list[str], tool: Json
) -> None:
    """In messages and in outputs, of functions and of tools that become functions."""
    called = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": parts}
    body = [{"role": "user", "content": parts}, called, output]
    relayed = on_functions(tool, input=body)
    assert relayed.ask["input"] == [{"role": "user", "content": sent}, called, {**output, "output": sent}]
    paths = ["input[0].content", "input[2].output"]
    assert sentences(relayed.warnings) == [f"{path}{what}" for path in paths for what in warned]
    assert new_turn(body={"input": body}).ask["input"] == body  # a server that knows all gets all


def test_nothing_remains_of_a_message_or_an_output_that_only_another_server_can_read() -> None:
    called = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c", "output": [SEALED]}
    history: list[Any] = [{"role": "user", "content": [SEALED]}, called, output]
    relayed = on_functions(FUNCTION, history=history)
    assert relayed.ask["input"][1:] == [called, {**output, "output": "(no output)"}]
    assert sentences(relayed.warnings) == [
        f"input[1].content[0] was left out: {ENCRYPTED}",
        "input[1] was left out: it is empty.",
        f"input[3].output[0] was left out: {ENCRYPTED}",
    ]


def test_a_refusal_of_the_model_is_told_in_its_words() -> None:
    """Ollama refuses such a part, and with it the whole conversation."""
    said = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    relayed = on_functions(history=[said])
    told = {"type": "output_text", "text": "I cannot.", "annotations": []}
    assert relayed.ask["input"][1:] == [{**said, "content": [told]}]
    assert sentences(relayed.warnings) == []
    assert new_turn(body={"input": [said]}).ask["input"] == [said]


@pytest.mark.parametrize(
    "parts", [["x", None, {}], [{"type": ["input_video"]}], [{"type": "refusal"}], [{"type": "encrypted_content"}]]
)
def test_parts_of_items_of_tomorrow_may_have_any_form(parts: list[Any]) -> None:
    item = {"type": "of_tomorrow", "content": parts, "output": parts}
    assert on_functions(history=[item]).ask["input"][1] == item


@pytest.mark.parametrize(
    ("item", "sent", "warned"),
    [
        ({"summary": []}, None, f"input[1] was left out: {UNREADABLE}"),
        (
            {"summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            f"input[1].encrypted_content was ignored: {UNREADABLE} Its text is sent instead.",
        ),
    ],
)
def test_reasoning_that_openai_encrypted_is_not_sent_to_a_server_that_cannot_read_it(
    item: Json, sent: Json | None, warned: str
) -> None:
    """Ollama takes `encrypted_content` for the words of the model."""
    item = {"type": "reasoning", "id": "rs_1", "encrypted_content": SECRET, **item}
    relayed = on_functions(history=[item])
    assert relayed.ask["input"][1:] == ([] if sent is None else [sent])
    assert sentences(relayed.warnings) == [warned]
    removed = client_events(relayed, answer(message("msg_1", "Hi")))[-1]["response"].get("input_transformations", [])
    assert [each["id"] for each in removed] == (["rs_1"] if sent is None else [])
    kept = on_functions(history=[item], options={"ids": "keep"})  # the server may have given it to the client itself
    assert kept.ask["input"][1:] == [item]
    assert new_turn(body={"input": [item]}).ask["input"] == [item]
