"""Texts with citations come back as the blocks that the server wrote."""

from typing import Any, Final

import pytest

from tests.support.chat_requests import user
from tests.support.messages_blocks import words
from tests.support.messages_requests import HI, answered, asked
from tests.wire.servers.anthropic import begins, block, ends, text

Json = dict[str, Any]

CITATION: Final = {
    "type": "web_search_result_location",
    "url": "https://a.example",
    "title": "A",
    "cited_text": "a",
    "encrypted_index": "eA==",
}
OF_A_FILE: Final = {"type": "char_location", "cited_text": "a", "document_index": 0, "start_char_index": 0}


def cited(index: int, words: str, *citations: Json) -> list[Json]:
    """The events of a block with citations."""
    deltas = [{"type": "citations_delta", "citation": each} for each in citations or (CITATION,)]
    return block(index, "text", {"type": "text_delta", "text": words}, *deltas, text="", citations=[])


def whole(text: str, *citations: Json) -> Json:
    """The same block as it goes back."""
    return {**words(text), "citations": list(citations or (CITATION,))}


def back(events: list[Json], replaced: tuple[str, str] = ("", ""), **rules: Any) -> list[Json]:
    """The assistant's blocks in the next turn. The client replaces a word of the text."""
    items = answered([*begins(), *events, *ends()], **rules)["output"]
    for item in items:
        for part in item.get("content") or ():
            if part["type"] == "output_text":
                part["text"] = part["text"].replace(*replaced)
    content: list[Json] = asked({"input": [HI, *items, user("Go")]}, **rules).body["messages"][1]["content"]
    return content


TWO: Final = [*cited(0, "Rome is warm."), *text(1, " But "), *cited(2, "Oslo is cold.", CITATION, CITATION)]
BACK: Final[dict[str, tuple[list[Json], tuple[str, str], list[Json]]]] = {
    "two": (TWO, ("", ""), [whole("Rome is warm."), words(" But "), whole("Oslo is cold.", CITATION, CITATION)]),
    "the first text changed": (TWO, ("warm", "hot"), [words("Rome is hot. But Oslo is cold.")]),
    "the second text changed": (TWO, ("cold", "hot"), [whole("Rome is warm."), words(" But Oslo is hot.")]),
    "all text removed": ([*TWO, *text(3, "!")], ("Rome is warm. But Oslo is cold.", ""), [words("!")]),
    "white space between": (
        [*cited(0, "Rome."), *text(1, "\n\n"), *cited(2, "Oslo."), *text(3, " ")],
        ("", ""),
        [whole("Rome.\n\n"), whole("Oslo. ")],
    ),
    "white space before": (
        [*text(0, "So:"), *cited(1, " "), *cited(2, "Oslo.")],
        ("", ""),
        [words("So: "), whole("Oslo.")],
    ),
    "white space that the client adds": (cited(0, "Rome."), ("Rome.", " \n Rome."), [whole(" \n Rome.")]),
    "a citation of a file": (cited(0, "Rome.", OF_A_FILE), ("", ""), [words("Rome.")]),
    "a citation without what is sealed": (
        cited(0, "Rome.", {**CITATION, "encrypted_index": None}),
        ("", ""),
        [words("Rome.")],
    ),
    "a block that comes whole": (
        block(0, "text", text="Rome.", citations=[CITATION]),
        ("", ""),
        [whole("Rome.")],
    ),
    "fields of the future": (cited(0, "Rome.", {**CITATION, "mood": 1}), ("", ""), [whole("Rome.")]),
}


@pytest.mark.parametrize(("events", "replaced", "blocks"), BACK.values(), ids=BACK)
def test_cited_texts_go_back_as_blocks_of_their_own(
    events: list[Json], replaced: tuple[str, str], blocks: list[Json]
) -> None:
    assert back(events, replaced) == blocks


def test_a_client_that_keeps_no_sealed_content_sends_plain_text() -> None:
    assert back(TWO, sealer=None) == [words("Rome is warm. But Oslo is cold.")]


def test_the_client_is_shown_one_text_with_its_annotations() -> None:
    message, state = answered([*begins(), *TWO, *ends()])["output"]
    [part] = message["content"]
    assert part["text"] == "Rome is warm. But Oslo is cold."
    spans = [part["text"][each["start_index"] : each["end_index"]] for each in part["annotations"]]
    assert spans == ["Rome is warm.", "Oslo is cold.", "Oslo is cold."]
    assert (state["type"], state["summary"]) == ("reasoning", [])
