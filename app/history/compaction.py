"""Compaction: a conversation is summarized, and goes on from the summary.

The client carries a summary sealed, in a `compaction` item, in one of two forms:

    asked for by the client     the summary alone; the client keeps other items as it wants
    by `context_management`     all that is left of the conversation (a whole window): the messages of system, developer
                                and user, the summary, and the last step unchanged; all items before it are left out

Of the items before one of the first form only messages of system, developer and user are read: the summary covers the
rest. All of this is plain JSON, which is then parsed as if the client had posted it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import msgspec

from ..types.json import Json, encode, without
from ..types.parse import ToolShapes, parse
from ..types.problems import Problem, Warnings, refuse
from ..types.request import Request, SummaryTrigger
from ..types.response import Compaction, Response, new_id
from .sealing import Sealer
from .shortening import is_output, shortened

SUM_UP = """\
This conversation is about to be replaced by a summary, because it has grown long. Write that summary now. Whoever \
goes on from here, you or another model, will have nothing else: what you leave out is lost.

Write it as notes, under these headings, and leave a heading out where there is nothing to say:

1. What the user wants: every request and wish that still holds, the newest to the letter.
2. Rules: what must or must not be done, tastes and limits the user named, approvals given or denied.
3. What was done: the steps so far and what came of each, mistakes and what they taught included.
4. Facts: names, numbers, dates, addresses, identifiers, paths of files and what each is for, commands that work, \
code and messages that will be needed again, to the letter.
5. What tools gave: results that still matter, with the source of each.
6. Decisions, and the reasons for them.
7. Where things stand: what is being worked on, what is open, the very next step.

Keep summaries of earlier parts that you find above. Add nothing that was not said or found. Use the language of the \
conversation, call no tool, answer no question, and write nothing but the summary."""
_INTRODUCTION = (
    "What was said and done up to here was replaced by this summary. Go on from it, and do not mention it unless asked."
)
"""Precedes the summary in the message that the next model reads."""
_CUT = "[The summary ends here: its writer had no more room.]"
_NO_SUMMARY = Problem("upstream_error", "The model was asked to summarize the conversation, and returned no summary.")
_NO_SEAL = (
    "This server cannot summarize conversations: summaries are encrypted, and its configuration has `seal.when`"
    ' = "never".'
)
_NOTHING_BEFORE = "There is nothing to summarize before its last step."
_OF_ANSWERS = frozenset({"context_management", "max_output_tokens", "truncation"})
"""Members of a request that do not apply to a summary."""
_SET_UP = frozenset({"additional_tools", "configuration_update"})
"""Items that are not part of the conversation."""
SUMMARIES = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""Items with a summary. Codex used the other names before."""
_KEPT = 80_000
"""Characters of the user's messages that are kept unchanged beside a summary, at most."""


