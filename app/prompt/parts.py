"""Content parts of a request -> parts of a prompt. A part that cannot be sent is refused, or told as text."""

import re

from ..fetching.media_types import image_fault
from ..fetching.policy import check_url, is_data_uri
from ..types.problems import ProblemError, Warnings, refuse
from ..types.request import (
    AnyPart,
    AudioPart,
    Content,
    EncryptedPart,
    FilePart,
    ImagePart,
    RefusalPart,
    TextPart,
    VideoPart,
)
from .nouns import Audio, File, Image, Model, Part, Parts, RefusalText, Text

_NEEDED = {
    ImagePart: ("vision", "input_image", "An image", "see images"),
    FilePart: ("files", "input_file", "A file", "read files"),
    AudioPart: ("audio", "input_audio", "A recording", "hear audio"),
}
"""What a model must be able to take for a part, its type, its name, and what a model without that cannot do."""
_SECRET = re.compile(r"gAAAAA[A-Za-z0-9_-]{20,}={0,2}")
"""OpenAI's servers encrypt in this form (Fernet)."""
_NO_VIDEO = "[A video was left out here: this server sends none.]"
_MEDIA_TYPES = {
    "csv": "text/csv", "html": "text/html", "json": "application/json", "md": "text/markdown",
    "pdf": "application/pdf", "txt": "text/plain", "xml": "application/xml",
}  # fmt: skip
"""By the extension of a file's name, where its data does not name one."""


class PartReader:
    """Reads the content of messages and outputs for one model."""

    def __init__(self, model: Model, warnings: Warnings) -> None:
        """`warnings` gets what was changed or left out."""
        self._model = model
        self._warnings = warnings

    def parts(self, content: Content, path: str, *, lenient: bool = False) -> Parts:
        """All parts that are not empty. `lenient`: what the model cannot take is never refused."""
        if isinstance(content, str):
            return (Text(content),) if content.strip() else ()
        read: list[Part] = []
        for index, part in enumerate(content):
            read.append(self._part(part, f"{path}[{index}]", lenient))
            self._warn_of_members(part, f"{path}[{index}]")
        return tuple([part for part in read if not isinstance(part, Text) or part.text.strip()])

    def _part(self, part: AnyPart, path: str, lenient: bool) -> Part:
        if (instead := self._in_place_of(part, path, lenient)) is not None:
            return instead
        marked = is_marked(part)
        match part:
            case TextPart():
                return Text(part.text, marked)
            case RefusalPart():
                return Text(part.refusal)
            case ImagePart():
                return self._image(part, path, marked)
            case FilePart():
                return self._file(part, path, marked)
            case AudioPart():
                return Audio(part.input_audio.data, part.input_audio.format, marked)
            case EncryptedPart():
                return self._decrypted(part, path)
            case VideoPart():
                self._warnings.append(f"{path} was left out: this server sends no videos.")
                return Text(_NO_VIDEO)

    def _in_place_of(self, part: AnyPart, path: str, lenient: bool) -> Text | None:
        """None for a part that the model takes; otherwise the text to send instead, or a refusal."""
        if type(part) not in _NEEDED:
            return None
        needed, kind, what, able = _NEEDED[type(part)]
        if getattr(self._model.can, needed) is not False:
            return None
        message = f"'{path}' is '{kind}', and this model cannot {able}."
        if not (lenient or self._model.server.lenient):
            raise refuse("unsupported_value", message, path)
        self._warnings.append(f"{message} It was left out.")
        return Text(f"[{what} was left out here: this model cannot {able}.]")

    def _image(self, part: ImagePart, path: str, marked: bool) -> Image:
        here = f"{path}.image_url"
        if not part.image_url:
            raise _no_data(part.file_id, path, here)
        if not is_data_uri(part.image_url):
            check_url(part.image_url, here, allow_private=self._model.server.allow_private_urls)
        elif (fault := image_fault(part.image_url)) is not None:
            raise refuse("invalid_value", f"Invalid image in '{here}': {fault}.", here)
        return Image(part.image_url, part.detail, marked)

    def _file(self, part: FilePart, path: str, marked: bool) -> Part:
        name, here = part.filename or "file", f"{path}.file_url"
        if data := part.file_data:
            kind = _MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "application/octet-stream")
            return File(name, data if is_data_uri(data) else f"data:{kind};base64,{data}", marked)
        if not part.file_url:
            raise _no_data(part.file_id, path, f"{path}.file_data")
        check_url(part.file_url, here, allow_private=self._model.server.allow_private_urls)
        if self._model.takes_file_urls:
            return File(name, part.file_url, marked)
        self._warnings.append(
            f"'{here}' is sent to the model as a link only: its server fetches no files. Send 'file_data'."
        )
        return Text(f"[{name}: {part.file_url}]")

    def _decrypted(self, part: EncryptedPart, path: str) -> Text:
        """The text, if it is not really encrypted."""
        if not _SECRET.fullmatch(part.encrypted_content.strip()):
            return Text(part.encrypted_content)
        self._warnings.append(f"{path} was left out: only the server that encrypted it can read it.")
        return Text("")

    def _warn_of_members(self, part: AnyPart, path: str) -> None:
        """Warn about members of a part that no model gets."""
        mark = part.prompt_cache_breakpoint
        if isinstance(mark, dict) and mark.get("ttl") is not None:
            details = (
                f"'{path}.prompt_cache_breakpoint.ttl' has no effect: 'prompt_cache_options.ttl' is for all marks."
            )
            self._warnings.append(details)
        if isinstance(part, FilePart) and part.detail not in (None, "auto"):
            self._warnings.append(f"'{path}.detail' has no effect on this model.")


def is_marked(part: AnyPart) -> bool:
    """Whether the client marked the part as the end of what is to be cached."""
    return isinstance(part.prompt_cache_breakpoint, dict)


def texts_of(content: Content, path: str, holder: str) -> tuple[Text | RefusalText, ...]:
    """The parts that are not empty, of content that may be text only. `holder` names what holds it."""
    texts: list[Text | RefusalText] = [Text(content)] if isinstance(content, str) else []
    for index, part in enumerate(content if isinstance(content, tuple) else ()):
        if not isinstance(part, TextPart | RefusalPart):
            here, kind = f"{path}[{index}].type", part.__struct_config__.tag
            raise refuse("invalid_value", f"'{here}' is '{kind}', but {holder} can contain only text.", here)
        texts.append(RefusalText(part.refusal) if isinstance(part, RefusalPart) else Text(part.text))
    return tuple([text for text in texts if text.text.strip()])


def _no_data(file_id: str | None, path: str, missing: str) -> ProblemError:
    if not file_id:
        return refuse("missing_required_parameter", f"Missing required parameter: '{missing}'.", missing)
    here = f"{path}.file_id"
    message = f"'{here}' is not supported: this server is stateless and keeps no files. Send the data itself."
    return refuse("unsupported_parameter", message, here)
