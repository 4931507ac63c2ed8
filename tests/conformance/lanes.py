"""The lanes: the APIs by which the server asks the scripted model, each with a table of its own on the page.

A lane needs a scripted server of its API, a translation of the scripts, which are those of a chat server, and a reader
of the bodies that the server is asked.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tests.conformance import lines
from tests.conformance.bodies import Read, chat_body, messages_body, responses_body
from tests.conformance.cells import CELLS, Cell, Holds
from tests.conformance.clients import Client, Note
from tests.support.block_scripts import as_blocks
from tests.support.event_scripts import as_events
from tests.wire.servers import AnthropicUpstream, Ask, ChatUpstream, Json, Script, ScriptedUpstream
from tests.wire.servers.functions_only import VllmResponses

KEY: Final = "sk-scripted"


class JudgingUpstream(ScriptedUpstream):
    """Keeps what it had to refuse by model, so that one client's fault is that client's."""

    def __init__(self, *scripts: Script) -> None:
        super().__init__(*scripts)
        self.may_violate = True
        self.refused: dict[str, list[str]] = defaultdict(list)

    def faults(self, ask: Ask) -> list[str]:
        """As a strict server finds them."""
        found = super().faults(ask)
        self.refused[str(ask.body.get("model"))] += found
        return found

    def frame(self, step: Json, ask: Ask) -> bytes:
        """One event. What is wrong with it is a fault, too."""
        known = len(self.violations)
        framed = super().frame(step, ask)
        self.refused[str(ask.body.get("model"))] += self.violations[known:]
        return framed


class _Chat(JudgingUpstream, ChatUpstream):
    """A chat server."""


class _Responses(JudgingUpstream, VllmResponses):
    """A server of the Responses API that knows only functions, as vLLM."""


class _Messages(JudgingUpstream, AnthropicUpstream):
    """A server of the Messages API."""


@dataclass(frozen=True)
class Lane:
    """An API, and what is different with it."""

    via: str
    title: str
    about: str
    """What the page says of its server."""
    server: type[JudgingUpstream]
    read: Read
    translate: Callable[[Script], Script] = lambda script: script
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the upstream."""
    prefix: str = ""
    """How the names of its models begin."""
    other_name: str = ""
    """Its name, if another lane has the same `via`."""
    is_relayed: bool = False
    """Whether another AM Proxy is between: a server with the whole Responses API, which asks the scripted server."""
    launch: tuple[str, ...] = ()
    """Flags of `am-proxy launch`, in addition to the address."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """How this API does what a cell is about: a footnote of its row."""
    notes: Mapping[tuple[str, str], Note | None] = field(default_factory=dict)
    """By client and cell: notes that replace the client's own."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        return self.other_name or self.via

    def model(self, client: str, cell: str) -> str:
        """The model that a client asks in a cell."""
        return f"{self.prefix}{client}-{cell}"

    def note(self, name: str, client: Client, cell: str) -> Note | None:
        """What is to be known of a cell."""
        if (name, cell) in self.notes:
            return self.notes[name, cell]
        return client.notes.get(cell)

    def cell(self, name: str, client: Client, cell: str) -> Cell:
        """A cell as this client goes through it. What the client cannot do is not expected in its asks."""
        own, note = CELLS[cell], self.note(name, client, cell)
        if note is None:
            return own
        return replace(
            own,
            told=own.told if note.told is None else note.told,
            check=own.check if note.able else (lambda _asked, _tools: []),
        )


_LANES: Final = (
    Lane(
        "litellm",
        "Chat completions",
        "The scripted chat server refuses a wrong role order, a call without its output, a bad name, an empty content "
        "or arguments that are not JSON.",
        _Chat,
        chat_body,
    ),
    Lane(
        "messages",
        "Anthropic's Messages API",
        "The scripted server plays `claude-sonnet-4-6`. It refuses what Anthropic's server refuses, such as a call "
        "without its result, an empty text, reasoning without a signature, settings that do not fit together, or more "
        "than four marks for the cache. The types of the `anthropic` package check each event that it sends.",
        _Messages,
        messages_body,
        as_blocks,
        prefix="claude-sonnet-4-6-",
        launch=("--via", "messages", "--upstream-key", KEY),
        remarks={
            "parallel": "one call after the other, as this API streams them",
            "refusal": 'the answer ends with the stop reason "refusal" and an explanation, so the response is '
            "`incomplete` with the reason `content_filter`",
        },
        notes={
            ("langchain", "parallel"): None,
            ("ai-sdk-open-responses", "thoughts"): Note(
                "it has no option that requests encrypted reasoning, and Claude takes back only what it signed",
                able=False,
            ),
            ("openai-python", "refusal"): Note("read from the last event: `get_final_response` raises"),
            ("openai-agents", "refusal"): Note(
                "raises `ModelBehaviorError` with the reason; the refusal has been streamed",
                {"refusal": lines.REFUSAL, "ended": Holds("content_filter")},
            ),
        },
    ),
    Lane(
        "responses",
        "A Responses server that knows only functions",
        'The scripted server plays vLLM (`provider = "vllm"`). It refuses tools, calls and items of other types than '
        "functions, messages and reasoning, and a `tool_choice` without tools. It sends one call after the other, and "
        "encrypted reasoning only to those who request it.",
        _Responses,
        responses_body,
        as_events,
        settings={"provider": "vllm"},
        launch=("--via", "responses", "--provider", "vllm", "--upstream-key", KEY),
        remarks={"parallel": "one call after the other, as such servers send them"},
        notes={("langchain", "parallel"): None},
    ),
    Lane(
        "responses",
        "A server with the whole Responses API",
        "The server is another AM Proxy, which asks the scripted server of chat completions. It gets all tools and "
        "items as the client sends them, and its events are passed on.",
        _Chat,
        chat_body,
        other_name="native",
        is_relayed=True,
    ),
)
LANES: Final[dict[str, Lane]] = {lane.name: lane for lane in _LANES}
