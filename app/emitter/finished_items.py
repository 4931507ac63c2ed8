"""Output items that come whole: an image, and what is left of a conversation that was summed up."""

from msgspec import UNSET

from app.emitter.deltas import Compacted, ImageWritten
from app.emitter.open_items import ItemPosition
from app.protocol import events as e
from app.protocol.output_items import Compaction, ImageGenerationCall


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


def compaction(position: ItemPosition, delta: Compacted) -> tuple[Compaction, list[e.Event]]:
    """A compaction item and its events."""
    item = Compaction(id=position.id, encrypted_content=delta.encrypted_content)
    added = Compaction(id=position.id)
    return item, [position.item(e.OutputItemAdded, item=added), position.item(e.OutputItemDone, item=item)]
