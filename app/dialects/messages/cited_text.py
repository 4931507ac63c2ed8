"""Text with its citations, which the server wants back to cite the same pages again.

A client keeps neither the borders of blocks nor what the server wrote into a citation, so both are sealed. They are put
back where the client returns the text unchanged.
"""

from typing import Any, Final

from ..surrogates import mended
from .content_blocks import text_block

Json = dict[str, Any]

CITED: Final = "cited"
"""The field of provider state that holds the blocks of text with citations before it."""
_FIELDS: Final = ("url", "title", "cited_text", "encrypted_index")


def returned_citation(citation: Any) -> Json | None:
    """What the server wants back of a citation; None if that is nothing: it is not about a search."""
    if not isinstance(citation, dict) or not isinstance(citation.get("encrypted_index"), str):
        return None
    fields = {name: mended(value) if isinstance(value := citation.get(name), str) else None for name in _FIELDS}
    return {"type": "web_search_result_location", **fields}


def put_citations_back(blocks: list[Json], state: Json) -> None:
    """Splits the text at the end of these blocks into those that the server wrote, with their citations."""
    cited = state.get(CITED)
    if not isinstance(cited, list):
        return
    first = len(blocks)
    while first and blocks[first - 1].keys() == {"type", "text"}:
        first -= 1
    text = "".join([block["text"] for block in blocks[first:]])
    parts: list[Json] = []
    at = 0
    for block in cited:
        found = text.find(block["text"], at)
        if found < 0:  # the client has changed the text: the rest is sent without citations
            break
        _add_text(parts, text[at:found])
        parts.append(block)
        at = found + len(block["text"])
    _add_text(parts, text[at:])
    if len(parts) > 1 and not parts[0]["text"].strip():
        space = parts.pop(0)["text"]
        parts[0] = {**parts[0], "text": space + parts[0]["text"]}
    blocks[first:] = parts


def _add_text(parts: list[Json], text: str) -> None:
    """Adds text. White space alone becomes a part of another block: the API refuses blank blocks."""
    if text and parts and not text.strip():
        parts[-1] = {**parts[-1], "text": parts[-1]["text"] + text}
    elif text:
        parts.append(text_block(text))
