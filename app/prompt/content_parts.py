"""Translates content parts of a request into parts of a prompt. A part that cannot be sent is refused."""

from typing import Final, NamedTuple, assert_never

from ..bridges.ciphertext import is_ciphertext
from ..fetching.media_types import image_fault
from ..fetching.url_policy import check_url, is_data_uri
from ..parsing.validation import missing
from ..protocol.problems import ProblemError, refuse
from ..protocol.request.input_parts import (
    Content,
    EncryptedPart,
    InputAudioPart,
    InputFilePart,
    InputImagePart,
    InputPart,
    RefusalPart,
    TextPart,
    UnknownPart,
)
from ..protocol.warnings import ClientWarning, no_effect
from .model_limits import ModelLimits
from .nouns import Audio, File, Image, Part, Parts, RefusalText, Text
from .prompt_rules import PromptRules

ENCRYPTED: Final = "only the server that encrypted it can read it."
NO_VIDEO: Final = "[A video was left out here: this server sends none.]"
_MEDIA_TYPES: Final = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "xml": "application/xml",
}
"""By the extension of a file's name, where its data does not name one."""


class ReadParts(NamedTuple):
    """The parts that are not empty, and what was changed or left out."""

    parts: Parts
    warnings: list[ClientWarning]


class PartReader:
    """Reads the content of messages and outputs for one model."""

    def __init__(self, rules: PromptRules) -> None:
        self._limits = ModelLimits(rules)
        self._allow_private_urls = rules.server.allow_private_urls
        self._file_urls = rules.file_urls

    def parts(self, content: Content, path: str) -> ReadParts:
        """All parts that are not empty."""
        if isinstance(content, str):
            return ReadParts((Text(content),) if content.strip() else (), [])
        read: list[Part] = []
        warnings: list[ClientWarning] = []
        for index, part in enumerate(content):
            one, warning = self._part(part, f"{path}[{index}]")
            if warning is not None:
                warnings.append(warning)
            warnings += _lost_members(part, f"{path}[{index}]")
            if not isinstance(one, Text) or one.text.strip():
                read.append(one)
        return ReadParts(tuple(read), warnings)

    def _part(self, part: InputPart, path: str) -> tuple[Part, ClientWarning | None]:  # noqa: PLR0911 — one for each kind
        if (instead := self._limits.in_place_of(part, path)) is not None:
            return instead
        match part:
            case TextPart():
                return Text(part.text, marks_cache(part)), None
            case RefusalPart():
                return Text(part.refusal), None
            case InputImagePart():
                return self._image(part, path), None
            case InputFilePart():
                return self._file(part, path)
            case InputAudioPart():
                return Audio(part.input_audio.data, part.input_audio.format, marks_cache(part)), None
            case EncryptedPart():
                return decrypted(part, path)
            case UnknownPart():
                return _in_place_of_unknown(part, path)
            case _:
                assert_never(part)

    def _image(self, part: InputImagePart, path: str) -> Image:
        if not part.image_url:
            raise _keeps_no_files(path) if part.file_id else missing(f"{path}.image_url")
        if not is_data_uri(part.image_url):
            check_url(part.image_url, f"{path}.image_url", allow_private=self._allow_private_urls)
        elif (fault := image_fault(part.image_url)) is not None:
            raise refuse("invalid_value", f"Invalid image in '{path}.image_url': {fault}.", f"{path}.image_url")
        return Image(part.image_url, part.detail, marks_cache(part))

    def _file(self, part: InputFilePart, path: str) -> tuple[Part, ClientWarning | None]:
        name = part.filename or "file"
        if part.file_data:
            data = part.file_data
            uri = data if is_data_uri(data) else f"data:{_media_type(name)};base64,{data}"
            return File(name, uri, marks_cache(part)), None
        if not part.file_url:
            raise _keeps_no_files(path) if part.file_id else missing(f"{path}.file_data")
        check_url(part.file_url, f"{path}.file_url", allow_private=self._allow_private_urls)
        if self._file_urls:
            return File(name, part.file_url, marks_cache(part)), None
        details = (
            f"'{path}.file_url' is sent to the model as a link only: its server fetches no files. Send 'file_data'."
        )
        return Text(f"[{name}: {part.file_url}]"), ClientWarning(f"{path}.file_url", "file address", details)


def decrypted(part: EncryptedPart, path: str) -> tuple[Text, ClientWarning | None]:
    """The text that is not really encrypted; empty where it is."""
    if not is_ciphertext(part.encrypted_content):
        return Text(part.encrypted_content), None
    return Text(""), ClientWarning(path, part.type, f"{path} was left out: {ENCRYPTED}")


def _in_place_of_unknown(part: UnknownPart, path: str) -> tuple[Text, ClientWarning]:
    if part.type != "input_video":
        message = f"'{path}.type' is '{part.type[:64]}', which this server cannot send to the model."
        raise refuse("invalid_value", message, f"{path}.type")
    return without_video(path)


def without_video(path: str) -> tuple[Text, ClientWarning]:
    """What the model reads in place of a video."""
    return Text(NO_VIDEO), ClientWarning(path, "input_video", f"{path} was left out: this server sends no videos.")


def text_only(content: Content, path: str, holder: str) -> tuple[Text | RefusalText, ...]:
    """The parts that are not empty, of content that may be text only. `holder` names what holds it."""
    if isinstance(content, str):
        return (Text(content),) if content.strip() else ()
    texts: list[Text | RefusalText] = []
    for index, part in enumerate(content):
        match part:
            case TextPart() if part.text.strip():
                texts.append(Text(part.text))
            case RefusalPart() if part.refusal.strip():
                texts.append(RefusalText(part.refusal))
            case TextPart() | RefusalPart():
                pass
            case _:
                here = f"{path}[{index}].type"
                message = f"'{here}' is '{part.type[:64]}', but {holder} can contain only text."
                raise refuse("invalid_value", message, here)
    return tuple(texts)


def _lost_members(part: InputPart, path: str) -> list[ClientWarning]:
    """The warnings about members of a part that no model gets."""
    extras = part.model_extra or {}
    lost: list[ClientWarning] = []
    mark = extras.get("prompt_cache_breakpoint")
    if isinstance(mark, dict) and mark.get("ttl") is not None:
        details = f"'{path}.prompt_cache_breakpoint.ttl' has no effect: 'prompt_cache_options.ttl' is for all marks."
        lost.append(ClientWarning(path, "prompt_cache_breakpoint", details))
    if isinstance(part, InputFilePart) and extras.get("detail") not in (None, "auto"):
        lost.append(no_effect(f"{path}.detail", "detail"))
    return lost


def marks_cache(part: InputPart) -> bool:
    """Whether the client marked the part as the end of what is to be cached."""
    return isinstance((part.model_extra or {}).get("prompt_cache_breakpoint"), dict)


def _media_type(name: str) -> str:
    return _MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "application/octet-stream")


def _keeps_no_files(path: str) -> ProblemError:
    message = f"'{path}.file_id' is not supported: this server is stateless and keeps no files. Send the data itself."
    return refuse("unsupported_parameter", message, f"{path}.file_id")