class Window(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What remains of a conversation, as it is sealed."""

    summary: str
    whole: bool = False
    """Whether it replaces all items before it."""
    before: list[Json] = []
    after: list[Json] = []

    @property
    def items(self) -> list[Json]:
        """All of it, as input items."""
        return [*self.before, user_message(f"{_INTRODUCTION}\n\n{self.summary}"), *self.after]


class Summary(NamedTuple):
    """A summary that a model has written, and why it stopped writing."""

    text: str
    ending: Literal["end", "length", "content_filter"]


def read(body: Json, sealer: Sealer | None, shapes: ToolShapes) -> tuple[Request, Warnings, "Conversation | None"]:
    """The request in a body, and its conversation if it may have to be summarized. Raises `ProblemError`."""
    body, positions = _expanded(body, sealer)
    request, warnings = parse(body, shapes, positions)
    asked_for = bool(request.items) and isinstance(request.items[-1], SummaryTrigger)
    wanted = (entry.compact_threshold for entry in request.context_management if entry.type == "compaction")
    threshold = next((tokens for tokens in wanted if tokens is not None), None)
    if not asked_for and threshold is None:
        return request, warnings, None
    if asked_for and len(request.items) == 1:
        raise refuse("invalid_value", "'input' contains nothing to summarize.", "input")
    conversation = Conversation(body, positions, shapes, sealer, None if asked_for else threshold)
    return request, warnings, conversation


def user_message(content: Any) -> Json:
    """A message of the user, as a client posts it."""
    return {"type": "message", "role": "user", "content": content}


def role_of(item: Any) -> Any:
    """Whose message this item is. None if it is no message."""
    return item.get("role") if isinstance(item, dict) and item.get("type") in (None, "message") else None


def is_summary(item: Any) -> bool:
    """Whether this item holds a summary."""
    return isinstance(item, dict) and str(item.get("type")) in SUMMARIES


def written(response: Response) -> Summary | Problem:
    """The summary in a model's answer. One that was cut at a limit says so, to the model that will read it."""
    output = msgspec.to_builtins(response.output)  # of a server that has the same API, it is plain JSON anyway
    parts = [part for item in output if item["type"] == "message" for part in item["content"]]
    text = "".join([part["text"] for part in parts if part["type"] == "output_text"]).strip()
    if text.startswith("<think>"):  # some servers leave the reasoning in the text
        text = text.partition("</think>")[2].strip()
    if text and (details := response.incomplete_details):
        return Summary(f"{text}\n\n{_CUT}", "content_filter" if details.reason == "content_filter" else "length")
    if text:
        return Summary(text, "end")
    refusal = "".join([part["refusal"] for part in parts if part["type"] == "refusal"]).strip()
    message = f"The model refused to sum the conversation up: {refusal}"
    return Problem("invalid_prompt", message) if refusal else _NO_SUMMARY


@dataclass
class Conversation:
    """A conversation that may have to be summarized: the items of a body, and where each of them was posted."""

    body: Json
    positions: Sequence[int]
    shapes: ToolShapes
    sealer: Sealer | None
    threshold: int | None
    """Tokens above which it is summarized, and then answered; None: only a summary is wanted."""

    def __post_init__(self) -> None:
        items = self.body["input"]
        self._items: list[Json] = items if isinstance(items, list) else []
        self._head = len(self._items)
        """How many items are summarized. The rest, which is the last step, is kept."""
        self._most_kept = 0

    def split(self, most_asked: int | None) -> str | None:
        """Keeps the last step out of the summary, for a model that may be asked so many tokens; or why there is none.

        The last step is what the model was sent since its last answer, or its last calls with their outputs; the latter
        are summarized as well if they are too long.
        """
        most = min(self.threshold or 0, most_asked or self.threshold or 0)
        self._most_kept = min(_KEPT, most)  # characters: a quarter of what may be asked
        items, start = self._items, len(self._items)
        while start and _is_from_outside(items[start - 1]):
            start -= 1
        if start == len(items):
            while start and is_output(items[start - 1]):
                start -= 1
            while start and not _is_from_outside(items[start - 1]) and not is_output(items[start - 1]):
                start -= 1
            if sum(len(encode(item)) for item in items[start:]) > most * 2:  # characters: half of what may be asked
                start = len(items)
        self._head = start
        nothing = all(_is_from_outside(item) or item.get("type") in _SET_UP for item in items[:start])
        if not nothing and self.sealer is not None:
            return None
        reason = _NOTHING_BEFORE if nothing else _NO_SEAL
        return f"'context_management' has no effect on this conversation. {reason}"

    def asking(self, excess: int = 0) -> Request:
        """The request for the summary, with outputs shortened by so many characters.

        Its tools stay, so that prompt caches hold, but none may be called. Raises `ProblemError`.
        """
        if self.sealer is None:
            raise refuse("unsupported_parameter", _NO_SEAL, "input")
        head = shortened(self._items[: self._head], excess)
        # of an update of settings the format is left out: a summary is plain text
        head = [without(item, "text") if item.get("type") == "configuration_update" else item for item in head]
        items = list(zip(head, self.positions or range(len(head)), strict=False))
        items = [(item, at) for item, at in items if item.get("type") != "compaction_trigger"]
        body = without(self.body, *_OF_ANSWERS)
        body["store"] = False
        if body.get("tools") or any(item.get("type") == "additional_tools" for item in self._items):
            body["tool_choice"] = "none"
        if (text := body.get("text")) is not None:
            body["text"] = without(text, "format")
        return self._parsed(body, [*items, (user_message(SUM_UP), len(self._items))])

    def going_on(self, summary: Summary) -> tuple[Compaction, Request]:
        """What remains, as an item, and the request that is answered instead of the posted one."""
        head, after = self._items[: self._head], self._items[self._head :]
        window = Window(summary=summary.text, whole=True, before=kept(head, self._most_kept), after=after)
        set_up = [item for item in head if item.get("type") in _SET_UP]
        body = without(self.body, "context_management")
        request = self._parsed(body, [(item, self._head) for item in [*set_up, *window.items]])
        return self._item(window), request

    def item(self, summary: Summary) -> Compaction:
        """The summary alone, as an item."""
        return self._item(Window(summary=summary.text))

    def _item(self, window: Window) -> Compaction:
        assert self.sealer is not None  # noqa: S101 — refused or warned of before
        sealed = self.sealer.seal("compaction", msgspec.to_builtins(window))
        return Compaction(id=new_id("cmp"), encrypted_content=sealed)

    def _parsed(self, body: Json, items: Sequence[tuple[Json, int]]) -> Request:
        positions = [at for _, at in items]
        return parse({**body, "input": [item for item, _ in items]}, self.shapes, positions)[0]


def _expanded(body: Json, sealer: Sealer | None) -> tuple[Json, Sequence[int]]:
    """The body with its last compaction item that opens replaced by what it stands for, and each item's position.

    Those before it are not opened: each may be large.
    """
    items = body.get("input")
    if sealer is None or not isinstance(items, list):
        return body, ()
    for last in reversed(range(len(items))):
        envelope = items[last].get("encrypted_content") if is_summary(items[last]) else None
        if isinstance(envelope, str) and (
            content := sealer.open("compaction", envelope, f"input[{last}].encrypted_content")
        ):
            break
    else:
        return body, ()
    window = msgspec.convert(content, Window)
    kept = [
        (item, at)
        for at, item in enumerate(items[:last])
        if (isinstance(item, dict) and str(item.get("type")) in _SET_UP)
        or (_is_from_outside(item) and not window.whole)
    ]
    kept += [(inner, last) for inner in window.items]
    kept += [(item, at) for at, item in enumerate(items[last + 1 :], last + 1)]
    return {**body, "input": [item for item, _ in kept]}, [at for _, at in kept]


def kept(items: Sequence[Json], most: int) -> list[Json]:
    """All messages of system and developer, and the newest ones of the user: at most so many characters of these."""
    messages: list[Json] = []
    for item in reversed(items):
        content = item.get("content")
        if not _is_from_outside(item) or (isinstance(content, str) and content.startswith(_INTRODUCTION)):
            continue
        most -= len(encode(item)) if role_of(item) == "user" else 0
        if most >= 0 or role_of(item) != "user":
            messages.append(item)
    return messages[::-1]


def _is_from_outside(item: Any) -> bool:
    return role_of(item) in ("user", "system", "developer")
