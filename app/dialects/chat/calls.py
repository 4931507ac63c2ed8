"""Tells tool calls apart in a stream of fragments.

Upstreams agree on little here: some leave the index out, some the id, some repeat the id or the name on every
fragment, some number every call 0. A fragment begins a new call where

    its index is new,
    or it has a name and an id that is not the current one's at that index,
    or it has a name, neither it nor the current call has an id, and the current call is another function's or whole.

Anything else continues the current call at its index. A call is told when its name is known.
"""

from typing import Any, Final

import msgspec

from app.dialects.chat.provider_state import Fields, state_of_call, without_signature
from app.dialects.chat.surrogates import Halves, mended, mended_all
from app.emitter.deltas import Broke, CallArguments, CallOpened, Delta, ProviderStateAdded
from app.protocol.problems import Problem

RUN_UPSTREAM: Final = "srvtoolu_"
"""What ids of calls begin with that Claude's own server runs and answers: they are nobody's to run."""

MOST: Final = 2048
"""Calls of one answer. Each is an item with several events, however short it is on the wire."""

TOO_MANY: Final = Problem(
    code="upstream_error", message=f"The model's server sent more than {MOST} tool calls in one answer."
)

NAMELESS: Final = Problem(code="upstream_error", message="The model's server sent a tool call without a name.")


class Braces:
    """Counts the braces of JSON that comes in pieces: how many are open, without those inside of strings."""

    def __init__(self) -> None:
        self.open = 0
        self._in_string = False
        self._escape = ""
        """The backslash at the end of the last piece, which escapes what comes next."""

    def add(self, piece: str) -> None:
        """One more piece."""
        text = (self._escape + piece).replace("\\\\", "").replace('\\"', "")
        self._escape = "\\" if text.endswith("\\") else ""
        between_quotes = text.split('"')
        outside = "".join(between_quotes[1 if self._in_string else 0 :: 2])
        self.open += outside.count("{") - outside.count("}")
        self._in_string ^= len(between_quotes) % 2 == 0


class _Call:
    """One call as far as it has arrived."""

    def __init__(self, key: int, call_id: str) -> None:
        self.key = key
        self.call_id = call_id
        self.name = ""
        self.kept: Fields = {}
        """What the upstream wants back with it, as far as it has arrived."""
        self.arguments: list[str] = []
        self.halves = Halves()
        self._last = ""
        """The last character that is no white space."""
        self._braces = Braces()
        self._measured = 0
        """How many of the arguments' pieces are counted in `_braces`."""
        self._is_no_object = False

    def add(self, arguments: str) -> None:
        self.arguments.append(arguments)
        self._last = arguments.rstrip()[-1:] or self._last

    def is_whole(self) -> bool:
        """Whether the arguments are a JSON object. Asked on every fragment where names repeat, so all are read once."""
        if self._last != "}" or self._is_no_object:
            return False
        for piece in self.arguments[self._measured :]:
            self._braces.add(piece)
        self._measured = len(self.arguments)
        if self._braces.open:
            return False
        whole = isinstance(self._read(), dict)
        self._is_no_object = not whole  # an object's first brace is closed by its last one, and none opens behind it
        return whole

    def is_json(self) -> bool:
        return not self._last or self._read() is not msgspec.UNSET

    def _read(self) -> Any:
        try:
            return msgspec.json.decode("".join(self.arguments))
        except (ValueError, RecursionError):  # broken, not UTF-8, or nested too deeply
            return msgspec.UNSET


class CallReader:
    """The calls of one turn. `keeps` what the upstream wants back with them, for a client that carries it."""

    def __init__(self, *, keeps: bool = False) -> None:
        self._keeps = keeps
        self._at_index: dict[int, _Call] = {}
        self._calls: list[_Call] = []

    @property
    def whole(self) -> bool:
        """Whether no call lacks the rest of its arguments, as far as JSON can tell."""
        return all(call.is_json() for call in self._calls)

    @property
    def begun(self) -> bool:
        """Whether there has been a call."""
        return bool(self._calls)

    def read(self, fragment: dict[str, Any]) -> list[Delta]:
        """What one entry of `delta.tool_calls` says."""
        function = fragment.get("function")
        if not isinstance(function, dict):
            function = {}
        index = fragment.get("index")
        call_id = _text(fragment.get("id"))
        name = _text(function.get("name"))
        if self._keeps:
            call_id = without_signature(call_id)
        if not (call_id or name or function.get("arguments") or self._calls):
            return []  # an empty entry where there is no call at all
        call = self._call(index if isinstance(index, int) else 0, call_id, name)
        if len(self._calls) > MOST or call.call_id.startswith(RUN_UPSTREAM):
            return [Broke(TOO_MANY)] if len(self._calls) > MOST else []
        kept = self._kept(call, fragment)
        deltas: list[Delta] = []
        if call.name and kept:
            deltas.append(ProviderStateAdded(kept, call.key))
        if name and not call.name:
            call.name = name
            call.call_id = call.call_id or call_id
            deltas.append(CallOpened(call.key, name, call.call_id, call.kept))
            if held := "".join(call.arguments):
                deltas.append(CallArguments(call.key, held))
        arguments = call.halves.whole(_arguments(function.get("arguments")))
        if arguments:
            call.add(arguments)
            if call.name:
                deltas.append(CallArguments(call.key, arguments))
        return deltas

    def rest(self) -> list[Delta]:
        """What is left when nothing more comes."""
        deltas: list[Delta] = []
        for call in self._calls:
            if call.call_id.startswith(RUN_UPSTREAM):
                continue
            if not call.name:
                return [*deltas, Broke(NAMELESS)]
            if rest := call.halves.rest():
                deltas.append(CallArguments(call.key, rest))
        return deltas

    def _kept(self, call: _Call, fragment: dict[str, Any]) -> Fields:
        """What is kept of this fragment and was not known yet: some servers repeat it on each."""
        if not self._keeps:
            return {}
        new = {name: value for name, value in state_of_call(fragment).items() if call.kept.get(name) != value}
        if new:
            call.kept = call.kept | new
        return new

    def _call(self, index: int, call_id: str, name: str) -> _Call:
        current = self._at_index.get(index)
        if current is not None and not _begins_another(current, call_id, name):
            return current
        call = _Call(len(self._calls), call_id)
        self._calls.append(call)
        self._at_index[index] = call
        return call


def _begins_another(current: _Call, call_id: str, name: str) -> bool:
    if not name or not current.name:
        return False
    if call_id or current.call_id:
        return bool(call_id) and call_id != current.call_id
    return name != current.name or current.is_whole()


def _text(value: Any) -> str:
    return mended(value) if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """Arguments as text. A few servers send the object itself: there are no bytes of the model's to keep."""
    match value:
        case str():
            return value
        case dict():
            return msgspec.json.encode(mended_all(value)).decode()
        case _:
            return ""
