"""Translates input items into the conversation of a prompt. Items that cannot be sent are refused with their path."""

from collections.abc import Callable
from typing import Final, Literal, assert_never

from msgspec.structs import replace

from ..bridges.table import BridgeTable
from ..protocol.problems import refuse
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import (
    AgentMessageItem,
    ComputerOutputItem,
    ConfigurationUpdateItem,
    InputItem,
    MessageItem,
    ReasoningItem,
    UnknownItem,
)
from ..protocol.request.summaries import ServerItem
from ..protocol.request.tool_items import AdditionalToolsItem, ToolItem
from ..protocol.response import InputTransformation
from ..protocol.warnings import ClientWarning
from .content_parts import PartReader, marks_cache, text_only
from .empty_prompt import empty_prompt
from .history import EMPTY_OUTPUT, Conversation, History
from .nouns import (
    AssistantMessage,
    OpenedState,
    Parts,
    PastThought,
    ProviderState,
    System,
    Text,
    User,
)
from .other_items import as_text_warning, fixed_settings, late_output, told_item
from .prompt_rules import PromptRules
from .sealed_state import SEARCHES

UNREADABLE: Final = "only the server and the model that wrote this reasoning can read it."

UNSIGNED: Final = "this model's server takes back only reasoning that it signed itself."

REFUSED: Final = "this model's server refused the reasoning in this conversation."

Reason = Literal["model_mismatch", "turn_boundary"]
TURN_ENDED: Final[Reason] = "turn_boundary"

Opener = Callable[[str, str], OpenedState | None]
"""Opens the sealed state of a reasoning item, by its path in the request. None if it cannot be read."""


def to_conversation(
    request: CreateResponse, table: BridgeTable, rules: PromptRules, open_state: Opener | None
) -> Conversation:
    """Everything the model reads, the instructions first. Problems and warnings name items as they were posted."""
    if (blank := empty_prompt(request)) is not None:
        return Conversation([User((Text(blank),))], [])
    reader = _ItemReader(table, rules, open_state)
    earlier = _earlier_turns(request)
    warnings: list[ClientWarning] = []
    if request.instructions:
        warnings += reader.instruct(request.instructions, "instructions")
    if isinstance(request.input, str):
        warnings += reader.add_user((Text(request.input),) if request.input.strip() else (), "input")
    positions = request.positions or ()
    for index, item in enumerate(request.items):
        path = f"input[{positions[index] if index < len(positions) else index}]"
        if index < earlier and isinstance(item, ReasoningItem):
            reader.leave_out(item, path, TURN_ENDED)
            continue
        warnings += reader.read(item, path)
    found = reader.conversation()
    if not found.entries and request.generate:
        raise refuse("invalid_value", "'input' has no content that can be sent to the model.", "input")
    return Conversation(found.entries, warnings + found.warnings, found.removed)


def _earlier_turns(request: CreateResponse) -> int:
    """How many items belong to earlier turns, of which the client wants no reasoning to be sent."""
    if request.reasoning is None or request.reasoning.context != "current_turn":
        return 0
    for index in range(len(request.items) - 1, -1, -1):
        item = request.items[index]
        if isinstance(item, AgentMessageItem) or (isinstance(item, MessageItem) and item.role == "user"):
            return index
    return 0


