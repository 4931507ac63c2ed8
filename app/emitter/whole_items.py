"""Output items without deltas: an image, a search of the web, and an item that no model wrote."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from msgspec import UNSET
from msgspec.structs import replace

from ..protocol import events as e
from ..protocol.output_items import ImageGenerationCall, OutputItem, WebSearchCall
from .deltas import ImageWritten, ItemWritten, SearchMade
from .open_items import ItemPosition

Make = Callable[[ItemPosition], tuple[OutputItem, list[e.Event]]]
"""Makes an item and all of its events."""


def as_whole(delta: ImageWritten | SearchMade | ItemWritten) -> tuple[str, Make]:
    """The prefix of the id of the item that this delta holds, and the function that makes it."""
    match delta:
        case ImageWritten():
            return "ig", partial(image, delta=delta)
        case SearchMade():
            return "ws", partial(search, delta=delta)
        case ItemWritten():
            return delta.id_prefix, partial(whole_item, delta=delta)


def search(position: ItemPosition, delta: SearchMade) -> tuple[WebSearchCall, list[e.Event]]:
    """A search as a call of OpenAI's web search, which clients know how to show."""
    action: dict[str, Any] = {"type": "search", "query": delta.query, "queries": [delta.query]}
    added = WebSearchCall(id=position.id, status="in_progress", action=action)
    if delta.urls:
        action = {**action, "sources": [{"type": "url", "url": url} for url in delta.urls]}
    status: Literal["failed", "completed"] = "failed" if delta.failed else "completed"
    item = WebSearchCall(id=position.id, status=status, action=action)
    return item, [
        position.item(e.OutputItemAdded, item=added),
        position.within(e.WebSearchInProgress),
        position.within(e.WebSearchSearching),
        position.within(e.WebSearchCompleted),
        position.item(e.OutputItemDone, item=item),
    ]


def image(position: ItemPosition, delta: ImageWritten) -> tuple[ImageGenerationCall, list[e.Event]]:
    """An image as a call of OpenAI's image generation, which clients know how to show, with all of its events."""
    added = ImageGenerationCall(id=position.id, status="in_progress")
    item = ImageGenerationCall(
        id=position.id, status="completed", result=delta.data, output_format=delta.format or UNSET
    )
    return item, [
        position.item(e.OutputItemAdded, item=added),
        position.within(e.ImageGenerationInProgress),
        position.within(e.ImageGenerationGenerating),
        position.within(e.ImageGenerationCompleted),
        position.item(e.OutputItemDone, item=item),
    ]


def whole_item(position: ItemPosition, delta: ItemWritten) -> tuple[OutputItem, list[e.Event]]:
    """An item and its two events."""
    added, item = (replace(each, id=position.id) for each in (delta.added, delta.item))
    return item, [position.item(e.OutputItemAdded, item=added), position.item(e.OutputItemDone, item=item)]
