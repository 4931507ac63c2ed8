"""The Codex CLI: it talks, runs a command, edits a file, asks a plugged-in server, and closes every loop.

The model's server refuses what strict ones refuse. `make conformance` tries the rest.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from app.grammars.grammar_checker import GrammarChecker, GrammarFault
from app.settings import Key, Model, Secret, Server, Settings, Upstream
from tests.support.codex import Codex
from tests.support.serving import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import ChatUpstream, Script

pytestmark = pytest.mark.xdist_group("node")

DONE = "Done: naïve 😀."
PATCH = """\
*** Begin Patch
*** Update File: greeting.txt
@@
-Hello
+Hello "world" \\o/ 😀
*** End Patch
"""


@contextmanager
def behind(
    *scripts: Script, keys: tuple[Key, ...] = (), websocket: bool = True, **of_model: Any
) -> Iterator[tuple[str, ChatUpstream]]:
    """A server with one model, which says what the scripts say."""
    with ChatUpstream(*scripts) as upstream:
        settings = Settings(
            server=Server(websocket=websocket),
            keys=keys,
            upstreams={"scripted": Upstream(base_url=upstream.url, api_key=Secret("sk-scripted"))},
            models={
                "coder": Model(
                    upstream="scripted", context_window=64_000, reasoning_efforts=("low", "high"), **of_model
                )
            },
        )
        with serving(settings) as url:
            yield url, upstream


def given_back(upstream: ChatUpstream) -> list[dict[str, Any]]:
    """What stands behind the user's prompt in the last ask: the calls, and what the tools gave."""
    messages: list[dict[str, Any]] = upstream.asks[-1].body["messages"]
    prompt = max(index for index, message in enumerate(messages) if message["role"] == "user")
    return messages[prompt + 1 :]


def pieces(text: str) -> list[str]:
    """Cut so that escapes fall apart."""
    return [text[start : start + 3] for start in range(0, len(text), 3)]


def test_its_patches_obey_its_grammar_and_cost_little(codex: Codex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its grammar comes with every request, and is read where a patch was written: no fault, and no long wait."""
    checked: list[tuple[str, GrammarFault | None, float]] = []
    fault = GrammarChecker.fault

    async def noted(self: GrammarChecker, grammar: str, text: str, owner: str, seconds: float) -> GrammarFault | None:
        await fault(self, 'start: "a"', "a", owner, seconds)  # starts the process
        before = time.monotonic()
        found = await fault(self, grammar, text, owner, seconds)
        checked.append((text, found, time.monotonic() - before))
        return found

    monkeypatch.setattr(GrammarChecker, "fault", noted)
    wrapped = json.dumps({"patch": f"```diff\n{PATCH}```\n"})
    arguments = json.dumps({"input": PATCH.replace("Hello", "Bye").replace("-Bye", '-Hello "world" \\o/ 😀')})
    scripts = [call_turn("apply_patch", *pieces(wrapped)), call_turn("apply_patch", arguments, id="call_2")]
    with behind(*scripts, text_turn(DONE)) as (url, _):
        codex.set_up(url, "coder")
        codex.work.joinpath("greeting.txt").write_text("Hello\n", "utf-8")
        ran = codex.run("Do it")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert [(text, found) for text, found, _ in checked] == [
        (PATCH, None),
        (json.loads(arguments)["input"], None),
    ]
    assert max(seconds for _, _, seconds in checked) < 0.5


def test_a_patch_against_its_grammar_is_asked_for_again_and_it_sees_only_the_second(codex: Codex) -> None:
    wrong = json.dumps({"input": PATCH.replace("@@\n", "")[:-5]})
    scripts = [call_turn("apply_patch", wrong), call_turn("apply_patch", json.dumps({"input": PATCH}), id="call_2")]
    with behind(*scripts, text_turn(DONE), grammars="ask_again") as (url, upstream):
        codex.set_up(url, "coder")
        codex.work.joinpath("greeting.txt").write_text("Hello\n", "utf-8")
        ran = codex.run("Do it")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert codex.work.joinpath("greeting.txt").read_text("utf-8") == 'Hello "world" \\o/ 😀\n'
    told = upstream.asks[1].body["messages"][-1]
    assert (told["role"], "does not match the grammar of the tool after" in told["content"]) == ("tool", True)
    call, output = given_back(upstream)
    assert [json.loads(made["function"]["arguments"]) for made in call["tool_calls"]] == [{"input": PATCH}]
    assert "greeting.txt" in output["content"]
