"""Input items -> chat messages. Exhaustive: what cannot be said is a problem that names `input[i]`."""

from typing import Any, Final, assert_never

import msgspec

from app.bridges.table import BridgeTable
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.content_parts import ChatPart, PartTeller
from app.dialects.chat.history import ChatMessage, History
from app.dialects.chat.limits import Limits
from app.dialects.chat.sealed_state import Carrying
from app.fetching.media_types import sniffed_base64
from app.protocol.problems import refuse
from app.protocol.request.create_response import CreateResponse
from app.protocol.request.input_items import (
    AgentMessageItem,
    CompactionItem,
    CompactionTriggerItem,
    ConfigurationUpdateItem,
    InputItem,
    MessageItem,
    ReasoningItem,
    UnknownItem,
)
from app.protocol.request.tool_items import AdditionalToolsItem, ToolItem

SHOWN: Final = "The image that you made:"
CONTEXT_LENGTH: Final = 8_000
"""Characters of a retold item at most: it is context, not the thing itself."""

CALLS_AS_TEXT: Final[dict[str, tuple[str, ...]]] = {
    "code_interpreter_call": ("code", "outputs"),
    "computer_call": ("action", "actions"),
    "file_search_call": ("queries", "results"),
    "mcp_approval_request": ("server_label", "name", "arguments"),
    "mcp_call": ("server_label", "name", "arguments", "output", "error"),
    "program": ("code",),
    "web_search_call": ("action",),
}
"""What an assistant did with a tool that a chat model does not have, and the keys that tell of it."""

OUTPUTS_AS_TEXT: Final[dict[str, tuple[str, ...]]] = {
    "computer_call_output": ("status",),
    "mcp_approval_response": ("approve", "reason"),
    "program_output": ("result",),
}
"""What such a tool gave, and the keys that tell of it."""

SKIPPED: Final = frozenset({"mcp_list_tools"})
"""Items that say nothing to the model: they set things up for tools it does not have."""


UNREADABLE: Final = "only the server and the model that wrote this reasoning can read it."


def to_messages(
    request: CreateResponse,
    *,
    table: BridgeTable,
    options: ChatOptions,
    carrying: Carrying | None,
    seats: list[int] | None,
    warnings: list[str],
) -> list[ChatMessage]:
    """All that a chat server is told, the instructions first. Never empty."""
    if (blank := _empty_prompt(request)) is not None:
        return [{"role": "user", "content": blank}]
    teller = _Teller(table, options, carrying, warnings)
    if request.instructions:
        teller.instruct(request.instructions, "instructions")
    if isinstance(request.input, str):
        teller.hear_user([{"type": "text", "text": request.input}] if request.input.strip() else [], "input")
    for index, item in enumerate(request.items):
        teller.tell(item, f"input[{seats[index] if seats and index < len(seats) else index}]")
    messages = teller.messages()
    if not messages:
        raise refuse("invalid_value", "'input' holds nothing that a model could be told.", "input")
    return messages


def _empty_prompt(request: CreateResponse) -> str | None:
    """The user's empty text, if there is nothing else: some servers answer it, and the others say why they do not."""
    if (request.instructions or "").strip():
        return None
    if isinstance(request.input, str):
        return None if request.input.strip() else request.input
    text = None
    for item in request.items:
        text = _text_alone(item)
        if text is None or text.strip():
            return None
    return text


def _text_alone(item: InputItem) -> str | None:
    """What the user says in this item, if it is a message of text alone."""
    if not isinstance(item, MessageItem) or item.role != "user":
        return None
    if isinstance(item.content, str):
        return item.content
    texts = [getattr(part, "text", None) for part in item.content]
    return "".join([text for text in texts if isinstance(text, str)]) if None not in texts else None


