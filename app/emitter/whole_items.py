"""Output items without deltas: an image, and an item that no model wrote."""

from msgspec import UNSET
from msgspec.structs import replace

from ..protocol import events as e
from ..protocol.output_items import ImageGenerationCall, OutputItem
from .deltas import ImageWritten, ItemWritten
from .open_items import ItemPosition


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
