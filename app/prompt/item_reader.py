"""Translates input items into the conversation of a prompt. Items that cannot be sent are refused with their path."""

from collections.abc import Callable
from typing import Any, Final, assert_never

import msgspec

from ..bridges.table import BridgeTable
from ..fetching.media_types import sniffed_base64
from ..protocol.problems import refuse
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import (
    AgentMessageItem,
    ConfigurationUpdateItem,
    InputItem,
    MessageItem,
    ReasoningItem,
    UnknownItem,
)
from ..protocol.request.summaries import ServerItem
from ..protocol.request.tool_items import AdditionalToolsItem, ToolItem
from ..protocol.warnings import ClientWarning
from .content_parts import PartReader, text_only
from .history import Conversation, History
from .nouns import (
    AssistantMessage,
    Image,
    OpenedState,
    Parts,
    PastThought,
    ProviderState,
    System,
    Text,
    User,
)
from .prompt_rules import PromptRules
from .sealed_state import SEARCHES

SHOWN: Final = "The image that you made:"
CONTEXT_LENGTH: Final = 8_000
"""The most characters of an item that is sent as text."""

CALLS_AS_TEXT: Final[dict[str, tuple[str, ...]]] = {
    "code_interpreter_call": ("code", "outputs"),
    "computer_call": ("action", "actions"),
    "file_search_call": ("queries", "results"),
    "mcp_approval_request": ("server_label", "name", "arguments"),
    "mcp_call": ("server_label", "name", "arguments", "output", "error"),
    "program": ("code",),
    "web_search_call": ("action",),
}
"""Calls of tools that the model does not have, and the keys that describe each call."""

OUTPUTS_AS_TEXT: Final[dict[str, tuple[str, ...]]] = {
    "computer_call_output": ("status",),
    "mcp_approval_response": ("approve", "reason"),
    "program_output": ("result",),
}
"""Outputs of such tools, and the keys that hold each output."""

SKIPPED: Final = frozenset({"mcp_list_tools"})
"""Items without meaning for the model: they set up tools that it does not have."""


UNREADABLE: Final = "only the server and the model that wrote this reasoning can read it."

UNSIGNED: Final = "this model's server takes back only reasoning that it signed itself."

REFUSED: Final = "this model's server refused the reasoning in this conversation."

Opener = Callable[[str, str], OpenedState | None]
"""Opens the sealed state of a reasoning item, by its path in the request. None if it cannot be read."""


def to_conversation(
    request: CreateResponse, table: BridgeTable, rules: PromptRules, open_state: Opener | None
) -> Conversation:
    """Everything the model reads, the instructions first. Problems and warnings name items as they were posted."""
    if (blank := _empty_prompt(request)) is not None:
        return Conversation([User((Text(blank),))], [])
    reader = _ItemReader(table, rules, open_state)
    warnings: list[ClientWarning] = []
    if request.instructions:
        warnings += reader.instruct(request.instructions, "instructions")
    if isinstance(request.input, str):
        warnings += reader.add_user((Text(request.input),) if request.input.strip() else (), "input")
    positions = request.positions or ()
    for index, item in enumerate(request.items):
        position = positions[index] if index < len(positions) else index
        warnings += reader.read(item, f"input[{position}]")
    found = reader.conversation()
    if not found.entries:
        raise refuse("invalid_value", "'input' has no content that can be sent to the model.", "input")
    return Conversation(found.entries, warnings + found.warnings)


def _empty_prompt(request: CreateResponse) -> str | None:
    """The user's empty text, if there is nothing else: some servers answer it, and others refuse it with a reason."""
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
    """The text of this item, if it is a message of the user that holds text alone."""
    if not isinstance(item, MessageItem) or item.role != "user":
        return None
    if isinstance(item.content, str):
        return item.content
    texts = [getattr(part, "text", None) for part in item.content]
    return "".join([text for text in texts if isinstance(text, str)]) if None not in texts else None


