"""Searches that this server runs in the middle of an answer, in no dialect. The code around it does the searching.

Theory of operation
-------------------
The model calls a function, and its server ends the message there. The calls are kept from the client; what else the
model wrote is recorded as pieces of a prompt. When the message has ended, the code around it runs the searches, and the
model is asked again: the same prompt, the recorded pieces, and the outputs of the calls. What it then writes continues
the same response, and so on, until a message ends without such a call.

A message that also calls a function of the client ends the answer: only the client can give that output. Then no search
is run, and the client is shown that it was not. After `most` searches the model is told that there are no more, and
asked once more. An answer that still ends with a search is over.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ..bridges.choice import Choice
from ..emitter.deltas import (
    AnnotationAdded,
    CallArguments,
    CallOpened,
    Delta,
    ProviderStateAdded,
    ReasoningDelta,
    RefusalTextDelta,
    SearchMade,
    Stopped,
    TextDelta,
    UsageReported,
)
from ..emitter.lifecycle_events import used_together
from ..json_text import is_json_object
from ..prompt.nouns import (
    Assistant,
    AssistantMessage,
    Call,
    PastThought,
    Piece,
    Prompt,
    ProviderState,
    Text,
    ToolOutput,
)
from ..prompt.own_search import OwnSearch
from ..prompt.sealed_state import StateForm
from ..protocol.response import Usage
from ..protocol.warnings import ClientWarning

NO_MORE: Final = "There are no more searches for this answer. Answer with what you know, and say what is uncertain."
NO_QUERY: Final = "Nothing was searched: the call has no `query`."
NOT_RUN: Final = "Searches that the model wanted were not run, because it called functions of the client as well."
TOO_MANY: Final = "Searches that the model wanted were not run: there are no more for one answer (`max_searches`)."
LONGEST_QUERY: Final = 400
MOST_CALLS: Final = 16
"""Calls of one message that are answered with more than a refusal."""
_LINK: Final = re.compile(r"\[([^\[\]]{1,300})\]\((https?://[^\s()]{1,2000}(?:\([^\s()]{0,100}\)[^\s()]{0,100})?)\)")
_LOOKED_AT: Final = 3000
"""Characters before the end of a link in which it may begin."""


class WantedSearch(NamedTuple):
    """A search that the model wants."""

    query: str
    """Empty if it is not to be run."""
    days: int | None
    refusal: str
    """What the model is told if it is not run."""


class SearchOutput(NamedTuple):
    """What a search found."""

    text: str
    """For the model."""
    pages: Sequence[tuple[str, str]] = ()
    """Address and title of each."""
    failed: bool = False


class _SearchCall:
    def __init__(self, opened: CallOpened, number: int) -> None:
        self.id = opened.call_id or f"search{number:03d}"
        self.arguments: list[str] = []
        self.state = dict(opened.provider_state)

    def piece(self, name: str) -> Call:
        text = "".join(self.arguments)
        return Call(self.id, name, text if is_json_object(text) else "{}", self.state)

    def read(self) -> dict[str, Any]:
        try:
            read = msgspec.json.decode("".join(self.arguments) or "{}")
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return {}
        return read if isinstance(read, dict) else {}


class SearchLoop:
    """The searches of one answer."""

    def __init__(self, search: OwnSearch, prompt: Prompt, form: StateForm, *, sends_state: bool) -> None:
        """`sends_state`: the client gets provider state too."""
        self.search = search
        self._prompt = prompt
        self._form = form
        self._sends_state = sends_state
        self._made = 0
        """Searches that were run."""
        self._continued = 0
        """Messages after which the model was asked again. Some may have had calls without a query only."""
        self._used: Usage | None = None
        """The tokens of the messages before this one."""
        self._titles: dict[str, str] = {}
        """The pages that were found."""
        self._tail = ""
        """The end of the text, in which a link may have begun."""
        self._is_last = False
        """Whether the model is asked for the last time."""
        self.warnings: list[ClientWarning] = []
        self._begin_message()

    def _begin_message(self) -> None:
        self._pieces: list[Piece | _SearchCall] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._states: list[dict[str, Any]] = []
        self._calls: dict[int, _SearchCall] = {}
        self._calls_client = False
        self._usage: Usage | None = None
        self._stopped: Stopped | None = None

    @property
    def may_go_on(self) -> bool:
        """Whether the model may be asked again."""
        return not self._is_last

    @property
    def wants_search(self) -> bool:
        """Whether the message has ended with calls of the search, and the model is to be asked again."""
        ended = self._stopped is not None and self._stopped.reason == "end"
        return bool(self._calls) and ended and not self._calls_client and self.may_go_on

    @property
    def usage(self) -> Usage | None:
        """The tokens of this message, if its server has reported them."""
        return self._usage

    @property
    def notes(self) -> dict[str, int]:
        """Notes for the log."""
        return {"searches": self._made} if self._made else {}

    @property
    def was_called(self) -> bool:
        """Whether the model has called the search, whatever came of it."""
        return self._continued > 0 or bool(self._calls)

    def take(self, deltas: list[Delta]) -> list[Delta]:
        """The deltas for the client."""
        return [shown for delta in deltas for shown in self._take(delta)]

    def _take(self, delta: Delta) -> list[Delta]:  # noqa: C901, PLR0911 — one for each kind of delta
        match delta:
            case TextDelta():
                if self._thoughts or (self._states and not self._texts):
                    self._end_piece()
                self._texts.append(delta.text)
                return [delta, *self._citations(delta.text)]
            case RefusalTextDelta():
                self._texts.append(delta.text)
            case ReasoningDelta():
                if self._texts:
                    self._end_piece()
                self._thoughts.append(delta.text)
            case ProviderStateAdded():
                return self._add_state(delta)
            case CallOpened() if delta.name == self.search.spec.name:
                self._end_piece()
                call = _SearchCall(delta, self._made + len(self._calls))
                self._calls[delta.key] = call
                self._pieces.append(call)
                return []
            case CallOpened():
                self._calls_client = True
            case CallArguments() if delta.key in self._calls:
                self._calls[delta.key].arguments.append(delta.text)
                return []
            case UsageReported():
                self._usage = delta.usage
                together = used_together(self._used, delta.usage)
                return [UsageReported(together)] if together is not None else []
            case Stopped():
                self._stopped = delta
                return []
            case _:
                pass
        return [delta]

    def end(self) -> list[Delta]:
        """The deltas at the end of a message after which the model is not asked again."""
        if self._calls:
            self.warnings.append(ClientWarning("output", "searches", NOT_RUN if self._calls_client else TOO_MANY))
        not_made: list[Delta] = [SearchMade(_wanted(call.read()).query, failed=True) for call in self._calls.values()]
        return [*not_made, *([] if self._stopped is None else [self._stopped])]

    def wanted(self) -> list[WantedSearch]:
        """The searches that the model wants now, one for each of its calls."""
        left = min(self.search.most - self._made, MOST_CALLS)
        wanted = [_wanted(call.read()) for call in self._calls.values()]
        runnable = 0
        for index, each in enumerate(wanted):
            runnable += bool(each.query)
            if runnable > left:
                wanted[index] = WantedSearch("", None, NO_MORE)
        return wanted

    def go_on(self, outputs: Sequence[SearchOutput]) -> tuple[Prompt, list[Delta]]:
        """The prompt of the next message, and the deltas for the client, for the outputs of `wanted`."""
        wanted = self.wanted()
        self._end_piece()
        name = self.search.spec.name
        pieces = tuple(piece.piece(name) if isinstance(piece, _SearchCall) else piece for piece in self._pieces)
        results = [
            ToolOutput(call.id, (Text(output.text),), output.failed)
            for call, output in zip(self._calls.values(), outputs, strict=True)
        ]
        self._made += sum(bool(each.query) for each in wanted)
        self._continued += 1
        self._is_last = self._continued > self.search.most or any(each.refusal == NO_MORE for each in wanted)
        choice = self._prompt.choice if self._prompt.choice.mode != "required" else Choice("auto")
        if self._is_last and len(self._prompt.functions) == 1:
            choice = Choice("none")
        self._prompt = msgspec.structs.replace(
            self._prompt,
            entries=(*self._prompt.entries, Assistant(pieces), *results),
            choice=choice,
        )
        for output in outputs:
            self._titles |= dict(output.pages)
        self._used = used_together(self._used, self._usage)
        self._tail = ""
        made: list[Delta] = [
            SearchMade(each.query, tuple(url for url, _ in output.pages), failed=output.failed)
            for each, output in zip(wanted, outputs, strict=True)
            if each.query
        ]
        self._begin_message()
        return self._prompt, made

    def _add_state(self, delta: ProviderStateAdded) -> list[Delta]:
        if delta.key is not None and delta.key in self._calls:
            self._calls[delta.key].state |= delta.fields
            return []
        if delta.key is None:
            self._states.append(delta.fields)
        return [delta] if self._sends_state else []

    def _end_piece(self) -> None:
        """Ends the text or the thought, with the state that came with it or after it."""
        if (text := "".join(self._texts)).strip():
            self._pieces.append(AssistantMessage((Text(text),)))
        if self._thoughts:
            self._pieces.append(PastThought("".join(self._thoughts), continued=True))
        if self._states:
            self._pieces.append(ProviderState(self._form.joined(self._states)))
        self._texts, self._thoughts, self._states = [], [], []

    def _citations(self, text: str) -> list[Delta]:
        """Citations of the pages that were found, where the text links to them. The text has just been passed on."""
        if not self._titles:
            return []
        self._tail = (self._tail + text)[-_LOOKED_AT - len(text) :]
        if ")" not in text:
            return []
        length, ended = len(self._tail), 0
        deltas: list[Delta] = []
        for link in _LINK.finditer(self._tail):
            ended = link.end()
            if (title := self._titles.get(link[2])) is not None:
                page = {"type": "url_citation", "url": link[2], "title": title}
                deltas.append(AnnotationAdded(page, length - link.start(), length - link.end()))
        self._tail = self._tail[ended:]
        return deltas


def _wanted(arguments: dict[str, Any]) -> WantedSearch:
    query, days = arguments.get("query"), arguments.get("recency_days")
    text = " ".join(query.split())[:LONGEST_QUERY] if isinstance(query, str) else ""
    return WantedSearch(text, days if type(days) is int and days > 0 else None, "" if text else NO_QUERY)
