"""Joins the fragments of tool calls in a stream.

Upstreams differ: some leave out the index, some the id, some repeat the id or the name on every fragment, some give
every call the index 0. A fragment begins a new call where

    its index is new,
    or it has a name and an id that is not the current one's at that index,
    or it has a name, neither it nor the current call has an id, and the current call has another name or is complete.

Any other fragment continues the current call at its index. A call is opened when its name is known.
"""

from typing import Any

from ...emitter.deltas import Broke, CallArguments, CallOpened, Deltas, ProviderStateAdded
from ...emitter.rules import NAMELESS
from ...types.json import Json, as_object, as_text, decode, encode, is_object
from .state import state_of_call, without_signature

_RUN_UPSTREAM = "srvtoolu_"
"""The prefix of the ids of calls that Claude's own server has run: clients must not run them."""


class _Call:
    """One call, as far as it has arrived."""

    def __init__(self, key: int, call_id: str) -> None:
        self.key = key
        self.call_id = call_id
        self.name = ""
        self.state: Json = {}
        self.arguments: list[str] = []

    @property
    def is_whole(self) -> bool:
        """Whether its arguments are a complete object. They are decoded only where they can be."""
        last = next((piece for piece in reversed(self.arguments) if piece.strip()), "")
        return last.rstrip().endswith("}") and is_object("".join(self.arguments))


class CallReader:
    """Reads the calls of one turn, and their provider state if `keeps_state`."""

    def __init__(self, *, keeps_state: bool) -> None:
        self._keeps_state = keeps_state
        self._at_index: dict[int, _Call] = {}
        self._calls: list[_Call] = []

    @property
    def any(self) -> bool:
        """Whether there has been a call."""
        return bool(self._calls)

    @property
    def are_complete(self) -> bool:
        """Whether the arguments of every call are valid JSON or empty."""
        return all(decode("".join(call.arguments).strip() or "{}") is not None for call in self._calls)

    def read(self, fragment: Json) -> Deltas:
        """The deltas of one entry of `delta.tool_calls`."""
        function = as_object(fragment.get("function"))
        index = fragment.get("index")
        call_id, name = as_text(fragment.get("id")), as_text(function.get("name"))
        if self._keeps_state:
            call_id = without_signature(call_id)
        if not (call_id or name or function.get("arguments") or self._calls):
            return []  # an empty entry where there is no call at all
        call = self._call(index if isinstance(index, int) else 0, call_id, name)
        if call.call_id.startswith(_RUN_UPSTREAM):
            return []
        deltas: Deltas = []
        if self._keeps_state:  # some servers repeat it on each fragment
            new = {name: value for name, value in state_of_call(fragment).items() if call.state.get(name) != value}
            call.state = call.state | new
            if call.name and new:
                deltas.append(ProviderStateAdded(new, call.key))
        if name and not call.name:
            call.name = name
            call.call_id = call.call_id or call_id
            deltas.append(CallOpened(call.key, name, call.call_id, call.state))
            if waiting := "".join(call.arguments):
                deltas.append(CallArguments(call.key, waiting))
        if arguments := _arguments(function.get("arguments")):
            call.arguments.append(arguments)
            if call.name:
                deltas.append(CallArguments(call.key, arguments))
        return deltas

    def rest(self) -> Deltas:
        """What is wrong with the calls at the end of the stream."""
        nameless = any(not call.name and not call.call_id.startswith(_RUN_UPSTREAM) for call in self._calls)
        return [Broke(NAMELESS)] if nameless else []

    def _call(self, index: int, call_id: str, name: str) -> _Call:
        current = self._at_index.get(index)
        if current is not None and not _begins_another(current, call_id, name):
            return current
        call = self._at_index[index] = _Call(len(self._calls), call_id)
        self._calls.append(call)
        return call


def _begins_another(current: _Call, call_id: str, name: str) -> bool:
    if not name or not current.name:
        return False
    if call_id or current.call_id:
        return bool(call_id) and call_id != current.call_id
    return name != current.name or current.is_whole


def _arguments(value: Any) -> str:
    """The arguments as text. A few servers send a JSON object in place of a string."""
    return encode(value).decode() if isinstance(value, dict) else as_text(value)
