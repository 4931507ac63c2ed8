"""Searches that this server runs in the middle of an answer, in no dialect. The code around it does the searching.

Theory of operation
-------------------
The model calls a function, and its server ends the message there. The calls are kept from the client; what else the
model wrote is recorded as pieces of a prompt. When the message has ended, the code around it runs the searches, and the
model is asked again: the same prompt, the recorded pieces, and the outputs of the calls. What it then writes continues
the same response, and so on, until a message ends without such a call.

A message that also calls a function of the client ends the answer: only the client can give that output. Then no search
is run, and the client is shown that it was not. After the most searches or pages the model is told that there are no
more, and asked once more. An answer that still ends with a search is over.
"""

import re
from collections.abc import Sequence
from typing import Final

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
    Stopped,
    TextDelta,
    UsageReported,
)
from ..emitter.lifecycle_events import used_together
from ..prompt.nouns import (
    Assistant,
    Prompt,
    Text,
    ToolOutput,
)
from ..prompt.own_search import OwnSearch
from ..prompt.sealed_state import StateForm
from ..protocol.response import Usage
from ..protocol.warnings import ClientWarning
from .message_record import MessageRecord, make_distinct
from .search_calls import NO_MORE, NO_MORE_PAGES, SearchOutput, WantedSearch, address_is_in, wanted_by

