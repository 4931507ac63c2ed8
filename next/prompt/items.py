"""Input items -> the conversation of a prompt. What cannot be sent is refused with its path."""

from functools import partial
from typing import Any

from ..tools.function import FunctionCallItem, FunctionCallOutputItem
from ..types.problems import Warning, refuse
from ..types.request import Item, Message, Reasoning, RefusalPart, Request, TextPart
from .history import History, id_for
from .nouns import AssistantMessage, Entry, Model, Parts, PastThought, System, Text, User


def conversation(request: Request, model: Model) -> tuple[list[Entry], list[Warning]]:
    """Everything the model reads, the instructions first, and a warning for what was changed or left out."""
    if (blank := _blank_text(request)) is not None:
        return [User((Text(blank),))], []  # some servers answer it, and others refuse it with a reason
    reader = _Reader(model)
    if request.instructions:
        reader.instruct(request.instructions, "instructions")
    if isinstance(request.input, str):
        reader.add_user(_texts(request.input), "input")
    else:
        for index, item in enumerate(request.items):
            reader.read(item, request.path_of(index))
    entries = reader.history.entries()
    if reader.head:
        entries.insert(0, System("\n\n".join(reader.head)))
    if not entries:
        raise refuse("invalid_value", "'input' has no content that can be sent to the model.", "input")
    return entries, reader.warnings + reader.history.warnings


class _Reader:
    """Reads items into a history."""

    def __init__(self, model: Model) -> None:
        self.history = History(partial(id_for, model.call_ids))
        self.head: list[str] = []
        """System messages that are merged into one."""
        self.warnings: list[Warning] = []
        self._system_messages = model.settings.system_messages

    def read(self, item: Item, path: str) -> None:
        """One item."""
        match item:
            case Message():
                self._message(item, path)
            case Reasoning():
                thoughts = [thought.text for thought in (item.content or item.summary or []) if thought.text.strip()]
                if thoughts:
                    self.history.add_reasoning(PastThought("\n\n".join(thoughts)), path)
            case FunctionCallItem():
                self.history.add_call(item.call_id, item.name, item.arguments, path)
            case FunctionCallOutputItem():
                self.history.add_output(item.call_id or "", _texts(item.output), path)
            case _:
                raise refuse("invalid_value", f"'{path}.type' is '{getattr(item, 'type', '')}'", f"{path}.type")

    def instruct(self, text: str, path: str) -> None:
        """Instructions of the developer."""
        if not text.strip():
            self._empty(path)
        elif self._system_messages == "merge_head":
            self.head.append(text)
        else:
            self.history.add(System(text) if self._system_messages == "keep" else User((Text(text),)))

    def add_user(self, parts: Parts, path: str) -> None:
        """A message of the user."""
        if parts:
            self.history.add(User(parts))
        else:
            self._empty(path)

    def _message(self, item: Message, path: str) -> None:
        parts = _texts(item.content)
        match item.role:
            case "user":
                self.add_user(parts, path)
            case "assistant" if parts:
                self.history.add_message(AssistantMessage(parts))
            case "assistant":
                self._empty(path)
            case "system" | "developer":
                self.instruct("\n".join([part.text for part in parts]), path)

    def _empty(self, path: str) -> None:
        self.warnings.append(Warning(path, "empty content", f"{path} was left out: it is empty."))


def _texts(content: Any) -> tuple[Text, ...]:
    """The parts that are not empty."""
    if isinstance(content, str):
        return (Text(content),) if content.strip() else ()
    texts = [
        part.refusal if isinstance(part, RefusalPart) else part.text if isinstance(part, TextPart) else ""
        for part in content
    ]
    return tuple([Text(text) for text in texts if text.strip()])


def _blank_text(request: Request) -> str | None:
    """The user's empty text, if there is nothing else."""
    if (request.instructions or "").strip():
        return None
    if isinstance(request.input, str):
        return None if request.input.strip() else request.input
    texts: list[str] = []
    for item in request.input:
        if not isinstance(item, Message) or item.role != "user":
            return None
        parts = [item.content] if isinstance(item.content, str) else [getattr(p, "text", "x") for p in item.content]
        texts += parts
    return None if "".join(texts).strip() or not texts else texts[-1]
