"""What the soak's upstreams say and do: all of it follows from one number, so that the client knows it too."""

import json
import random
from dataclasses import dataclass
from typing import Final, Literal

from tests.wire.script import breaks, chunk, opens, says, stops
from tests.wire.servers import Ask, Cut, End, Leave, Pause, Reset, Status, Step
from tests.wire.servers.anthropic import begins, ends, text
from tests.wire.servers.responses import answer, message
from tests.wire.servers.steps import Json

Fault = Literal[
    "none", "cut", "reset", "ended", "error", "refused", "busy", "dies", "leaves", "halves", "usage", "long line"
]  # fmt: skip
FAULTS: Final[dict[Fault, int]] = {
    "none": 45, "cut": 5, "reset": 5, "ended": 5, "error": 5, "refused": 5, "busy": 5,
    "dies": 5, "leaves": 8, "halves": 4, "usage": 4, "long line": 4,
}  # fmt: skip
"""How often each of them happens, in a hundred."""
HARMLESS: Final = frozenset({"none", "busy", "leaves", "halves", "usage", "long line"})
"""Those that a whole answer may have been through."""
HALVES: Final = ("\ud83d", "\ude00")
GARBAGE: Final = {"prompt_tokens": "many", "completion_tokens": -1, "total_tokens": 10**400, "prompt_tokens_details": 7}
_BREAKING: Final = breaks()
LONG_LINE: Final = b": " + b"x" * 300_000 + b"\n\n"
WORDS: Final = ("once ", "upon ", "a ", "time ", "Ünïcödé ", "\N{GRINNING FACE} ", '"quoted\\" ', "\n", "\u2028")


@dataclass(frozen=True)
class Scenario:
    """One stream: what is said, how fast, and how it goes wrong."""

    number: int
    pieces: tuple[str, ...]
    pause: float
    fault: Fault
    at: int
    """Behind which piece it goes wrong."""
    patience: int | None
    """How many events the client waits for before it hangs up; none: for all."""

    @property
    def text(self) -> str:
        """All that would be said."""
        return join_surrogates("".join(self.pieces))


def join_surrogates(text: str) -> str:
    """The text with the halves of its characters joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def scenario_of(number: int) -> Scenario:
    """The plan with this number, the same every time."""
    chance = random.Random(number)  # noqa: S311 — chance that can be repeated
    # a message of white space alone is one that we never open, but a relay passes on
    more = ["".join(chance.choices(WORDS, k=chance.randint(1, 8))) for _ in range(chance.randint(3, 23))]
    pieces = ("Once ", *more)
    fault = chance.choices([*FAULTS], [*FAULTS.values()])[0]
    if fault == "halves":
        pieces += HALVES
    patience = chance.randint(1, 12) if chance.random() < 0.1 else None
    return Scenario(number, pieces, chance.uniform(0.05, 0.6), fault, chance.randrange(len(pieces)), patience)


def chat_script(ask: Ask, seen: set[int]) -> list[Step]:
    """The script of a chat server."""
    scenario = scenario_of(int(ask.body["messages"][-1]["content"]))
    steps: list[Step] = [opens(), *[says(piece) for piece in scenario.pieces], stops()]
    if scenario.fault == "usage":
        steps.append(chunk(usage=GARBAGE))
    return _paced(scenario, steps, 1, seen)


def responses_script(ask: Ask, seen: set[int]) -> list[Step]:
    """The script of a server that speaks Responses."""
    held = ask.body["input"]
    scenario = scenario_of(int(held if isinstance(held, str) else held[0]["content"]))
    # a relay passes halves on as they came, and the grammar joins them as Python does: not at all
    pieces = (scenario.text,) if scenario.fault == "halves" else scenario.pieces
    return _paced(scenario, [*answer(message("msg_1", *pieces))], 4, seen)


def messages_script(ask: Ask, seen: set[int]) -> list[Step]:
    """The script of a server that speaks Anthropic's Messages."""
    content = ask.body["messages"][-1]["content"]
    scenario = scenario_of(int(content if isinstance(content, str) else content[0]["text"]))
    steps: list[Step] = [*begins(), *text(0, *scenario.pieces), *ends()]
    if scenario.fault == "usage":
        ending = {**ends()[0], "usage": {"output_tokens": -1, "input_tokens": "many"}}
        steps[-2] = f"event: message_delta\ndata: {json.dumps(ending)}\n\n".encode()
    breaking = {"type": "error", "error": {"type": "api_error", "message": "Internal error"}}
    return _paced(scenario, steps, 3, seen, breaking=breaking)


def _paced(
    scenario: Scenario, steps: list[Step], opening: int, seen: set[int], *, breaking: Json = _BREAKING
) -> list[Step]:
    if scenario.fault == "refused":
        return [Status(500, b"<html>no</html>")]
    if scenario.fault == "busy" and scenario.number not in seen:  # once; the next time it is answered
        seen.add(scenario.number)
        return [Status(503)]
    if scenario.fault == "dies":  # it has read the request
        return [Reset()]
    if scenario.fault == "long line":
        steps.insert(opening, LONG_LINE)
    if scenario.fault == "leaves":
        steps.append(Leave())
    ends: dict[Fault, list[Step]] = {"cut": [Cut()], "reset": [Reset()], "ended": [End()], "error": [breaking, End()]}
    if scenario.fault in ends:
        steps = steps[: opening + scenario.at + 1] + ends[scenario.fault]
    paced = [paced for step in steps for paced in (step, Pause(scenario.pause))]
    return paced[:-1] if scenario.fault == "leaves" else paced
