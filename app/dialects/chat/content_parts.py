"""Content parts as a chat server knows them."""

from typing import Any, Final, assert_never

from app.dialects.chat.limits import Limits
from app.fetching.media_types import image_fault
from app.fetching.url_policy import check_url, is_data_uri
from app.protocol.problems import ProblemError, refuse
from app.protocol.request.input_parts import (
    Content,
    InputAudioPart,
    InputFilePart,
    InputImagePart,
    InputPart,
    RefusalPart,
    TextPart,
    UnknownPart,
)
from app.protocol.request.posted import missing

ChatPart = dict[str, Any]

_MEDIA_TYPES: Final = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "xml": "application/xml",
}
"""By the end of a file's name, where its data does not say."""


class PartTeller:
    """Says content parts to a chat server. Refuses what cannot be said, by its path."""

    def __init__(self, limits: Limits, *, allow_private_urls: bool, warnings: list[str]) -> None:
        self._limits = limits
        self._allow_private_urls = allow_private_urls
        self._warnings = warnings

    def parts(self, content: Content, path: str) -> list[ChatPart]:
        """All parts that say something."""
        if isinstance(content, str):
            return [_text(content)] if content.strip() else []
        told = [self._part(part, f"{path}[{index}]") for index, part in enumerate(content)]
        return [part for part in told if part["type"] != "text" or part["text"].strip()]

    def text(self, content: Content, path: str, speaker: str) -> str:
        """Content that can be text only, because of who said it."""
        if isinstance(content, str):
            return content
        for index, part in enumerate(content):
            if not isinstance(part, TextPart | RefusalPart):
                here = f"{path}[{index}].type"
                message = f"'{here}' is '{part.type[:64]}', but {speaker} can hold text only."
                raise refuse("invalid_value", message, here)
        return joined(self.parts(content, path))

    def _part(self, part: InputPart, path: str) -> ChatPart:
        if (instead := self._limits.in_place_of(part, path)) is not None:
            return _text(instead)
        match part:
            case TextPart():
                return _text(part.text)
            case RefusalPart():
                return _text(part.refusal)
            case InputImagePart():
                return self._image(part, path)
            case InputFilePart():
                return self._file(part, path)
            case InputAudioPart():
                audio = part.input_audio
                return {"type": "input_audio", "input_audio": {"data": audio.data, "format": audio.format}}
            case UnknownPart():
                message = f"'{path}.type' is '{part.type[:64]}', which this server cannot tell the model."
                raise refuse("invalid_value", message, f"{path}.type")
            case _:
                assert_never(part)

    def _image(self, part: InputImagePart, path: str) -> ChatPart:
        if not part.image_url:
            raise _keeps_no_files(path) if part.file_id else missing(f"{path}.image_url")
        if not is_data_uri(part.image_url):
            check_url(part.image_url, f"{path}.image_url", allow_private=self._allow_private_urls)
        elif (fault := image_fault(part.image_url)) is not None:
            raise refuse("invalid_value", f"Invalid image in '{path}.image_url': {fault}.", f"{path}.image_url")
        image = {"url": part.image_url}
        if part.detail in {"low", "high"}:
            image["detail"] = part.detail
        if part.detail == "original":  # Codex's word; chat servers know none finer than `high`
            image["detail"] = "high"
        return {"type": "image_url", "image_url": image}

    def _file(self, part: InputFilePart, path: str) -> ChatPart:
        name = part.filename or "file"
        if part.file_data:
            data = part.file_data
            if not is_data_uri(data):
                data = f"data:{_media_type(name)};base64,{data}"
            return {"type": "file", "file": {"filename": name, "file_data": data}}
        if not part.file_url:
            raise _keeps_no_files(path) if part.file_id else missing(f"{path}.file_data")
        check_url(part.file_url, f"{path}.file_url", allow_private=self._allow_private_urls)
        self._warnings.append(
            f"'{path}.file_url' is told to the model as a link only: chat servers fetch no files. Send 'file_data'."
        )
        return _text(f"[{name}: {part.file_url}]")


def joined(parts: list[ChatPart]) -> str:
    """The text of text parts."""
    return "\n".join(part["text"] for part in parts if part["type"] == "text")


def _text(text: str) -> ChatPart:
    return {"type": "text", "text": text}


def _media_type(name: str) -> str:
    return _MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "application/octet-stream")


def _keeps_no_files(path: str) -> ProblemError:
    message = f"'{path}.file_id' is not supported: this server is stateless and keeps no files. Send the data itself."
    return refuse("unsupported_parameter", message, f"{path}.file_id")
