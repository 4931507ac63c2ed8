"""Chunks of chat servers become deltas: what no transcript holds, since no server of theirs is scripted."""

from typing import Any, Final

import pytest

from app.dialects.chat.reader import ChunkReader
from app.emitter.deltas import AnnotationAdded, Delta, ImageWritten, TextDelta

PNG: Final = "iVBORw0KGgo="


def chunk(delta: dict[str, Any], **beside: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}], **beside}


def page(url: str, title: str = "") -> dict[str, Any]:
    return {"type": "url_citation", "url": url, "title": title}


def grounding(*supports: dict[str, Any]) -> dict[str, Any]:
    chunks = [{"web": {"uri": "https://a.example", "title": "A"}}, {"retrievedContext": {}}]
    return {"vertex_ai_grounding_metadata": [{"groundingChunks": chunks, "groundingSupports": list(supports)}]}


def support(start: int, end: int, text: str | None, *indices: int) -> dict[str, Any]:
    segment = {"startIndex": start, "endIndex": end} | ({} if text is None else {"text": text})
    return {"segment": segment, "groundingChunkIndices": list(indices)}


A: Final = page("https://a.example", "A")
ROWS: Final[list[tuple[str, list[dict[str, Any]], list[Delta], int]]] = [
    (
        "Perplexity's markers, and a source that no text refers to",
        [chunk({"content": "Cold [2]."}, citations=["https://b.example", "https://a.example"])],
        [TextDelta("Cold [2]."), AnnotationAdded(page("https://a.example"), 4, 1)],
        1,
    ),
    (
        "titles of Perplexity's results",
        [
            chunk(
                {"content": "[1]"},
                citations=["https://a.example"],
                search_results=[{"url": "https://a.example", "title": "A"}],
            )
        ],
        [TextDelta("[1]"), AnnotationAdded(A, 3, 0)],
        0,
    ),
    (
        "Gemini's offsets in bytes, or else its text; a source that is no page",
        [
            chunk(
                {"content": "Öl ist zäh."},
                **grounding(support(0, 3, "Öl", 0), support(0, 1, "zäh", 0), support(0, 3, None, 1)),
            )
        ],
        [TextDelta("Öl ist zäh."), AnnotationAdded(A, 11, 9), AnnotationAdded(A, 4, 1)],
        1,
    ),
    (
        "a citation before its text, repeated with each chunk",
        [
            chunk({"content": "O", "annotations": [{**A, "start_index": 0, "end_index": 4}]}),
            chunk({"content": "slo!", "annotations": [{**A, "start_index": 0, "end_index": 4}]}),
        ],
        [TextDelta("O"), TextDelta("slo!"), AnnotationAdded({**A, "start_index": 0, "end_index": 4}, 5, 1)],
        0,
    ),
    (
        "images as data and by address",
        [
            chunk(
                {
                    "images": [
                        {"image_url": {"url": f"data:image/jpeg;base64,{PNG}"}},
                        {"image_url": {"url": "file:///a"}},
                    ]
                }
            ),
            chunk({"content": [{"type": "image_url", "image_url": "https://a.example/b.png"}]}),
        ],
        [ImageWritten(PNG, "png"), TextDelta("![image](https://a.example/b.png)")],
        0,
    ),
]


@pytest.mark.parametrize(("chunks", "deltas", "left_out"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_chunks_become_deltas(chunks: list[dict[str, Any]], deltas: list[Delta], left_out: int) -> None:
    reader = ChunkReader(think_tags=False, logprobs=False, keeps_state=False)
    assert [delta for each in chunks for delta in reader.read(each)] + reader.rest() == deltas
    assert reader.citations_left_out == left_out