class _ItemReader:
    """Reads items into a history. What it leaves out or changes it returns as warnings."""

    def __init__(self, table: BridgeTable, rules: PromptRules, open_state: Opener | None) -> None:
        self._table = table
        self._rules = rules
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
        self._reasoning: dict[str, ReasoningItem] = {}
        """By their paths."""
        self._removed: dict[str, Reason] = {}
        """Why it is not sent, by the path of the reasoning."""

    def conversation(self) -> Conversation:
        found = self._history.conversation()
        head = [System("\n\n".join(self._head))] if self._head else []
        reasons = {**self._removed, **dict.fromkeys(found.unfollowed, TURN_ENDED)}
        removed = [
            InputTransformation(id=item.id or path, reason=reasons[path])
            for path, item in self._reasoning.items()
            if path in reasons
        ]
        return Conversation([*head, *found.entries], found.warnings, removed)

    def leave_out(self, item: ReasoningItem, path: str, reason: Reason) -> None:
        """Notes that this item is not sent."""
        self._reasoning[path], self._removed[path] = item, reason

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
            case AdditionalToolsItem():
                return []  # its tools are among the turn's
            case ConfigurationUpdateItem():
                return [] if (lost := fixed_settings(item, path)) is None else [lost]  # the last is in the settings
            case ComputerOutputItem():
                return self._read_screenshot(item, path)
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
                return _lost_marks(item, path)
            case "system" | "developer":
                parts = text_only(item.content, content, f"a {item.role} message")
                return _lost_marks(item, path) + self.instruct("\n".join([part.text for part in parts]), path)
            case _:
                assert_never(item.role)

    def _read_bridged(self, item: ToolItem, path: str) -> list[ClientWarning]:
        warnings: list[ClientWarning] = []
        if (call := self._table.read_call(item)) is not None:
            warnings += self._history.add_call(call, path)
            if call.encrypted:
                warnings.append(encrypted_arguments(path))
        if (output := self._table.read_output(item)) is not None:
            read = self._parts.parts(output.content, f"{path}.output")
            warnings += read.warnings
            if output.call_id is None:
                return warnings + self._add_late(output.tool, read.parts, path)
            warnings += self._history.add_output(output.call_id, read.parts, path, failed=output.failed)
        return warnings

    def _add_late(self, tool: str, output: Parts, path: str) -> list[ClientWarning]:
        """Adds an output that names no call."""
        title, warning = late_output(tool, path)
        self._history.add(User((Text(title), *(output or (Text(EMPTY_OUTPUT),)))))
        return [warning]

    def _read_agent(self, item: AgentMessageItem, path: str) -> list[ClientWarning]:
        read = self._parts.parts(item.content, f"{path}.content")
        return read.warnings + self.add_user((Text(title_of(item)), *read.parts) if read.parts else (), path)

    def _read_reasoning(self, item: ReasoningItem, path: str) -> list[ClientWarning]:
        shown = "\n\n".join([thought.text for thought in (item.content or item.summary or []) if thought.text.strip()])
        sealed, sealed_path = item.encrypted_content, f"{path}.encrypted_content"
        self._reasoning[path] = item
        opened = self._open_state(sealed, sealed_path) if sealed and self._open_state else None
        if opened is not None and opened.own:
            self._give_back(opened, opened.text or shown, path)
        elif self._signed_reasoning and (shown or sealed):
            self.leave_out(item, path, "model_mismatch")
            return [ClientWarning(path, "reasoning", f"{path} was left out: {self._why_left_out}")]
        elif text := (opened.text if opened else "") or shown:
            self._history.add_reasoning(PastThought(text, continued=False), path)
            if opened is None and sealed:
                details = f"{sealed_path} was ignored: {UNREADABLE} Its text is sent instead."
                return [ClientWarning(sealed_path, "reasoning", details)]
        elif sealed and (opened is None or opened.fields):
            self.leave_out(item, path, "model_mismatch")
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
        if item.type == "web_search_call" and self._known_searches:
            self._known_searches -= 1
            return []
        told = told_item(item, path)
        if told.by_assistant:
            self._history.add_message(AssistantMessage((Text(told.text),)), path)
        elif told.text:
            self._history.add(User((Text(told.text), *([told.image] if told.image else []))))
        return [] if told.warning is None else [told.warning]

    def _read_screenshot(self, item: ComputerOutputItem, path: str) -> list[ClientWarning]:
        """Adds what a computer showed. A model that sees no pictures reads that there was one."""
        lenient = self._rules.server.model_copy(update={"lenient": True})
        read = PartReader(replace(self._rules, server=lenient)).parts(item.output, f"{path}.output")
        self._history.add(User((Text(f"[{item.type}]"), *read.parts)))
        return [*read.warnings, as_text_warning(path, item.type)]


def title_of(item: AgentMessageItem) -> str:
    """The line before the message of an agent."""
    return f"Message from the agent '{item.author}':" if item.author else "Message from another agent:"


def encrypted_arguments(path: str) -> ClientWarning:
    """The warning about arguments of which a part was left out."""
    details = f"{path}.arguments hold text that only another server can read. It was left out."
    return ClientWarning(f"{path}.arguments", "encrypted_content", details)


def empty(path: str) -> ClientWarning:
    """The warning about an item that was left out because it is empty."""
    return ClientWarning(path, "empty content", f"{path} was left out: it is empty.")


def _lost_marks(item: MessageItem, path: str) -> list[ClientWarning]:
    if isinstance(item.content, str) or not any(map(marks_cache, item.content)):
        return []
    details = f"'prompt_cache_breakpoint' in {path} has no effect: only messages of the user and outputs are marked."
    return [ClientWarning(path, "prompt_cache_breakpoint", details)]
