"""Items about tools that no model here has: what of them is told as text, and what is left out."""

from ..fetching.media_types import sniffed_base64
from ..types.json import Json, encode
from ..types.problems import Warnings, refuse
from ..types.request import OtherItem, SettingsUpdate
from .nouns import AssistantMessage, Image, Text, User

_MOST = 8_000
"""Characters of an item that is sent as text."""
_MEMBERS = {
    "code_interpreter_call": ("code", "outputs"),
    "computer_call": ("action", "actions"),
    "file_search_call": ("queries", "results"),
    "local_shell_call": ("action",),
    "local_shell_call_output": ("output",),
    "mcp_approval_request": ("server_label", "name", "arguments"),
    "mcp_approval_response": ("approve", "reason"),
    "mcp_call": ("server_label", "name", "arguments", "output", "error"),
    "multi_agent_call": ("action", "arguments"),
    "multi_agent_call_output": ("action", "output"),
    "program": ("code",),
    "program_output": ("result",),
    "web_search_call": ("action",),
}
"""The members that describe a call of a tool that the model does not have, or that hold its output."""
_OF_USER = ("_output", "_response")
"""How the types of outputs end."""
_SKIPPED = frozenset({"ghost_snapshot", "mcp_list_tools"})
"""Items without meaning for the model: they set up tools that it does not have, or are the client's own notes."""
_FIXED = {"": {"type", "id", "reasoning", "text"}, "reasoning": {"effort"}, "text": {"format"}}
"""The members of an update of settings that are known, by the group that holds them."""


def told(item: OtherItem, path: str) -> tuple[User | AssistantMessage | None, str | None]:
    """The item as a message, or nothing. A type that nobody knows is refused."""
    kind = item.type
    if kind == "image_generation_call":
        return _image(item.members, path)
    if kind in _SKIPPED:
        return None, f"{path} was left out: '{kind}' cannot be sent to this model."
    if kind not in _MEMBERS:
        message = f"'{path}.type' is '{kind[:64]}', which this server cannot send to the model."
        raise refuse("invalid_value", message, f"{path}.type")
    held = {key: value for key in _MEMBERS[kind] if (value := item.members.get(key)) is not None}
    text = f"[{kind}] {encode(held).decode()}" if held else f"[{kind}]"
    parts = (Text(text if len(text) <= _MOST else text[:_MOST] + "…"),)
    return (User if kind.endswith(_OF_USER) else AssistantMessage)(parts), as_text(path, kind)


def as_text(path: str, kind: str) -> str:
    """The warning about an item that is sent as text."""
    return f"{path} is sent as text: this model does not know '{kind}'."


def fixed_settings(item: SettingsUpdate, path: str) -> Warnings:
    """The warning about settings in an update that cannot change in a conversation."""
    lost: list[str] = []
    for group, known in _FIXED.items():
        held = item.members.get(group) if group else item.members
        prefix = f"{group}." if group else ""
        lost += [
            f"'{prefix}{key[:64]}'" for key, value in (held or {}).items() if key not in known and value is not None
        ]
    if not lost:
        return []
    return [f"{' and '.join(lost[:4])} in {path} has no effect: only the effort and the format can change."]


def _image(members: Json, path: str) -> tuple[User | None, str | None]:
    """An image that the assistant made, in a message of the user: no server takes images from an assistant."""
    data = members.get("result")
    if not isinstance(data, str) or not data:
        return None, f"{path} was left out: it contains no image."
    kind = sniffed_base64(data) or "image/png"
    if not kind.startswith("image/"):
        raise refuse("invalid_value", f"'{path}.result' is not an image in base64.", f"{path}.result")
    return User((Text("The image that you made:"), Image(f"data:{kind};base64,{data}"))), None
