"""A conversation that is summed up by a server that speaks Responses itself: in its own way where it has one.

Where it has none it is asked for a summary as any model is, and that is sealed here.
"""

from typing import Any, Final, Literal

from app.compaction.prompt import CUT as CUT_SHORT
from app.compaction.prompt import SUM_UP, Window, sealed_window
from app.compaction.window import kept_messages
from app.dialects.responses.endings import LAST, UNREADABLE, ending, reported
from app.dialects.responses.marked_ids import marked
from app.dialects.responses.relay import CHARACTERS_PER_TOKEN, READ
from app.dialects.responses.relay_options import RelayOptions
from app.dialects.responses.relayed_body import to_responses
from app.emitter.rules import CUT
from app.json_text import json_bytes
from app.protocol.events import Event, RelayedLast
from app.protocol.ids import Mint
from app.protocol.problems import Problem
from app.protocol.request.create_response import CreateResponse
from app.protocol.request.plain_messages import user_message
from app.protocol.response import Identity
from app.protocol.warnings import ClientWarning

Json = dict[str, Any]

NATIVE: Final = "compact"
"""The key of the ask for a server that sums up by itself."""
OTHERWISE: Final = "otherwise"
"""The key of the ask for one that does not."""
TAKEN: Final = (
    "model",
    "input",
    "instructions",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "service_tier",
)
"""What may be said to a server that sums up by itself."""
NO_SUMMARY: Final = Problem(
    code="upstream_error", message="The model was asked to sum the conversation up, and wrote none."
)
NO_SEAL: Final = Problem(
    code="unsupported_parameter",
    message='The model\'s server cannot sum conversations up, and this one may seal nothing: `seal.when` is "never".',
)


class RelayedCompaction:
    """What to ask, and what the client is given of the answer: the body of `POST /v1/responses/compact`."""

    def __init__(
        self,
        request: CreateResponse,
        *,
        model: str,
        options: RelayOptions,
        identity: Identity,
        mint: Mint,
    ) -> None:
        asked, warnings = to_responses(request, model=model, options=options)
        self.warnings = (*request.warnings, *warnings)
        self.late_warnings: list[ClientWarning] = []
        asked["input"] = asked["input"][:-1]  # the trigger is our own
        said = [*asked["input"], user_message(SUM_UP)]
        settled = {key: value for key, value in asked.items() if key in (*TAKEN, "tools", "reasoning")}
        otherwise = {**settled, "input": said, "tool_choice": "none", "store": False, "stream": True}
        if not asked.get("tools"):
            del otherwise["tool_choice"]
        self.ask: Json = {
            "model": model,
            NATIVE: {key: value for key, value in asked.items() if key in TAKEN},
            OTHERWISE: otherwise,
        }
        self.problem: Problem | None = None
        """Why it failed."""
        self.notes: dict[str, Any] = {"compaction": "asked for"}
        self.over = False
        self._request = request
        self._options = options
        self._identity = identity
        self._mint = mint

    @property
    def length(self) -> int:
        """How many tokens the ask has, roughly. It is known until the answer begins."""
        read = {key: self.ask[OTHERWISE][key] for key in READ if key in self.ask[OTHERWISE]}
        return len(json_bytes(read)) // CHARACTERS_PER_TOKEN + 1

    def begin(self, sent: int = 0) -> list[Event]:  # noqa: ARG002 — nothing is streamed
        """No events."""
        self.ask = {}
        return []

    def receive(self, told: Json) -> list[Event]:
        """The server's own compaction, or one more event of its answer."""
        if told.get("object") == "response.compaction":
            return self._passed_on(told)
        if told.get("type") not in LAST:
            return []
        response = told.get("response")
        if not isinstance(response, dict):
            return self.fail(UNREADABLE)
        if told["type"] == "response.failed":
            return self.fail(reported(response.get("error")))
        return self._summed_up(response)

    def keep_alive(self) -> list[Event]:
        """Nothing: nobody reads before the end."""
        return []

    next_size = 0

    def go_on(self) -> None:
        """There is one ask, and no other."""

    def end(self) -> list[Event]:
        """The upstream closed its stream."""
        return self.fail(CUT)

    def fail(self, problem: Problem) -> list[Event]:
        """Something broke."""
        self.problem = problem
        return self._last({"error": {"code": problem.code, "message": problem.message}}, "failed")

    def _passed_on(self, compaction: Json) -> list[Event]:
        told = dict(compaction)
        output = told.get("output")
        if self._options.ids == "am":
            told["id"] = _marked(told.get("id"))
            told["output"] = [
                {**item, "id": _marked(item["id"])} if isinstance(item, dict) and "id" in item else item
                for item in (output if isinstance(output, list) else [])
            ]
        return self._last(told, "completed")

    def _summed_up(self, response: Json) -> list[Event]:
        text = "".join(_texts(response)).strip()
        if not text:
            return self.fail(NO_SUMMARY)
        if self._options.sealer is None:
            return self.fail(NO_SEAL)
        if response.get("status") == "incomplete":
            text = f"{text}\n\n{CUT_SHORT}"
        sealed = sealed_window(Window(summary=text), self._options.sealer)
        body = {
            "id": self._identity.id,
            "object": "response.compaction",
            "created_at": self._identity.created_at,
            "output": [
                *kept_messages(self._request, self._mint),
                {"id": self._mint("cmp"), "type": "compaction", "encrypted_content": sealed},
            ],
            "usage": response.get("usage"),
        }
        return self._last(body, "completed")

    def _last(self, body: Json, status: Literal["completed", "failed"]) -> list[Event]:
        self.over = True
        last = RelayedLast(
            sequence_number=0,
            name=b"response.compaction",
            data=b"{}",
            body=json_bytes(body),
            response=ending({"status": status, "usage": body.get("usage")}, f"response.{status}"),
        )
        return [last]


def _marked(foreign: Any) -> Any:
    return marked(foreign) if isinstance(foreign, str) else foreign


def _texts(response: Json) -> list[str]:
    items = response.get("output")
    parts = [
        part
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict) and item.get("type") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
    ]
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
