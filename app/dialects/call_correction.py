"""Calls whose inputs do not match the grammar of their tool: the model is asked once more, before the client sees them.

Theory of operation
-------------------
From the first call of such a tool on, all that the model writes is held back. When the message has ended, the code
around it checks the inputs. If they match, what was held is sent. If not, the model is asked again: the same prompt,
its message, and the faults as the outputs of its calls. What it then writes continues the same response, whatever it
is; the held calls are never sent. If it cannot be asked, they are sent after all.

A message whose earlier calls were sent is not corrected: the client would run these, and the model make them again.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from ..bridges.input_checks import CallInput
from ..bridges.input_patterns import InputFault
from ..bridges.table import BridgeTable
from ..emitter.deltas import Broke, CallOpened, Delta, ProviderStateAdded, Stopped, TextDelta, UsageReported
from ..emitter.lifecycle_events import used_together
from ..prompt.nouns import Assistant, Prompt, Text, ToolOutput
from ..prompt.sealed_state import StateForm
from ..protocol.response import Usage
from ..protocol.warnings import ClientWarning
from .message_record import MessageRecord, make_distinct

NOT_RUN: Final = "The call was not run: its input {}. Make the call again, with an input that matches."
OTHER_FAULT: Final = "The call was not run, because the input of another call does not match. Make it again as well."


class CallCorrection:
    """The calls of one answer."""

    was_called: Final = False
    """No call is run by this server."""

    def __init__(self, table: BridgeTable, prompt: Prompt, form: StateForm, *, sends_state: bool) -> None:
        """`sends_state`: the client gets provider state."""
        self._table = table
        self._prompt = prompt
        self._sends_state = sends_state
        self._record = MessageRecord(form)
        self._held: list[Delta] = []
        self._has_sent_calls = False
        self._ends_with_text = False
        """Whether the last delta that was sent is text."""
        self._stopped: Stopped | None = None
        self._used: Usage | None = None
        """The tokens of the first message."""
        self._is_over = False
        """Whether what was held is sent, or replaced by the second message."""
        self._has_asked_again = False
        self.usage: Usage | None = None
        """The tokens of this message, if its server has reported them."""
        self.warnings: list[ClientWarning] = []

    @property
    def may_go_on(self) -> bool:
        """Whether the model may be asked again."""
        return not self._has_asked_again

    @property
    def wants_more(self) -> bool:
        """Whether the message has ended with calls that are to be checked."""
        ended = self._stopped is not None and self._stopped.reason == "end"
        return bool(self._held) and ended and not self._is_over

    @property
    def notes(self) -> dict[str, int]:
        """Notes for the log."""
        return {"asked_again": 1} if self._has_asked_again else {}

    def take(self, deltas: list[Delta]) -> list[Delta]:
        """The deltas for the client."""
        if self._has_asked_again and not self._is_over:
            self._is_over = True
            self._held, self._stopped = [], None
        return [shown for delta in deltas for shown in self._take(delta)]

    def _take(self, delta: Delta) -> list[Delta]:  # noqa: PLR0911 — one for each kind of delta
        match delta:
            case UsageReported():
                self.usage = delta.usage
                together = used_together(self._used, delta.usage)
                return [UsageReported(together, delta.searches)] if together is not None else []
            case ProviderStateAdded() if not self._sends_state:
                self._record.take(delta)
                return []
            case _ if self._has_asked_again:
                return self._apart(delta)
            case Stopped():
                self._stopped = delta
                return []
            case Broke():
                return [*self._held, delta]
            case CallOpened():
                number = len(self._record.calls)
                self._record.open_call(delta, delta.call_id or f"held{number:05d}")
                if not self._held and not self._table.has_form(delta.name):
                    self._has_sent_calls = True
            case _:
                self._record.take(delta)
        if self._held or (isinstance(delta, CallOpened) and not self._has_sent_calls):
            self._held.append(delta)
            return []
        self._ends_with_text = isinstance(delta, TextDelta)
        return [delta]

    def _apart(self, delta: Delta) -> list[Delta]:
        """A delta of the second message. Its text begins a paragraph, where it continues that of the first one."""
        ends_with_text, self._ends_with_text = self._ends_with_text, False
        return [TextDelta("\n\n"), delta] if ends_with_text and isinstance(delta, TextDelta) else [delta]

    def end(self) -> list[Delta]:
        """The deltas at the end of the answer."""
        held, stopped, self._held, self._is_over = self._held, self._stopped, [], True
        return [*held, *([] if stopped is None else [stopped])]

    @property
    def size(self) -> int:
        """Characters of the arguments of the calls."""
        return sum(map(len, (text for call in self._record.calls.values() for text in call.arguments)))

    def inputs(self) -> list[CallInput | None]:
        """The inputs to check, one for each call of the message; None where there is none."""
        return [self._table.input_of(call.name, "".join(call.arguments)) for call in self._record.calls.values()]

    def go_on(self, faults: Sequence[InputFault | None]) -> tuple[Prompt, list[Delta]]:
        """The prompt of the second message, for the faults of `inputs`, and no deltas."""
        self._has_asked_again = True
        self._used, self.usage = self.usage, None
        calls = list(self._record.calls.values())
        make_distinct(calls, self._prompt.entries, "held")
        words = [OTHER_FAULT if fault is None else NOT_RUN.format(fault.words) for fault in faults]
        outputs = [ToolOutput(call.id, (Text(text),), failed=True) for call, text in zip(calls, words, strict=True)]
        entries = (*self._prompt.entries, Assistant(self._record.pieces()), *outputs)
        return msgspec.structs.replace(self._prompt, entries=entries), []
