"""The Codex CLI in a tool loop with models that want their thoughts back, each in the wire format of its provider.

What Codex keeps in its own file between two runs is what the server sealed. A wire refuses what was lost or altered.
"""

import json
from typing import Final

import pytest

from app.settings import Model, Seal, Secret, Settings, Upstream
from tests.support.codex import Codex, Ran
from tests.support.servers import (
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
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("litellm")

PROVIDERS: Final[dict[str, type[ModelUpstream]]] = {
    "anthropic": AnthropicUpstream,
    "anthropic, as messages": AnthropicUpstream,
    "gemini": GeminiUpstream,
    "deepseek": DeepSeekUpstream,
    "openrouter": OpenRouterUpstream,
}
OLD, NEW, STRANGE = (Secret(letter * 32) for letter in "ons")


def command(words: str) -> Calls:
    return Calls("exec_command", json.dumps({"cmd": f"echo {words}"}))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_codex_carries_thoughts_through_a_loop_and_past_a_new_key(codex: Codex, provider: str) -> None:
    """The second run goes on with the first after a rotation of keys, on a server that was started anew."""
    with PROVIDERS[provider]().say(
        [Thinks("Look first."), Hides("Hm."), Says("I look."), command("one")],
        [Thinks("Once more."), command("two")],
        [Says("Done.")],
        [Thinks("The third."), command("three")],
        [Says("Done again.")],
    ) as wire:
        first = _run(codex, wire, provider, (OLD,), "Do it")
        again = _run(codex, wire, provider, (NEW, OLD), "Once again", "resume", "--last")
        assert (len(wire.asks), wire.violations) == (5, [])
    assert (first.said[-1], again.said[-1], first.errors + again.errors) == ("Done.", "Done again.", [])
    printed = [item["aggregated_output"] for ran in (first, again) for item in ran.items("command_execution")]
    assert printed == ["one\n", "two\n", "three\n"]


def test_codex_keeps_thoughts_between_calls_in_their_order(codex: Codex) -> None:
    """Where the Messages API is asked directly: the scripted server refuses any other order."""
    thinks: Answer = [
        Thinks("Look first."),
        Says("I look."),
        command("one"),
        Thinks("Twice."),
        Hides("Hm."),
        command("two"),
    ]
    with AnthropicUpstream().say(thinks, [Thinks("Once more."), command("three")], [Says("Done.")]) as wire:
        ran = _run(codex, wire, "anthropic, as messages", (OLD,), "Do it")
        assert (ran.said[-1], ran.errors, len(wire.asks), wire.violations) == ("Done.", [], 3, [])


def test_codex_goes_on_where_nobody_can_open_its_seals(codex: Codex) -> None:
    """Its provider may not miss the thoughts of a loop that is over."""
    with AnthropicUpstream().say([Thinks("Look first."), command("one")], [Says("Done.")], [Says("Fine.")]) as wire:
        _run(codex, wire, "anthropic", (OLD,), "Do it")
        wire.forgives = True
        again = _run(codex, wire, "anthropic", (STRANGE,), "Well?", "resume", "--last")
        assert (again.said[-1], again.errors, wire.violations) == ("Fine.", [], [])


def _run(codex: Codex, wire: ModelUpstream, provider: str, keys: tuple[Secret, ...], prompt: str, *words: str) -> Ran:
    """One run of Codex on a server with these keys."""
    name, _, api = provider.partition(", as ")
    settings = Settings(
        seal=Seal(keys=keys),
        upstreams={
            "there": Upstream.model_validate(
                {"via": api or "litellm", "provider": name, "base_url": wire.url, "api_key": Secret(KEY)}
            )
        },
        models={
            "coder": Model(upstream="there", name=wire.model, context_window=64_000, reasoning_efforts=("low", "high"))
        },
    )
    with serving(settings) as url:
        codex.set_up(url, "coder")
        return codex.run(prompt, *words)
