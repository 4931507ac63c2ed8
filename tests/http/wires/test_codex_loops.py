"""The Codex CLI in a tool loop with models that want their thoughts back, each in the wire format of its provider.

What Codex keeps in its own file between two runs is what the server sealed. A wire refuses what was lost or altered.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from tests.support.codex import Codex, Ran
from tests.wire.configuration import Model, Seal, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import (
    KEY,
    Answer,
    AnthropicUpstream,
    Calls,
    DeepSeekUpstream,
    GeminiUpstream,
    Hides,
    ModelUpstream,
    OpenRouterUpstream,
    Says,
    Thinks,
)

pytestmark = pytest.mark.timeout(240)
"""Codex starts three times in a test, and litellm once."""
Wires = dict[str, ModelUpstream]
PROVIDERS: Final[dict[str, type[ModelUpstream]]] = {
    "anthropic": AnthropicUpstream,
    "anthropic, as messages": AnthropicUpstream,
    "gemini": GeminiUpstream,
    "deepseek": DeepSeekUpstream,
    "openrouter": OpenRouterUpstream,
}
OLD, NEW, STRANGE = (letter * 32 for letter in "ons")


@pytest.fixture(scope="module")
def wires() -> Iterator[Wires]:
    """All of them, so that one configuration is enough for each set of keys."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(wire().say()) for name, wire in PROVIDERS.items()}


def command(words: str) -> Calls:
    return Calls("exec_command", json.dumps({"cmd": f"echo {words}"}))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_codex_carries_thoughts_through_a_loop_and_past_a_new_key(codex: Codex, wires: Wires, provider: str) -> None:
    """The second run goes on with the first after a rotation of keys, on another server."""
    wire = wires[provider].say(
        [Thinks("Look first."), Hides("Hm."), Says("I look."), command("one")],
        [Thinks("Once more."), command("two")],
        [Says("Done.")],
        [Thinks("The third."), command("three")],
        [Says("Done again.")],
    )
    first = _run(codex, wires, provider, [OLD], "Do it")
    again = _run(codex, wires, provider, [NEW, OLD], "Once again", "resume", "--last")
    assert (len(wire.asks), wire.violations) == (5, [])
    assert (first.said[-1], again.said[-1], first.errors + again.errors) == ("Done.", "Done again.", [])
    printed = [item["aggregated_output"] for ran in (first, again) for item in ran.items("command_execution")]
    assert printed == ["one\n", "two\n", "three\n"]


def test_codex_keeps_thoughts_between_calls_in_their_order(codex: Codex, wires: Wires) -> None:
    """Where the Messages API is asked directly: the scripted server refuses any other order."""
    thinks: Answer = [
        Thinks("Look first."),
        Says("I look."),
        command("one"),
        Thinks("Twice."),
        Hides("Hm."),
        command("two"),
    ]
    lane = "anthropic, as messages"
    wire = wires[lane].say(thinks, [Thinks("Once more."), command("three")], [Says("Done.")])
    ran = _run(codex, wires, lane, [OLD], "Do it")
    assert (ran.said[-1], ran.errors, len(wire.asks), wire.violations) == ("Done.", [], 3, [])


def test_codex_goes_on_where_nobody_can_open_its_seals(codex: Codex, wires: Wires) -> None:
    """Its provider may not miss the thoughts of a loop that is over."""
    wire = wires["anthropic"].say([Thinks("Look first."), command("one")], [Says("Done.")], [Says("Fine.")])
    _run(codex, wires, "anthropic", [OLD], "Do it")
    wire.forgives = True
    try:
        again = _run(codex, wires, "anthropic", [STRANGE], "Well?", "resume", "--last")
    finally:
        wire.forgives = False
    assert (again.said[-1], again.errors, wire.violations) == ("Fine.", [], [])


def _run(codex: Codex, wires: Wires, provider: str, keys: list[str], prompt: str, *words: str) -> Ran:
    """One run of Codex on a server with these keys."""
    upstreams, models = {}, {}
    for name, wire in wires.items():
        maker, _, api = name.partition(", as ")
        upstreams[name] = Upstream(via=api or "litellm", provider=maker, base_url=wire.url, api_key=KEY)
        models[name] = Model(upstream=name, name=wire.model, context_window=64_000, reasoning_efforts=["low", "high"])
    with serving(Settings(seal=Seal(keys=keys), upstreams=upstreams, models=models)) as url:
        codex.set_up(url, provider)
        return codex.run(prompt, *words)
