"""Input items -> the conversation of a prompt. What cannot be sent is refused with its path."""

from collections.abc import Iterable

from ..tools.base import PastCall, PastOutput
from ..tools.table import Tools
from ..types.problems import Warnings, refuse
from ..types.request import (
    AdditionalTools,
    AgentMessage,
    ComputerOutput,
    Item,
    Message,
    OtherItem,
    Reasoning,
    Request,
    SettingsUpdate,
    SummaryItem,
    SummaryTrigger,
    ToolItem,
    UnknownPart,
)
from .foreign import as_text, fixed_settings, told
from .history import EMPTY_OUTPUT, History
from .nouns import AssistantMessage, Entry, Model, Parts, PastThought, ProviderState, System, Text, User
from .parts import PartReader, is_marked, texts_of
from .state import SEARCHES, Opened, State

UNREADABLE = "only the server and the model that wrote this reasoning can read it."
_UNSIGNED = "this model's server takes back only reasoning that it signed itself."
REFUSED = "this model's server refused the reasoning in this conversation."
SEALED_SUMMARY = "only the server that summarized this conversation can read it."
_EMPTY = "it is empty."
_TRIGGER = "it has its effect only at the end of 'input'."


def conversation(request: Request, model: Model, tools: Tools, state: State | None, warnings: Warnings) -> list[Entry]:
    """Everything the model reads, the instructions first. `warnings` gets what was changed or left out."""
    posted = request.input
    items = (Message(content=posted, role="user"),) if isinstance(posted, str) else request.items
    if not (request.instructions or "").strip() and (blank := _blank_text(items)) is not None:
        return [User((Text(blank),))]  # some servers answer it, and others refuse it with a reason
    reader = _Reader(model, tools, state, warnings)
    if request.instructions:
        reader.instruct(request.instructions, "instructions")
    earlier = _earlier_items(request)
    for index, item in enumerate(items):
        if index >= earlier or not isinstance(item, Reasoning):
            reader.read(item, "input" if isinstance(posted, str) else request.path_of(index))
    entries = reader.entries()
    if not entries and request.generate:
        raise refuse("invalid_value", "'input' has no content that can be sent to the model.", "input")
    return entries


def _earlier_items(request: Request) -> int:
    """How many items belong to earlier turns, of which the client wants no reasoning to be sent."""
    if request.reasoning is None or request.reasoning.context != "current_turn":
        return 0
    asks = [isinstance(item, AgentMessage) or getattr(item, "role", "") == "user" for item in request.items]
    return max([index for index, is_ask in enumerate(asks) if is_ask], default=0)


def _blank_text(items: Iterable[Item]) -> str | None:
    """The user's empty text, if there is nothing else."""
    text = None
    for item in items:
        if not isinstance(item, Message) or item.role != "user":
            return None
        parts = item.content if isinstance(item.content, tuple) else (Text(item.content),)
        text = "".join([getattr(part, "text", "x") for part in parts])
        if text.strip():
            return None
    return text


