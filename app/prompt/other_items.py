"""Items about tools that no model here has: what of them is told as text, and what is left out."""

from typing import Any, Final, NamedTuple

import msgspec

from ..bridges.ciphertext import without_ciphertext
from ..fetching.media_types import sniffed_base64
from ..protocol.problems import refuse
from ..protocol.request.input_items import ConfigurationUpdateItem, UnknownItem
from ..protocol.warnings import ClientWarning
from .nouns import Image

SHOWN: Final = "The image that you made:"
IMAGE: Final = "image_generation_call"

CONTEXT_LENGTH: Final = 8_000
"""The most characters of an item that is sent as text."""

CALLS_AS_TEXT: Final[dict[str, tuple[str, ...]]] = {
    "code_interpreter_call": ("code", "outputs"),
    "computer_call": ("action", "actions"),
    "file_search_call": ("queries", "results"),
    "mcp_approval_request": ("server_label", "name", "arguments"),
    "mcp_call": ("server_label", "name", "arguments", "output", "error"),
    "multi_agent_call": ("action", "arguments"),
    "program": ("code",),
    "web_search_call": ("action",),
}
"""Calls of tools that the model does not have, and the keys that describe each call."""

OUTPUTS_AS_TEXT: Final[dict[str, tuple[str, ...]]] = {
    "mcp_approval_response": ("approve", "reason"),
    "multi_agent_call_output": ("action", "output"),
    "program_output": ("result",),
}
"""Outputs of such tools, and the keys that hold each output."""

SKIPPED: Final = frozenset({"ghost_snapshot", "mcp_list_tools"})
"""Items without meaning for the model: they set up tools that it does not have, or are the client's own notes."""


OTHER_ITEMS: Final = frozenset({IMAGE, *CALLS_AS_TEXT, *OUTPUTS_AS_TEXT}) | SKIPPED
"""All types of them."""


class ToldItem(NamedTuple):
    """What the model reads instead of an item: a message, or nothing if it has no text."""

    text: str
    warning: ClientWarning | None
    by_assistant: bool = False
    image: Image | None = None


def told_item(item: UnknownItem, path: str) -> ToldItem:
    """The item as a message. Raises `ProblemError` if its type is none of `OTHER_ITEMS`."""
    kind = item.type
    if kind == IMAGE:
        return _image(item, path)
    if kind in SKIPPED:
        details = f"{path} was left out: '{kind}' cannot be sent to this model."
        return ToldItem("", ClientWarning(path, kind, details))
    keys = CALLS_AS_TEXT.get(kind) or OUTPUTS_AS_TEXT.get(kind)
    if keys is None:
        message = f"'{path}.type' is '{kind[:64]}', which this server cannot send to the model."
        raise refuse("invalid_value", message, f"{path}.type")
    return ToldItem(without_ciphertext(_as_text(item, keys)), as_text_warning(path, kind), kind in CALLS_AS_TEXT)


def as_text_warning(path: str, kind: str) -> ClientWarning:
    """The warning about an item that is sent as text."""
    return ClientWarning(path, kind, f"{path} is sent as text: this model does not know '{kind}'.")


def late_output(tool: str, path: str) -> tuple[str, ClientWarning]:
    """The line before an output that names no call: it comes later than its call was answered."""
    named = f"the tool '{tool}'" if tool else "a tool"
    warning = ClientWarning(path, "output without call", f"{path} is sent as a message: it names no call.")
    return f"Output of {named}, for an earlier call:", warning


def fixed_settings(item: ConfigurationUpdateItem, path: str) -> ClientWarning | None:
    """The warning about settings in an update that cannot change in a conversation."""
    groups = {"": item, "reasoning.": item.reasoning, "text.": item.text}
    extras = {name: (group.model_extra or {}) if group is not None else {} for name, group in groups.items()}
    lost = [f"'{prefix}{key[:64]}'" for prefix, found in extras.items() for key in found if found[key] is not None]
    lost = [name for name in lost if name != "'id'"]
    if not lost:
        return None
    details = f"{' and '.join(lost[:4])} in {path} has no effect: only the effort and the format can change."
    return ClientWarning(path, item.type, details)


def _image(item: UnknownItem, path: str) -> ToldItem:
    """An image that the assistant made, in a message of the user: no server takes images from an assistant."""
    data = (item.model_extra or {}).get("result")
    if not isinstance(data, str) or not data:
        return ToldItem("", ClientWarning(path, item.type, f"{path} was left out: it contains no image."))
    kind = sniffed_base64(data) or "image/png"
    if not kind.startswith("image/"):
        raise refuse("invalid_value", f"'{path}.result' is not an image in base64.", f"{path}.result")
    return ToldItem(SHOWN, None, image=Image(f"data:{kind};base64,{data}"))


def _as_text(item: UnknownItem, keys: tuple[str, ...]) -> str:
    """The item as text, with these keys of it."""
    extras: dict[str, Any] = item.model_extra or {}
    context = {key: extras[key] for key in keys if extras.get(key) is not None}
    text = f"[{item.type}] {msgspec.json.encode(context).decode()}" if context else f"[{item.type}]"
    return text if len(text) <= CONTEXT_LENGTH else text[:CONTEXT_LENGTH] + "…"
