"""The goals, and which of them a run reached."""

from collections.abc import Callable
from typing import NamedTuple

Figures = dict[str, float]
Results = dict[str, dict[str, Figures]]

CHAT, MESSAGES, RELAY = "AM Proxy, chat", "AM Proxy, messages", "AM Proxy, relay"
LITELLM, DEMO = "AM Proxy, litellm", "AM Proxy, demo"
PEERS = ("llm-rosetta", "opencodex", "LiteLLM proxy")


class Goal(NamedTuple):
    """One figure, how it is calculated from the results, and its limit."""

    about: str
    figure: Callable[[Results], float]
    bound: float
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Whether this value reaches the goal."""
        return value >= self.bound if self.at_least else value <= self.bound


def ratio(work: str, figure: str, ours: str, theirs: str) -> Callable[[Results], float]:
    """Our figure divided by another program's."""
    return lambda results: results[work][ours][figure] / results[work][theirs][figure]


def of(work: str, figure: str, who: str) -> Callable[[Results], float]:
    """One figure without a comparison."""
    return lambda results: results[work][who][figure]


def beside_the_best_peer(results: Results) -> float:
    """The chat lane's CPU per chunk, divided by that of the best other bridge."""
    paced = results["many, paced"]
    return paced[CHAT]["us_per_chunk"] / min(paced[peer]["us_per_chunk"] for peer in PEERS if paced.get(peer))


def warm(results: Results) -> float:
    """Seconds from the first answer until litellm is loaded in the background."""
    told = results["start"][LITELLM]
    return told["quiet"] - told["answered"]


PACED, CPU, REQUEST = "many, paced", "us_per_chunk", "ms_per_request"
GOALS = (
    Goal("many, paced: CPU, chat ÷ httpx copy", ratio(PACED, CPU, CHAT, "httpx copy"), 0.7),
    Goal("many, paced: CPU, chat ÷ aiohttp copy", ratio(PACED, CPU, CHAT, "aiohttp copy"), 2),
    Goal("many, paced: CPU, chat ÷ the best other bridge", beside_the_best_peer, 1),
    Goal("many, paced: CPU, messages ÷ chat", ratio(PACED, CPU, MESSAGES, CHAT), 1.1),
    Goal("many, paced: CPU, relay ÷ httpx copy", ratio(PACED, CPU, RELAY, "httpx copy"), 0.7),
    Goal("many, paced: CPU, via litellm ÷ bare litellm", ratio(PACED, CPU, LITELLM, "bare litellm"), 0.5),
    Goal("many, paced: CPU, via litellm ÷ LiteLLM proxy", ratio(PACED, CPU, LITELLM, "LiteLLM proxy"), 0.3),
    *(
        Goal(f"many, paced: first text p50, {lane.split()[-1]} ÷ httpx copy",
             ratio(PACED, "first_p50_ms", lane, "httpx copy"), 1)
        for lane in (CHAT, RELAY, LITELLM)
    ),
    Goal("many, paced: first text p50, via litellm ÷ bare litellm",
         ratio(PACED, "first_p50_ms", LITELLM, "bare litellm"), 1),
    Goal("long, fast: chunks a second, chat ÷ httpx copy",
         ratio("long, fast", "chunks_per_second", CHAT, "httpx copy"), 1.25, at_least=True),
    Goal("long, fast: CPU, messages ÷ chat", ratio("long, fast", CPU, MESSAGES, CHAT), 1.1),
    Goal("small: CPU, chat ÷ llm-rosetta", ratio("small", REQUEST, CHAT, "llm-rosetta"), 0.6),
    Goal("small: CPU, via litellm ÷ bare litellm", ratio("small", REQUEST, LITELLM, "bare litellm"), 1.15),
    Goal("codex: CPU, chat ÷ llm-rosetta", ratio("codex", REQUEST, CHAT, "llm-rosetta"), 0.6),
    Goal("codex: CPU, via litellm ÷ bare litellm", ratio("codex", REQUEST, LITELLM, "bare litellm"), 1.1),
    Goal("codex: ms of CPU a request, chat", of("codex", REQUEST, CHAT), 2),
    Goal("waiting: kB a stream, chat", of("waiting", "kb_per_stream", CHAT), 30),
    Goal("waiting: kB a stream, relay", of("waiting", "kb_per_stream", RELAY), 30),
    Goal("start: MB at rest, chat", of("start", "rss", CHAT), 80),
    Goal("start: MB at rest, demo", of("start", "rss", DEMO), 80),
    Goal("start: seconds to the first answer, chat", of("start", "answered", CHAT), 0.8),
    Goal("start: seconds to the first answer, demo", of("start", "answered", DEMO), 0.8),
    Goal("start: seconds to the first answer, via litellm", of("start", "answered", LITELLM), 0.8),
    Goal("start: seconds until litellm is warm behind it", warm, 4),
    Goal("million: MB more afterwards, chat", of("million", "grown_mb", CHAT), 2),
    Goal("million: MB more afterwards, messages", of("million", "grown_mb", MESSAGES), 2),
    Goal("million: MB more afterwards, relay", of("million", "grown_mb", RELAY), 2),
    Goal("million: MB more afterwards, via litellm", of("million", "grown_mb", LITELLM), 2),
)  # fmt: skip


def reached(results: Results) -> list[tuple[Goal, float]]:
    """Every goal whose programs were measured, with its figure."""
    found = []
    for goal in GOALS:
        try:
            found.append((goal, goal.figure(results)))
        except (KeyError, ValueError, ZeroDivisionError):  # a program was not installed, or failed and printed why
            continue
    return found
