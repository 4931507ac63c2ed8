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


def beside_the_best_peer(work: str, figure: str) -> Callable[[Results], float]:
    """The chat lane's figure, divided by that of the best other bridge."""

    def beside(results: Results) -> float:
        told = results[work]
        return told[CHAT][figure] / min(told[peer][figure] for peer in PEERS if told.get(peer))

    return beside


def warm(results: Results) -> float:
    """Seconds from the first answer until litellm is loaded in the background."""
    told = results["start"][LITELLM]
    return told["quiet"] - told["answered"]


PACED, CPU, REQUEST = "many, paced", "us_per_chunk", "ms_per_request"
COPY, BARE = "aiohttp copy", "bare litellm"
GOALS = (
    Goal("many, paced: CPU, chat ÷ aiohttp copy", ratio(PACED, CPU, CHAT, COPY), 1.5),
    Goal("many, paced: CPU, messages ÷ aiohttp copy", ratio(PACED, CPU, MESSAGES, COPY), 1.5),
    Goal("many, paced: CPU, relay ÷ aiohttp copy", ratio(PACED, CPU, RELAY, COPY), 1.4),
    Goal("many, paced: CPU, chat ÷ the best other bridge", beside_the_best_peer(PACED, CPU), 1),
    Goal("many, paced: CPU, via litellm ÷ bare litellm", ratio(PACED, CPU, LITELLM, BARE), 0.5),
    Goal("many, paced: CPU, via litellm ÷ LiteLLM proxy", ratio(PACED, CPU, LITELLM, "LiteLLM proxy"), 0.3),
    Goal("many, paced: first text p50, chat ÷ httpx copy", ratio(PACED, "first_p50_ms", CHAT, "httpx copy"), 1),
    Goal("many, paced: first text p50, relay ÷ httpx copy", ratio(PACED, "first_p50_ms", RELAY, "httpx copy"), 1),
    Goal("many, paced: first text p50, via litellm ÷ bare litellm", ratio(PACED, "first_p50_ms", LITELLM, BARE), 0.7),
    Goal("long, fast: chunks a second, chat ÷ httpx copy",
         ratio("long, fast", "chunks_per_second", CHAT, "httpx copy"), 1.25, at_least=True),
    Goal("small: CPU, chat ÷ the best other bridge", beside_the_best_peer("small", REQUEST), 0.4),
    Goal("small: CPU, via litellm ÷ bare litellm", ratio("small", REQUEST, LITELLM, BARE), 0.8),
    Goal("codex: CPU, chat ÷ aiohttp copy", ratio("codex", REQUEST, CHAT, COPY), 2),
    Goal("codex: CPU, chat ÷ the best other bridge", beside_the_best_peer("codex", REQUEST), 0.6),
    Goal("codex: CPU, via litellm ÷ bare litellm", ratio("codex", REQUEST, LITELLM, BARE), 1.1),
    Goal("waiting: kB a stream, chat ÷ aiohttp copy", ratio("waiting", "kb_per_stream", CHAT, COPY), 1.3),
    Goal("waiting: kB a stream, relay ÷ aiohttp copy", ratio("waiting", "kb_per_stream", RELAY, COPY), 1.3),
    Goal("start: MB at rest, chat", of("start", "rss", CHAT), 60),
    Goal("start: MB at rest, demo", of("start", "rss", DEMO), 60),
    Goal("start: seconds to the first answer, chat", of("start", "answered", CHAT), 0.35),
    Goal("start: seconds to the first answer, demo", of("start", "answered", DEMO), 0.35),
    Goal("start: seconds to the first answer, via litellm", of("start", "answered", LITELLM), 0.8),
    Goal("start: seconds until litellm is warm behind it", warm, 4),
    Goal("growth: exponent of CPU by bytes, chat", of("growth", "bytes_exponent", CHAT), 1.1),
    Goal("growth: exponent of CPU by items, chat", of("growth", "items_exponent", CHAT), 1.1),
    Goal("growth: ms that others wait, up to 1 MB, chat", of("growth", "stall_1mb", CHAT), 50),
    Goal("growth: ms that others wait, up to 32 MB, chat", of("growth", "stall_32mb", CHAT), 200),
    Goal("growth: ms that others wait, up to 16,384 items, chat", of("growth", "stall_items", CHAT), 200),
    Goal("workers: requests, two ÷ one", of("workers", "ratio", "small"), 1.8, at_least=True),
    Goal("workers: chunks, two ÷ one", of("workers", "ratio", "chunks"), 1.8, at_least=True),
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
