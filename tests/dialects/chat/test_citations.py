"""Citations stand where they belong, whoever cites and however they count."""

from typing import Any

import pytest

from app.dialects.chat.byte_offsets import TIMES
from app.dialects.chat.citations import LOOKED_AT, MARKERS, MOST, Citations
from tests.support.chat_answers import client_events, turn
from tests.wire.script import Chunk, calls, cites, delta, says, stops, thinks

A, B = "https://a.example", "https://b.example"


def claude(**fields: Any) -> Chunk:
    """What litellm tells of Claude beside its text."""
    return delta(provider_specific_fields=fields)


def claude_cites(url: str) -> Chunk:
    citation = {"type": "web_search_result_location", "url": url, "title": "A", "cited_text": "source"}
    return claude(citation=citation)


BLOCK = claude(block="begins")


def gemini(text: str, *supports: dict[str, Any]) -> Chunk:
    """The last chunk of a grounded answer, with what litellm makes of it."""
    pages = [{"web": {"uri": A, "title": "A"}}, {"web": {"uri": B, "title": "B"}}, {"maps": {}}]
    wrong = [{"type": "url_citation", "url_citation": {"url": A, "title": "A", "start_index": 1, "end_index": 2}}]
    metadata = [{"groundingChunks": pages, "groundingSupports": list(supports)}]
    return {**delta(content=text, annotations=wrong), "vertex_ai_grounding_metadata": metadata}


def support(text: str | None, start: int, end: int, *seats: int) -> dict[str, Any]:
    segment = {"startIndex": start, "endIndex": end} if start else {"endIndex": end}
    return {"segment": segment if text is None else {**segment, "text": text}, "groundingChunkIndices": list(seats)}


def perplexity(chunk: Chunk, *urls: str) -> Chunk:
    return {**chunk, "citations": list(urls), "search_results": [{"title": "A", "url": A}]}


CASES: dict[str, tuple[list[Chunk], list[tuple[str, str]], int]] = {
    "in the chunk behind": ([says("Oslo is cold."), cites(A, "A", 0, 4)], [(A, "Oslo")], 0),
    "before its text": ([cites(A, "A", 5, 7), says("Oslo "), says("is cold.")], [(A, "is")], 0),
    "beyond the end of the text": ([says("Oslo"), cites(A, "A", 2, 99)], [(A, "lo")], 0),
    "all of it beyond the end": ([says("Oslo"), cites(A, "A", 50, 99)], [(A, "")], 0),
    "without a place": ([cites(A, "A", 0, 0), says("Oslo")], [(A, "")], 0),
    "two of one text": ([says("Oslo"), cites(A, "A", 0, 4), cites(B, "B", 0, 4)], [(A, "Oslo"), (B, "Oslo")], 0),
    "in the second message, counted over both": (
        [says("One."), thinks("hm"), says("Two is it."), cites(A, "A", 4, 7)],
        [(A, "Two")],
        0,
    ),
    "begun in the first message": (
        [says("One."), thinks("hm"), says("Two."), cites(A, "A", 2, 7)],
        [(A, "Two")],
        0,
    ),
    "of a message that is told already": ([says("One."), thinks("hm"), says("Two."), cites(A, "A", 0, 3)], [], 1),
    "behind a call": ([says("One."), calls(0, "f", arguments="{}"), cites(A, "A", 0, 3)], [], 1),
    "of something that is no page": ([says("Hi"), delta(annotations=[{"type": "file_citation"}, {"url": 1}])], [], 2),
    "Claude, ahead of its text": (
        [BLOCK, says("I found: "), BLOCK, claude_cites(A), says("sky "), says("is blue"), BLOCK, says(".")],
        [(A, "sky is blue")],
        0,
    ),
    "Claude, behind its text": (
        [BLOCK, says("sky is blue"), claude_cites(A), claude_cites(B), BLOCK, says(".")],
        [(A, "sky is blue"), (B, "sky is blue")],
        0,
    ),
    "Claude, at the end": ([BLOCK, says("So: "), BLOCK, says("blue"), claude_cites(A)], [(A, "blue")], 0),
    "Claude, of a document": ([says("Hi"), claude(citation={"type": "page_location", "document_index": 0})], [], 1),
    "Gemini, in bytes": (
        [says("Straße: "), gemini("für Öl.", support("für Öl", 9, 17, 0, 1), support("Straße", 0, 7, 1))],
        [(A, "für Öl"), (B, "für Öl"), (B, "Straße")],
        0,
    ),
    "Gemini, whose numbers are off": ([gemini("Öl ist da.", support("ist", 1, 4, 0))], [(A, "ist")], 0),
    "Gemini, whose words are not there": ([gemini("Öl.", support("Gas", 0, 3, 0))], [], 1),
    "Gemini, a place on a map": ([gemini("Oslo", support("Oslo", 0, 4, 2, 7))], [], 2),
    "Gemini, in the middle of a letter": ([gemini("Öl", support(None, 1, 3, 0))], [], 1),
    "Gemini, whose indices are no list": (
        [gemini("Oslo", {**support("Oslo", 0, 4), "groundingChunkIndices": 7}, support("Oslo", 0, 4, 0))],
        [(A, "Oslo")],
        0,
    ),
    "Perplexity": (
        [perplexity(says("Blue[1] and"), A, B), perplexity(says(" cold[1][9]."), A, B)],
        [(A, "[1]"), (A, "[1]")],
        1,
    ),
}


