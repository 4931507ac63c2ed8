"""Converts the parts of a prompt to content blocks of the Messages API."""

from base64 import b64decode
from binascii import Error
from typing import Any, Final

from ...fetching.media_types import sniffed_base64
from ...fetching.url_policy import is_data_uri
from ...prompt.history import EMPTY_OUTPUT
from ...prompt.nouns import Audio, File, Image, Part, Parts, Text, media_of
from ..cached_ends import MARKED

Json = dict[str, Any]

AUDIO_LEFT_OUT: Final = "[A recording was left out here: this model cannot hear audio.]"
_TEXT_TYPES: Final = ("text/", "application/json", "application/xml")
"""How the media types of files begin that are sent as text: the API takes only PDF as data."""


def text_block(text: str) -> Json:
    """A block of text."""
    return {"type": "text", "text": text}


def part_block(part: Part) -> Json:
    """The block for a part of a message of the user, `MARKED` if the prompt is to be cached up to its end."""
    block = _block(part)
    if part.ends_cached:
        block[MARKED] = True
    return block


def _block(part: Part) -> Json:
    match part:
        case Text():
            return text_block(part.text)
        case Image():
            return {"type": "image", "source": _source(part.url, "image/png")}
        case File():
            return {"type": "document", "source": _document_source(part.url), "title": part.name}
        case Audio():
            return text_block(AUDIO_LEFT_OUT)


def result_block(call_id: str, parts: Parts, *, failed: bool = False) -> Json:
    """The output of a call. Servers refuse the error of a tool that is not text alone."""
    content = [_block(part) for part in parts] or [text_block(EMPTY_OUTPUT)]
    block: Json = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if failed and not media_of(parts):
        block["is_error"] = True
    if any(part.ends_cached for part in parts):
        block[MARKED] = True
    return block


def _source(url: str, otherwise: str) -> Json:
    if not is_data_uri(url):
        return {"type": "url", "url": url}
    head, _, data = url.partition(",")
    declared = head[5:].partition(";")[0].lower()
    return {"type": "base64", "media_type": sniffed_base64(data) or declared or otherwise, "data": data}


def _document_source(url: str) -> Json:
    source = _source(url, "application/pdf")
    if source["type"] == "url" or not source["media_type"].startswith(_TEXT_TYPES):
        return source
    try:
        text = b64decode(source["data"]).decode()
    except (Error, ValueError):  # no base64, or no UTF-8: the server says what is wrong with it
        return source
    return {"type": "text", "media_type": "text/plain", "data": text}