class _ItemReader:
    """Reads items into a history. What it leaves out or changes it returns as warnings."""

    def __init__(self, table: BridgeTable, rules: PromptRules, open_state: Opener | None) -> None:
        self._table = table
        self._open_state = open_state
        self._system_messages = rules.model.system_messages
        self._signed_reasoning = rules.signed_reasoning
        self._why_left_out = REFUSED if rules.state_was_refused else UNSIGNED
        self._parts = PartReader(rules)
        self._history = History(rules.call_ids)
        self._known_searches = 0
        """How many of the next items are searches that the state before them holds."""
        self._head: list[str] = []
        """System messages that were merged into one."""

    def conversation(self) -> Conversation:
        found = self._history.conversation()
        head = [System("\n\n".join(self._head))] if self._head else []
        return Conversation([*head, *found.entries], found.warnings)

    def read(self, item: InputItem, path: str) -> list[ClientWarning]:  # noqa: PLR0911 — one for each kind of item
        match item:
            case MessageItem():
                return self._read_message(item, path)
            case ToolItem():
                return self._read_bridged(item, path)
            case ReasoningItem():
                return self._read_reasoning(item, path)
            case AgentMessageItem():
                return self._read_agent(item, path)
            case AdditionalToolsItem() | ConfigurationUpdateItem():
                return []  # their tools are among the turn's, and the last update is among its settings
            case ServerItem():
                return [ClientWarning(path, item.type, f"{path} was left out: {item.left_out}")]
            case UnknownItem():
                return self._read_unknown(item, path)
            case _:
                assert_never(item)

    def instruct(self, text: str, path: str) -> list[ClientWarning]:
        if not text.strip():
            return [empty(path)]
        match self._system_messages:
            case "keep":
                self._history.add(System(text))
            case "merge_head":
                self._head.append(text)
            case "as_user":
                self._history.add(User((Text(text),)))
            case _:
                assert_never(self._system_messages)
        return []

    def add_user(self, parts: Parts, path: str) -> list[ClientWarning]:
        if not parts:
            return [empty(path)]
        self._history.add(User(parts))
        return []

    def _read_message(self, item: MessageItem, path: str) -> list[ClientWarning]:
        content = f"{path}.content"
        match item.role:
            case "user":
                read = self._parts.parts(item.content, content)
                return read.warnings + self.add_user(read.parts, path)
            case "assistant":
                texts = text_only(item.content, content, "an assistant message")
                if not texts:
                    return [empty(path)]
                self._history.add_message(AssistantMessage(texts), path)
                return []
            case "system" | "developer":
                parts = text_only(item.content, content, f"a {item.role} message")
                return self.instruct("\n".join([part.text for part in parts]), path)
            case _:
                assert_never(item.role)

    def _read_bridged(self, item: ToolItem, path: str) -> list[ClientWarning]:
        warnings: list[ClientWarning] = []
        if (call := self._table.read_call(item)) is not None:
            warnings += self._history.add_call(call, path)
        if (output := self._table.read_output(item)) is not None:
            read = self._parts.parts(output.content, f"{path}.output")
            warnings += read.warnings
            warnings += self._history.add_output(output.call_id, read.parts, path, failed=output.failed)
        return warnings

    def _read_agent(self, item: AgentMessageItem, path: str) -> list[ClientWarning]:
        read = self._parts.parts(item.content, f"{path}.content")
        return read.warnings + self.add_user((Text(title_of(item)), *read.parts) if read.parts else (), path)

    def _read_reasoning(self, item: ReasoningItem, path: str) -> list[ClientWarning]:
        shown = "\n\n".join([thought.text for thought in (item.content or item.summary or []) if thought.text.strip()])
        sealed, sealed_path = item.encrypted_content, f"{path}.encrypted_content"
        opened = self._open_state(sealed, sealed_path) if sealed and self._open_state else None
        if opened is not None and opened.own:
            self._give_back(opened, opened.text or shown, path)
        elif self._signed_reasoning and (shown or sealed):
            return [ClientWarning(path, "reasoning", f"{path} was left out: {self._why_left_out}")]
        elif text := (opened.text if opened else "") or shown:
            self._history.add_reasoning(PastThought(text, continued=False), path)
            if opened is None and sealed:
                details = f"{sealed_path} was ignored: {UNREADABLE} Its text is sent instead."
                return [ClientWarning(sealed_path, "reasoning", details)]
        elif sealed and (opened is None or opened.fields):
            return [ClientWarning(path, "reasoning", f"{path} was left out: {UNREADABLE}")]
        return []

    def _give_back(self, opened: OpenedState, text: str, path: str) -> None:
        """Adds reasoning that this upstream wrote itself: it gets the exact text back, with its own state."""
        if text:
            self._history.add_reasoning(PastThought(text, continued=True), path)
        if opened.fields:
            self._history.add_reasoning(ProviderState(opened.fields), path)
            self._known_searches = opened.fields.get(SEARCHES, 0)
        self._history.add_state_of_calls(opened.calls)

    def _read_unknown(self, item: UnknownItem, path: str) -> list[ClientWarning]:
        kind = item.type
        if kind == "web_search_call" and self._known_searches:
            self._known_searches -= 1
            return []
        if kind == "image_generation_call":
            return self._read_image(item, path)
        if kind in CALLS_AS_TEXT:
            self._history.add_message(AssistantMessage((Text(_as_context(item, CALLS_AS_TEXT[kind])),)), path)
        elif kind in OUTPUTS_AS_TEXT:
            self._history.add(User((Text(_as_context(item, OUTPUTS_AS_TEXT[kind])),)))
        elif kind in SKIPPED:
            details = f"{path} was left out: '{kind}' cannot be sent to this model."
            return [ClientWarning(path, kind, details)]
        else:
            message = f"'{path}.type' is '{kind[:64]}', which this server cannot send to the model."
            raise refuse("invalid_value", message, f"{path}.type")
        return [ClientWarning(path, kind, f"{path} is sent as text: this model does not know '{kind}'.")]

    def _read_image(self, item: UnknownItem, path: str) -> list[ClientWarning]:
        """Adds an image that the assistant made, in a user message: no server takes images from an assistant."""
        data = (item.model_extra or {}).get("result")
        if not isinstance(data, str) or not data:
            return [ClientWarning(path, item.type, f"{path} was left out: it contains no image.")]
        kind = sniffed_base64(data) or "image/png"
        if not kind.startswith("image/"):
            raise refuse("invalid_value", f"'{path}.result' is not an image in base64.", f"{path}.result")
        self._history.add(User((Text(SHOWN), Image(f"data:{kind};base64,{data}"))))
        return []


def title_of(item: AgentMessageItem) -> str:
    """The line before the message of an agent."""
    return f"Message from the agent '{item.author}':" if item.author else "Message from another agent:"


def empty(path: str) -> ClientWarning:
    """The warning about an item that was left out because it is empty."""
    return ClientWarning(path, "empty content", f"{path} was left out: it is empty.")


def _as_context(item: UnknownItem, keys: tuple[str, ...]) -> str:
    extras: dict[str, Any] = item.model_extra or {}
    context = {key: extras[key] for key in keys if extras.get(key) is not None}
    text = f"[{item.type}] {msgspec.json.encode(context).decode()}" if context else f"[{item.type}]"
    return text if len(text) <= CONTEXT_LENGTH else text[:CONTEXT_LENGTH] + "…"