@pytest.mark.parametrize(("chunks", "expected", "left_out"), CASES.values(), ids=CASES.keys())
def test_a_citation_stands_at_the_text_it_is_about(
    chunks: list[Chunk], expected: list[tuple[str, str]], left_out: int
) -> None:
    """In the final text of its own part. What cannot be placed is left out and counted for the log."""
    talk = turn(tools=[{"type": "function", "name": "f", "parameters": {}}])
    events = client_events(talk, *chunks, stops())
    parts = [part for item in events[-1]["response"]["output"] if item["type"] == "message" for part in item["content"]]
    cited = [
        (entry["url"], part["text"][entry["start_index"] : entry["end_index"]])
        for part in parts
        for entry in part["annotations"]
    ]
    assert cited == expected
    assert talk.notes.get("citations_left_out", 0) == left_out


@pytest.mark.parametrize(
    ("text", "cited", "left_out"),
    [
        ("[1]" * MARKERS, MOST, MARKERS - MOST),
        ("[1]" * (MARKERS + 9), MOST, MARKERS - MOST + 1),
        ("[2]" * MARKERS + "[1]", 0, 1 + 1),
        ("[1]" + "a" * LOOKED_AT + "[1]", 1, 1),
    ],
    ids=["as many markers as are looked at", "more", "others before", "behind a long text"],
)
def test_markers_are_looked_for_as_far_as_that_is_quick(text: str, cited: int, left_out: int) -> None:
    citations = Citations()
    citations.read(perplexity(says(text), A), {})
    citations.add_text(text)
    assert (len(citations.rest()), citations.left_out) == (cited, left_out)


@pytest.mark.parametrize(("off", "cited"), [(0, 300), (1, TIMES - 1)])
def test_words_are_looked_for_in_the_whole_text_only_so_often(off: int, cited: int) -> None:
    """Numbers that are right cost their words alone."""
    words = [f"w{number:03d}" for number in range(300)]
    starts = range(off, 4 * len(words), 4)
    supports = [support(word, start, start + 4, 0) for word, start in zip(words, starts, strict=True)]
    citations = Citations()
    citations.read(gemini("".join(words), *supports), {})
    citations.add_text("".join(words))
    found = citations.rest()
    assert (len(found), citations.left_out) == (cited, 300 - cited)
