"""An upstream that plays a model: what the model says is scripted in no wire format.

    upstream = DeepSeekUpstream().say([Thinks("Hm."), Calls("get_weather", '{"city": "Rome"}')], [Says("Fine.")])
    with upstream:
        ...              # configure provider="deepseek", base_url=upstream.url, api_key=KEY; ask for upstream.model
    assert upstream.asks[1].body[...]

There is one answer per ask, each a list of `Thinks`, `Hides`, `Says` and `Calls`; the last one is given again for every
further ask, and `upstream.say(…)` begins anew. Each server says it in its own format, streamed or whole as it is asked
to, with ids, signatures and counts (`upstream.count`) of its own. It remembers what it said, and refuses an ask that
brings its calls back without what the real server wants to see again, unaltered.

A script of steps of the wire format can stand for an answer, too: `upstream.scripts = ([Status(429, …)],)`.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple, Self

from tests.wire.servers.server import ScriptedUpstream
from tests.wire.servers.steps import Ask, Json, Script, Status, Step

KEY: Final = "sk-of-the-wire-0123456789"
"""What every server demands, in its own header."""

PROMPT, CACHED, COMPLETION, REASONING = 20, 8, 12, 5
"""What every answer costs: of the prompt's tokens 8 came from a cache, of the answer's 5 were thoughts. Each server
tells of it what its wire format has a place for."""


class Thinks(NamedTuple):
    """A thought that may be read."""

    text: str


class Hides(NamedTuple):
    """A thought that only the server itself can read, where its wire format knows such thoughts."""

    text: str


class Says(NamedTuple):
    """Text for the user."""

    text: str


class Calls(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: str
    """JSON, with the white space the model wrote."""


Word = Thinks | Hides | Says | Calls
Answer = Sequence[Word]


class Count(NamedTuple):
    """What an answer costs, as far as this wire format tells it."""

    prompt: int = PROMPT
    cached: int = 0
    completion: int = COMPLETION
    reasoning: int = 0


class ModelUpstream(ScriptedUpstream):
    """A server that says answers, one per ask, in its own wire format, streamed or whole as it is asked to.

    What it said it remembers. An ask that brings its own calls back without the thoughts, signatures and ids that the
    real server wants back, byte by byte, is refused as the real one refuses it, and fails the test.

    Where its scripts are steps of the wire format instead, it cannot know what its model said before: it streams, takes
    any key and checks the form of an ask alone.
    """

    model: ClassVar[str]
    count: ClassVar[Count] = Count()

    def __init__(self, *scripts: Script) -> None:
        super().__init__(*scripts)
        self.plays_model = False
        """Whether it is scripted in answers."""
        self.forgives = False
        """Let it pass, as far as the real server does, where what was said does not come back."""
        self.made = 0
        """How many calls were made: every one has an id of its own."""
        self.forget()

    def say(self, *answers: Answer) -> Self:
        """Forget everything, and answer the coming asks so."""
        self.plays_model = self.speaks_whole = True
        self.asks.clear()
        self.violations.clear()
        self.forget()
        self.scripts = tuple([self._script(answer) for answer in answers]) or ([],)
        return self

    def _script(self, answer: Answer) -> Any:
        return lambda ask: self.streamed(answer) if self.wants_stream(ask) else [Status(200, self.whole(answer))]

    # What a wire format decides

    def forget(self) -> None:
        """Forget what was said."""
        raise NotImplementedError

    def streamed(self, answer: Answer) -> list[Step]:
        """Say this answer in pieces, and remember what must come back."""
        raise NotImplementedError

    def whole(self, answer: Answer) -> Json:
        """Say the same in one body."""
        raise NotImplementedError

    def wants_stream(self, ask: Ask) -> bool:
        """Whether this ask wants its answer in pieces."""
        return ask.body.get("stream") is True

    def key_of(self, ask: Ask) -> str | None:
        """The key that came with this ask."""
        return ask.headers.get("authorization", "").removeprefix("Bearer ")

    def refusal(self, ask: Ask, faults: list[str]) -> Status:
        """Refuse. A wrong key is told first, and without any word on the rest."""
        if self._key_fault(ask):
            return Status(401, self.error_body(401, "The key is not known."))
        return super().refusal(ask, faults)

    def _all_faults(self, ask: Ask) -> list[str]:
        return self._key_fault(ask) or super()._all_faults(ask)

    def _key_fault(self, ask: Ask) -> list[str]:
        return ["the key is not known"] if self.plays_model and self.key_of(ask) != KEY else []

    def call_id(self, pattern: str) -> str:
        """A new call id of this form: `call_{}`; the mark is filled in as widely as it is told: `{:.9}`."""
        self.made += 1
        name = type(self).__name__.replace("Upstream", "Wire")  # as it was when the ids of the recordings were made
        return pattern.format(hashlib.sha256(f"{name} {self.made}".encode()).hexdigest())


def pieces(text: str, size: int = 5) -> list[str]:
    """The text in pieces, so that a stream has something to put together."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def sealed(text: str) -> str:
    """What only the server can read or check: long, opaque, and with every letter that base64 has."""
    digest = b"".join(hashlib.sha512(f"{part} {text}".encode()).digest() for part in range(3))
    return base64.b64encode(b"\xfb\xef\xff" + digest + b"\x00").decode()


def shortened(value: Any) -> str:
    """The value, short enough for a message."""
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:400]}…"


def arguments_of(call: Calls) -> Json:
    """The arguments as an object."""
    held: Json = json.loads(call.arguments)
    return held
