"""Joins the fragments of tool calls in a stream.

Upstreams differ: some leave out the index, some the id, some repeat the id or the name on every fragment, some give
every call the index 0. A fragment begins a new call where

    its index is new,
    or it has a name and an id that is not the current one's at that index,
    or it has a name, neither it nor the current call has an id, and the current call has another name or is complete.

Any other fragment continues the current call at its index. A call is opened when its name is known.
"""

from typing import Any, Final

import msgspec

from ...emitter.deltas import Broke, CallArguments, CallOpened, Delta, ProviderStateAdded
from ...emitter.whole_calls import Brackets, is_object
from ...protocol.problems import Problem
from ..surrogates import SurrogateJoiner, mended, mended_all
from .provider_state import Fields, state_of_call, without_signature

RUN_UPSTREAM: Final = "srvtoolu_"
"""The prefix of the ids of calls that Claude's own server has run: clients must not run them."""

MOST: Final = 2048
"""Calls of one answer. Each is an item with several events, however short it is on the wire."""

TOO_MANY: Final = Problem(
    code="upstream_error", message=f"The model's server sent more than {MOST} tool calls in one answer."
)

NAMELESS: Final = Problem(code="upstream_error", message="The model's server sent a tool call without a name.")


class _Call:
    """One call, as far as it has arrived."""

    def __init__(self, key: int, call_id: str) -> None:
        self.key = key
        self.call_id = call_id
        self.name = ""
        self.provider_state: Fields = {}
        self.arguments: list[str] = []
        self.joiner = SurrogateJoiner()
        self._brackets = Brackets()
        self._pieces_read = 0
        """How many pieces of the arguments `_brackets` has read."""
        self._is_no_object = False

    def is_complete(self) -> bool:
        """Whether the arguments are a JSON object. Some servers repeat names: each piece is read once, in all."""
        self._brackets.feed("".join(self.arguments[self._pieces_read :]))
        self._pieces_read = len(self.arguments)
        if self._is_no_object or not self._brackets.is_closed():
            return False
        self._is_no_object = not is_object("".join(self.arguments))  # more arguments cannot make it one
        return not self._is_no_object

    def is_json(self) -> bool:
        """Whether the arguments are valid JSON, or none came."""
        arguments = "".join(self.arguments)
        try:
            msgspec.json.decode(arguments.strip() or "{}")
        except (ValueError, RecursionError):  # broken, not UTF-8, or nested too deeply
            return False
        return True


class CallReader:
    """Reads the calls of one turn, and their provider state if `keeps_state`."""

    def __init__(self, *, keeps_state: bool = False) -> None:
        self._keeps_state = keeps_state
        self._at_index: dict[int, _Call] = {}
        self._calls: list[_Call] = []

    @property
    def are_complete(self) -> bool:
        """Whether the arguments of every call are valid JSON or empty."""
        return all(call.is_json() for call in self._calls)

    @property
    def any(self) -> bool:
        """Whether there has been a call."""
        return bool(self._calls)

    def read(self, fragment: dict[str, Any]) -> list[Delta]:
        """The deltas of one entry of `delta.tool_calls`."""
        function = fragment.get("function")
        if not isinstance(function, dict):
            function = {}
        index = fragment.get("index")
        call_id = _text(fragment.get("id"))
        name = _text(function.get("name"))
        if self._keeps_state:
            call_id = without_signature(call_id)
        if not (call_id or name or function.get("arguments") or self._calls):
            return []  # an empty entry where there is no call at all
        call = self._call(index if isinstance(index, int) else 0, call_id, name)
        if len(self._calls) > MOST or call.call_id.startswith(RUN_UPSTREAM):
            return [Broke(TOO_MANY)] if len(self._calls) > MOST else []
        state = self._new_state(call, fragment)
        deltas: list[Delta] = []
        if call.name and state:
            deltas.append(ProviderStateAdded(state, call.key))
        if name and not call.name:
            call.name = name
            call.call_id = call.call_id or call_id
            deltas.append(CallOpened(call.key, name, call.call_id, call.provider_state))
            if waiting := "".join(call.arguments):
                deltas.append(CallArguments(call.key, waiting))
        arguments = call.joiner.add(_arguments(function.get("arguments")))
        if arguments:
            call.arguments.append(arguments)
            if call.name:
                deltas.append(CallArguments(call.key, arguments))
        return deltas

    def rest(self) -> list[Delta]:
        """The deltas that were held back, at the end of the stream."""
        deltas: list[Delta] = []
        for call in self._calls:
            if call.call_id.startswith(RUN_UPSTREAM):
                continue
            if not call.name:
                return [*deltas, Broke(NAMELESS)]
            if rest := call.joiner.rest():
                deltas.append(CallArguments(call.key, rest))
        return deltas

    def _new_state(self, call: _Call, fragment: dict[str, Any]) -> Fields:
        """The provider state in this fragment that is new: some servers repeat it on each fragment."""
        if not self._keeps_state:
            return {}
        new = {name: value for name, value in state_of_call(fragment).items() if call.provider_state.get(name) != value}
        if new:
            call.provider_state = call.provider_state | new
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
    return name != current.name or current.is_complete()


def _text(value: Any) -> str:
    return mended(value) if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """The arguments as text. A few servers send a JSON object in place of a string."""
    match value:
        case str():
            return value
        case dict():
            return msgspec.json.encode(mended_all(value)).decode()
        case _:
            return ""
