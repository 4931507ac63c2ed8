"""Content parts of messages and of tool outputs."""

from typing import Annotated, Final, Literal

from pydantic import SkipValidation

from .shape import Holds, Shape


class TextPart(Shape):
    """Text of any author."""

    type: str
    text: str


class RefusalPart(Shape):
    """A model's refusal to answer."""

    type: Literal["refusal"]
    refusal: str


class InputImagePart(Shape):
    """An image: a data URI or a URL. `file_id` is read only to be refused."""

    type: Literal["input_image"]
    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["auto", "low", "high", "original"] | None = None


class InputFilePart(Shape):
    """A file: its data, or a URL. `file_id` is read only to be refused."""

    type: Literal["input_file"]
    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    filename: str | None = None


class AudioData(Shape):
    """Sound, base64."""

    data: str
    format: str


class InputAudioPart(Shape):
    """A recording."""

    type: Literal["input_audio"]
    input_audio: AudioData


class EncryptedPart(Shape):
    """What one agent tells another, encrypted by OpenAI's servers; from other servers it is plain text."""

    type: Literal["encrypted_content"]
    encrypted_content: str


class UnknownPart(Shape):
    """A part of a type that this server does not know. It is refused where the prompt is built."""

    type: str


InputPart = TextPart | RefusalPart | InputImagePart | InputFilePart | InputAudioPart | EncryptedPart | UnknownPart
Content = str | list[InputPart]
ParsedContent = Annotated[Content, SkipValidation, Holds.PARTS]
"""Content as a member: its parts are validated one by one, each by its own type."""

PARTS: Final[dict[str, type[InputPart]]] = {
    "input_text": TextPart,
    "output_text": TextPart,
    "text": TextPart,
    "refusal": RefusalPart,
    "input_image": InputImagePart,
    "input_file": InputFilePart,
    "input_audio": InputAudioPart,
    "encrypted_content": EncryptedPart,
}