class _Teller:
    def __init__(
        self, table: BridgeTable, options: ChatOptions, carrying: Carrying | None, warnings: list[str]
    ) -> None:
        self._table = table
        self._carrying = carrying
        self._system_messages = options.system_messages
        self._warnings = warnings
        limits = Limits(options, warnings)
        self._parts = PartTeller(limits, allow_private_urls=options.allow_private_urls, warnings=warnings)
        self._history = History(
            give_back_reasoning=options.give_back_reasoning, call_ids=options.call_ids, warnings=warnings
        )
        self._head: list[str] = []
        """System messages that were merged into one."""

    def messages(self) -> list[ChatMessage]:
        head = [{"role": "system", "content": "\n\n".join(self._head)}] if self._head else []
        return [*head, *self._history.messages()]

    def tell(self, item: InputItem, path: str) -> None:
        match item:
            case MessageItem():
                self._tell_message(item, path)
            case ToolItem():
                self._tell_bridged(item, path)
            case ReasoningItem():
                self._tell_reasoning(item, path)
            case AgentMessageItem():
                self._tell_agent(item, path)
            case AdditionalToolsItem() | ConfigurationUpdateItem():
                pass  # their tools are among the turn's, and the last update is among its settings
            case CompactionItem():
                self._warnings.append(
                    f"{path} was left out: only the server that summed this conversation up can read it."
                )
            case CompactionTriggerItem():
                self._warnings.append(f"{path} was left out: it has its effect only at the end of 'input'.")
            case UnknownItem():
                self._tell_unknown(item, path)
            case _:
                assert_never(item)

    def instruct(self, text: str, path: str) -> None:
        if not text.strip():
            self._leave_out(path)
            return
        match self._system_messages:
            case "keep":
                self._history.hear("system", [{"type": "text", "text": text}])
            case "merge_head":
                self._head.append(text)
            case "as_user":
                self._history.hear("user", [{"type": "text", "text": text}])
            case _:
                assert_never(self._system_messages)

    def hear_user(self, parts: list[ChatPart], path: str) -> None:
        if parts:
            self._history.hear("user", parts)
        else:
            self._leave_out(path)

    def _tell_message(self, item: MessageItem, path: str) -> None:
        content = f"{path}.content"
        match item.role:
            case "user":
                self.hear_user(self._parts.parts(item.content, content), path)
            case "assistant":
                text = self._parts.text(item.content, content, "an assistant message")
                if text.strip():
                    self._history.say(text, path)
                else:
                    self._leave_out(path)
            case "system" | "developer":
                self.instruct(self._parts.text(item.content, content, f"a {item.role} message"), path)
            case _:
                assert_never(item.role)

    def _tell_bridged(self, item: ToolItem, path: str) -> None:
        if (call := self._table.retell_call(item)) is not None:
            self._history.call(call, path)
        if (output := self._table.retell_output(item)) is not None:
            self._history.answer(output.call_id, self._parts.parts(output.content, f"{path}.output"), path)

    def _tell_agent(self, item: AgentMessageItem, path: str) -> None:
        parts = self._parts.parts(item.content, f"{path}.content")
        author = f"Message from the agent '{item.author}':" if item.author else "Message from another agent:"
        self.hear_user([{"type": "text", "text": author}, *parts] if parts else [], path)

    def _tell_reasoning(self, item: ReasoningItem, path: str) -> None:
        shown = "\n\n".join([thought.text for thought in (item.content or item.summary or []) if thought.text.strip()])
        sealed = item.encrypted_content
        opened = self._carrying.open(sealed, f"{path}.encrypted_content") if sealed and self._carrying else None
        if opened is not None and opened.own:
            self._history.remember(opened.text or shown, opened.fields, opened.calls, path)
        elif text := (opened.text if opened else "") or shown:
            self._history.think(text, path)
            if opened is None and sealed:
                self._warnings.append(f"{path}.encrypted_content was ignored: {UNREADABLE} Its text is told instead.")
        elif sealed and (opened is None or opened.fields):
            self._warnings.append(f"{path} was left out: {UNREADABLE}")

    def _tell_unknown(self, item: UnknownItem, path: str) -> None:
        kind = item.type
        if kind == "image_generation_call":
            self._tell_image(item, path)
            return
        if kind in CALLS_AS_TEXT:
            self._history.say(_as_context(item, CALLS_AS_TEXT[kind]), path)
        elif kind in OUTPUTS_AS_TEXT:
            self._history.hear("user", [{"type": "text", "text": _as_context(item, OUTPUTS_AS_TEXT[kind])}])
        elif kind in SKIPPED:
            self._warnings.append(f"{path} was left out: a chat model cannot be told of '{kind}'.")
            return
        else:
            message = f"'{path}.type' is '{kind[:64]}', which this server cannot tell the model."
            raise refuse("invalid_value", message, f"{path}.type")
        self._warnings.append(f"{path} is told as text: a chat model does not know '{kind}'.")

    def _tell_image(self, item: UnknownItem, path: str) -> None:
        """An image the assistant made. No chat server takes one from an assistant, so the user shows it."""
        data = (item.model_extra or {}).get("result")
        if not isinstance(data, str) or not data:
            self._warnings.append(f"{path} was left out: it holds no image.")
            return
        kind = sniffed_base64(data) or "image/png"
        if not kind.startswith("image/"):
            raise refuse("invalid_value", f"'{path}.result' is no image in base64.", f"{path}.result")
        image = {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        self._history.hear("user", [{"type": "text", "text": SHOWN}, image])

    def _leave_out(self, path: str) -> None:
        self._warnings.append(f"{path} was left out: it is empty.")


def _as_context(item: UnknownItem, keys: tuple[str, ...]) -> str:
    extras: dict[str, Any] = item.model_extra or {}
    told = {key: extras[key] for key in keys if extras.get(key) is not None}
    text = f"[{item.type}] {msgspec.json.encode(told).decode()}" if told else f"[{item.type}]"
    return text if len(text) <= CONTEXT_LENGTH else text[:CONTEXT_LENGTH] + "…"
