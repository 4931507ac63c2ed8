"""A dialect other than chat gets all that it needs from the prompt: ten histories, each as a whole body."""

import ast
from pathlib import Path
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.compaction.remaining_history import expanded
from app.options import ModelOptions
from app.parsing.request_body import parse_request
from app.prompt.build import build
from app.prompt.prompt_rules import PromptRules
from app.providers.capabilities import Capabilities
from tests.support import messages_encoder
from tests.support.chat_requests import call, output, user
from tests.support.emitters import ReadableSealer
from tests.support.messages_blocks import Json, block, by_model, by_user, gave, used, words
from tests.support.messages_encoder import FORM, MARK, MessagesBody, encode
from tests.support.messages_histories import HISTORIES, History, assistant_message, text, thought
from tests.support.warning_sentences import sentences

RULES: Final = PromptRules(
    call_ids="plain64",
    declare_past_tools=True,
    file_urls=True,
    hints=frozenset({"safety_identifier", "service_tier", "user"}),
    sealer=ReadableSealer(),
    origin="messages",
    one_maker=True,
    model=ModelOptions(web_search=True),
    can=Capabilities(structured_output=("json_schema",), efforts=("low", "medium", "high")),
)


def asked(fields: Json, *, cache: bool = False) -> MessagesBody:
    """What the server is asked for a request with these fields."""
    request = expanded(parse_request(msgspec.json.encode({"model": "public", **fields})), RULES.sealer)
    built = build(request, rules=RULES, model="claude", state_form=FORM)
    body, warnings = encode(built.prompt, model="claude", cache=cache)
    return MessagesBody(body, built.warnings + warnings)


@pytest.mark.parametrize("history", HISTORIES.values(), ids=HISTORIES)
def test_another_dialect_says_a_history_in_its_own_way(history: History) -> None:
    got = asked(history.request)
    assert (got.body, sentences(got.warnings)) == (history.body, list(history.warnings))


def test_the_encoder_of_another_dialect_needs_nothing_of_chat() -> None:
    source = Path(messages_encoder.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 250
    imported = [node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    assert "app.prompt.nouns" in imported
    assert [module for module in imported if module.startswith("app.dialects")] == []


def test_what_is_to_be_cached_can_be_marked_from_the_prompt_alone() -> None:
    fields = {
        "instructions": "A.",
        "input": [user("Hi"), call("a"), output("a")],
        "tools": [{"type": "function", "name": "f"}],
    }
    plain, got = asked(fields).body, asked(fields, cache=True).body
    for held in (got["system"], got["tools"], got["messages"][0]["content"], got["messages"][2]["content"]):
        assert held[-1].pop("cache_control") == MARK
    assert got == plain


PIECES: Final = {
    "text": lambda number: (assistant_message(text(f"t{number}")), words(f"t{number}")),
    "refusal": lambda number: (assistant_message({"type": "refusal", "refusal": f"t{number}"}), words(f"t{number}")),
    "thought": lambda number: (thought(f"t{number}"), block(f"t{number}")),
    "call": lambda number: (call(f"c{number}"), used(f"c{number}")),
}


@given(st.lists(st.sampled_from(sorted(PIECES)), min_size=1, max_size=12))
def test_an_assistants_turn_keeps_its_order(kinds: list[str]) -> None:
    """Texts, refusals, thoughts with their signatures and calls; the outputs follow in the order of the calls."""
    kinds = [*kinds, "text"]  # thoughts that nothing follows are left out
    items, blocks = zip(*(PIECES[kind](number) for number, kind in enumerate(kinds)), strict=True)
    ids = [f"c{number}" for number, kind in enumerate(kinds) if kind == "call"]
    got = asked({"input": [user("Hi"), *items, *[output(call_id) for call_id in reversed(ids)], user("Go")]})
    outputs = [gave(call_id, words("done")) for call_id in ids]
    wanted = [by_user(words("Hi")), by_model(*blocks), by_user(*outputs, words("Go"))]
    assert (got.body["messages"], got.warnings) == (wanted, [])
