"""An image that a model wrote: told as a call of OpenAI's image generation, which clients know how to show."""

from msgspec import UNSET

from app.emitter.deltas import ImageWritten
from app.emitter.open_items import ItemPosition
from app.protocol import events as e
from app.protocol.output_items import ImageGenerationCall


class OpenImage:
    """It comes whole, so it is opened and closed in one go, by the events OpenAI sends for one that grows."""

    def __init__(self, position: ItemPosition) -> None:
        self.position = position

    def open(self) -> list[e.Event]:
        """Added, without its image."""
        item = ImageGenerationCall(id=self.position.id, status="in_progress")
        return [
            self.position.item(e.OutputItemAdded, item=item),
            self.position.within(e.ImageGenerationInProgress),
            self.position.within(e.ImageGenerationGenerating),
        ]

    def close(self, image: ImageWritten) -> tuple[ImageGenerationCall, list[e.Event]]:
        """The finished image."""
        item = ImageGenerationCall(
            id=self.position.id, status="completed", result=image.data, output_format=image.format or UNSET
        )
        return item, [self.position.within(e.ImageGenerationCompleted), self.position.item(e.OutputItemDone, item=item)]