class _Reader:
    """Reads items into a history."""

    def __init__(self, model: Model, tools: Tools, state: State | None, warnings: Warnings) -> None:
        self._model = model
        self._tools = tools
        self._state = state
        self._warnings = warnings
        self._history = History(model.provider.call_ids, warnings)
        self._parts = PartReader(model, warnings)
        self._head: list[str] = []
        """System messages that are merged into one."""
        self._known_searches = 0
        """How many of the next items are searches that the state before them holds."""

    def entries(self) -> list[Entry]:
        """All that was read."""
        head: list[Entry] = [System("\n\n".join(self._head))] if self._head else []
        return [*head, *self._history.entries()]

    def read(self, item: Item, path: str) -> None:
        """One item."""
        match item:
            case Message():
                self._message(item, path)
            case Reasoning():
                self._reasoning(item, path)
            case ToolItem():
                past = self._tools.past(item)
                if isinstance(past, PastCall):
                    self._history.add_call(past.call_id, past.name, past.arguments, path)
                else:
                    self._output(past, path)
            case AgentMessage():
                parts = self._parts.parts(item.content, f"{path}.content")
                title = f"Message from the agent '{item.author}':" if item.author else "Message from another agent:"
                self._add_user((Text(title), *parts) if parts else (), path)
            case ComputerOutput():
                parts = self._parts.parts(item.output, f"{path}.output", lenient=True)
                self._history.add(User((Text("[computer_call_output]"), *parts)))
                self._warnings.append(as_text(path, "computer_call_output"))
            case SettingsUpdate():
                self._warnings += fixed_settings(item, path)
            case SummaryItem():
                self._leave_out(path, SEALED_SUMMARY)
            case SummaryTrigger():
                self._leave_out(path, _TRIGGER)
            case OtherItem():
                self._foreign(item, path)
            case UnknownPart():
                raise item.fault
            case AdditionalTools():
                pass  # its tools are among those of the turn
            case _:
                raise AssertionError(item)

    def instruct(self, text: str, path: str) -> None:
        """Instructions of the developer."""
        if not text.strip():
            self._leave_out(path, _EMPTY)
        elif self._model.settings.system_messages == "merge_head":
            self._head.append(text)
        else:
            keeps = self._model.settings.system_messages == "keep"
            self._history.add(System(text) if keeps else User((Text(text),)))

    def _add_user(self, parts: Parts, path: str) -> None:
        """A message of the user."""
        if parts:
            self._history.add(User(parts))
        else:
            self._leave_out(path, _EMPTY)

    def _message(self, item: Message, path: str) -> None:
        content = f"{path}.content"
        if item.role == "user":
            self._add_user(self._parts.parts(item.content, content), path)
            return
        by_assistant = item.role == "assistant"
        texts = texts_of(item.content, content, f"{'an' if by_assistant else 'a'} {item.role} message")
        marked = not isinstance(item.content, str) and any(map(is_marked, item.content))
        if marked and (texts or not by_assistant):
            details = f"'prompt_cache_breakpoint' in {path} has no effect: "
            details += "only messages of the user and outputs are marked."
            self._warnings.append(details)
        if not by_assistant:
            self.instruct("\n".join([part.text for part in texts]), path)
        elif texts:
            self._history.add_piece(AssistantMessage(texts), path)
        else:
            self._leave_out(path, _EMPTY)

    def _output(self, past: PastOutput, path: str) -> None:
        """The output of a call; it may name no call where it comes later than that was answered."""
        output = self._parts.parts(past.content, f"{path}.output")
        if past.call_id is not None:
            self._history.add_output(past.call_id, output, path, failed=past.failed)
            return
        named = f"the tool '{past.function}'" if past.function else "a tool"
        title = Text(f"Output of {named}, for an earlier call:")
        self._history.add(User((title, *(output or (Text(EMPTY_OUTPUT),)))))
        self._warnings.append(f"{path} is sent as a message: it names no call.")

    def _reasoning(self, item: Reasoning, path: str) -> None:
        shown = "\n\n".join([thought.text for thought in (item.content or item.summary or []) if thought.text.strip()])
        sealed, sealed_path = item.encrypted_content, f"{path}.encrypted_content"
        opened = self._state.open(sealed, sealed_path) if sealed and self._state else None
        if opened is not None and opened.own:
            self._give_back(opened, opened.text or shown, path)
        elif self._model.signed_reasoning:
            if shown or sealed:
                self._leave_out(path, REFUSED if self._model.state_refused else _UNSIGNED)
        elif text := (opened.text if opened else "") or shown:
            self._history.add_piece(PastThought(text), path)
            if opened is None and sealed:
                self._warnings.append(f"{sealed_path} was ignored: {UNREADABLE} Its text is sent instead.")
        elif sealed and (opened is None or opened.fields):
            self._leave_out(path, UNREADABLE)

    def _give_back(self, opened: Opened, text: str, path: str) -> None:
        """Add reasoning that this upstream wrote itself: it gets the exact text back, with its own state."""
        if text:
            self._history.add_piece(PastThought(text, continued=True), path)
        if opened.fields:
            self._history.add_piece(ProviderState(opened.fields), path)
            self._known_searches = opened.fields.get(SEARCHES, 0)
        self._history.add_state_of_calls(opened.calls)

    def _foreign(self, item: OtherItem, path: str) -> None:
        if item.type == "web_search_call" and self._known_searches:
            self._known_searches -= 1
            return
        entry, warning = told(item, path)
        if isinstance(entry, AssistantMessage):
            self._history.add_piece(entry, path)
        elif entry is not None:
            self._history.add(entry)
        self._warnings += [warning] if warning else []

    def _leave_out(self, path: str, why: str) -> None:
        self._warnings.append(f"{path} was left out: {why}")