NOT_RUN: Final = "Searches that the model wanted were not run, because it called functions of the client as well."
TOO_MANY: Final = (
    "Searches that the model wanted were not run: there are no more for one answer (`max_searches` and `max_pages` of "
    "the server, `max_tool_calls` of the client)."
)
MOST_CALLS: Final = 16
"""Calls of one message that are answered with more than a refusal."""
_LINK: Final = re.compile(r"\[([^\[\]]{1,300})\]\((https?://[^\s()]{1,2000}(?:\([^\s()]{0,100}\)[^\s()]{0,100})?)\)")
_LOOKED_AT: Final = 3000
"""Characters before the end of a link in which it may begin."""


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
        self._opened = 0
        """Pages that were opened, or could not be."""
        self._failed = 0
        """Searches and pages that failed."""
        self._conversation = prompt.entries
        self._continued = 0
        """Messages after which the model was asked again."""
        self._fruitless = 0
        """Those of them of which no call could be run."""
        self._used: Usage | None = None
        """The tokens of the messages before this one."""
        self._titles: dict[str, str] = {}
        """The pages that were found."""
        self._tail = ""
        """The end of the text, in which a link may have begun."""
        self._is_last = False
        """Whether the model is asked for the last time."""
        self._has_no_more = False
        """Whether the model has wanted more searches or pages than there are."""
        self.warnings: list[ClientWarning] = []
        self._begin_message()

    def _begin_message(self) -> None:
        self._record = MessageRecord(self._form)
        self._calls_client = False
        self._usage: Usage | None = None
        self._stopped: Stopped | None = None

    @property
    def may_go_on(self) -> bool:
        """Whether the model may be asked again."""
        return not self._is_last

    @property
    def wants_more(self) -> bool:
        """Whether the message has ended with calls of the search, and the model is to be asked again."""
        ended = self._stopped is not None and self._stopped.reason == "end"
        return bool(self._record.calls) and ended and not self._calls_client and self.may_go_on

    @property
    def usage(self) -> Usage | None:
        """The tokens of this message, if its server has reported them."""
        return self._usage

    @property
    def notes(self) -> dict[str, int]:
        """Notes for the log."""
        counted = {"searches": self._made, "opened_pages": self._opened, "failed_searches": self._failed}
        return {name: count for name, count in counted.items() if count}

    @property
    def was_called(self) -> bool:
        """Whether the model has called the search, whatever came of it."""
        return self._continued > 0 or bool(self._record.calls)

    def take(self, deltas: list[Delta]) -> list[Delta]:
        """The deltas for the client."""
        return [shown for delta in deltas for shown in self._take(delta)]

    def _take(self, delta: Delta) -> list[Delta]:  # noqa: PLR0911 — one for each kind of delta
        match delta:
            case TextDelta():
                self._record.take(delta)
                return [delta, *self._citations(delta.text)]
            case RefusalTextDelta() | ReasoningDelta():
                self._record.take(delta)
            case ProviderStateAdded():
                self._record.take(delta)
                return [delta] if self._sends_state and delta.key not in self._record.calls else []
            case CallOpened() if delta.name in self.search.names:
                number = self._made + self._opened + len(self._record.calls)
                self._record.open_call(delta, delta.call_id or f"search{number:03d}")
                return []
            case CallOpened():
                self._calls_client = True
            case CallArguments() if delta.key in self._record.calls:
                self._record.take(delta)
                return []
            case UsageReported():
                self._usage = delta.usage
                together = used_together(self._used, delta.usage)
                return [UsageReported(together, self._made)] if together is not None else []
            case Stopped():
                self._stopped = delta
                return []
            case _:
                pass
        return [delta]

    def end(self) -> list[Delta]:
        """The deltas at the end of a message after which the model is not asked again."""
        ends_with_calls = bool(self._record.calls) and self._stopped is not None and self._stopped.reason == "end"
        if ends_with_calls and self._calls_client:
            self.warnings.append(ClientWarning("output", "searches", NOT_RUN))
        if self._has_no_more or (ends_with_calls and not self._calls_client):
            self.warnings.append(ClientWarning("output", "searches", TOO_MANY))
        not_made: list[Delta] = [wanted.made(failed=True) for wanted in self._asked_for()]
        return [*not_made, *([] if self._stopped is None else [self._stopped])]

    def wanted(self) -> list[WantedSearch]:
        """What the model wants now, for each of its calls."""
        searches, pages = self.search.most - self._made, self.search.most_pages - self._opened
        calls = min(self.search.most_calls - self._made - self._opened, MOST_CALLS)
        wanted = self._asked_for()
        for index, each in enumerate(wanted):
            if each.refusal:
                continue
            if calls <= 0 or (pages if each.page else searches) <= 0:
                wanted[index] = WantedSearch(refusal=NO_MORE_PAGES if each.page else NO_MORE)
                continue
            calls -= 1
            pages -= bool(each.page)
            searches -= bool(each.query)
        return wanted

    def knows(self, url: str) -> bool:
        """Whether the model has read this address in the conversation, or in what was found.

        One that it has made up may carry what it has read to a stranger, if a page told it to.
        """
        found = [entry for entry in self._prompt.entries[len(self._conversation) :] if isinstance(entry, ToolOutput)]
        return address_is_in(url, self._conversation) or address_is_in(url, found)

    def go_on(self, outputs: Sequence[SearchOutput]) -> tuple[Prompt, list[Delta]]:
        """The prompt of the next message, and the deltas for the client, for the outputs of `wanted`."""
        wanted = self.wanted()
        make_distinct(self._record.calls.values(), self._prompt.entries, "search")
        results = [
            ToolOutput(call.id, (Text(output.text),), output.failed)
            for call, output in zip(self._record.calls.values(), outputs, strict=True)
        ]
        self._made += sum(bool(each.query) for each in wanted)
        self._opened += sum(bool(each.page) for each in wanted)
        self._failed += sum(output.failed for each, output in zip(wanted, outputs, strict=True) if not each.refusal)
        self._continued += 1
        self._fruitless += all(each.refusal for each in wanted)
        self._has_no_more = any(each.refusal in {NO_MORE, NO_MORE_PAGES} for each in wanted)
        self._is_last = self._has_no_more or self._fruitless > 1
        choice = self._prompt.choice if self._prompt.choice.mode != "required" else Choice("auto")
        if self._is_last and len(self._prompt.functions) == len(self.search.names):
            choice = Choice("none")
        self._prompt = msgspec.structs.replace(
            self._prompt,
            entries=(*self._prompt.entries, Assistant(self._record.pieces()), *results),
            choice=choice,
        )
        for output in outputs:
            self._titles |= {page.url: page.title for page in output.pages}
        self._used = used_together(self._used, self._usage)
        self._tail = ""
        made: list[Delta] = [
            each.made(output.pages, failed=output.failed, shows_results=self.search.shows_results)
            for each, output in zip(wanted, outputs, strict=True)
            if not each.refusal
        ]
        if self._used is not None:
            made.append(UsageReported(self._used, self._made))
        self._begin_message()
        return self._prompt, made

    def _asked_for(self) -> list[WantedSearch]:
        return [wanted_by(call, self.search) for call in self._record.calls.values()]

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
