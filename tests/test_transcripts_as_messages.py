"""The transcripts, replayed over the Messages API.

The same request is asked over `via = "messages"`. The scripted server, which refuses what Anthropic refuses, sends the
same answer as blocks. What the client is told must be equal, with its ids and times, up to the differences that are
listed here.
"""

from collections.abc import AsyncIterator, Collection
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from app.dialects.messages.messages_turn import MessagesTurn
from app.protocol.events import Event
from app.protocol.problems import Problem
from app.upstreams.http_messages import HttpMessages
from app.upstreams.port import UpstreamBroke, UpstreamRefused
from tests.support.chat_as_messages import NoCounterpartError, messages_answer
from tests.support.servers import AnthropicUpstream
from tests.support.transcripts import FOLDERS, lines, masked, new_messages_turn
from tests.support.warning_sentences import sentences

Json = dict[str, Any]


class Difference(NamedTuple):
    """Fields that are not as over a chat server, and why."""

    fields: frozenset[str]
    reason: str


ESTIMATED: Final = Difference(
    frozenset({"input_tokens", "total_tokens"}),
    "The server did not count. The tokens of the input are estimated from the body, which is another one.",
)
SEALED: Final = Difference(
    frozenset({"encrypted_content"}), "What the server must get back is sealed as this dialect writes it."
)
LEFT_OUT: Final = Difference(
    frozenset({"input_transformations"}),
    "Reasoning that this server did not sign is left out, and the response says so.",
)
DIFFERENCES: Final = {
    "answer-from-tool-outputs": LEFT_OUT,
    "call-without-a-name": Difference(
        frozenset({"output_tokens", "total_tokens"}),
        "The name is missed when the call begins, before the tokens of the answer are counted.",
    ),
    "cut-before-anything": ESTIMATED,
    "cut-behind-a-whole-call": ESTIMATED,
    "cut-in-reasoning": ESTIMATED,
    "error-in-mid-stream": Difference(frozenset({"message"}), "The Messages API has no error of the status 503."),
    "no-usage": ESTIMATED,
    "nothing-at-all": ESTIMATED,
    "sealed-redacted-thought-before-text": SEALED,
    "sealed-thoughts-in-the-history": LEFT_OUT,
    "sealed-thoughts-of-another-model-in-the-history": LEFT_OUT,
    "shell-cut": ESTIMATED,
}

FOREIGN: Final = "input[{}] was left out: this model's server takes back only reasoning that it signed itself."
WARNINGS: Final = {
    "answer-from-tool-outputs": FOREIGN.format(2),
    "codex-code-mode": "'text.verbosity' has no effect on this model.",
    "sealed-thoughts-in-the-history": FOREIGN.format(1),
    "sealed-thoughts-of-another-model-in-the-history": FOREIGN.format(1),
    "tool-found": "'text.verbosity' has no effect on this model.",
    "web-search-of-the-models-own": "'tools.search_context_size' has no effect on this model.",
}
"""What the client is warned of because the Messages API lacks it."""

OTHERWISE: Final = {
    "sealed-thoughts-with-signatures": "Each block of reasoning is an item of its own, so that its place is kept.",
    "think-tags-cut-by-chunks": (tags := "Reasoning comes as blocks: tags in the text are text."),
    "think-tags-inline": tags,
    "think-tags-never-closed": tags,
    "think-tags-with-nothing-between": tags,
}
"""Transcripts whose answer is told otherwise, and why."""

NO_COUNTERPART: Final = {
    "aborted-upstream": (failures := "There is no reason of an end that is a failure. Failures are errors."),
    "error-as-finish-reason": failures,
    "no-resources-upstream": failures,
    "citations": (cited := "A citation is about a whole block of text, and has an address."),
    "citations-that-lack-fields": cited,
    "content-as-list-of-parts": (chunks := "It is about a form of chunks. Of blocks there is one form."),
    "fields-of-the-wrong-type": chunks,
    "something-that-is-no-chunk": chunks,
    "whole-message-instead-of-deltas": chunks,
    "id-before-name": (numbers := "It is about how chunks belong to calls. A block begins with its id and name."),
    "legacy-function-call": numbers,
    "missing-index": numbers,
    "missing-index-and-id": numbers,
    "new-id-on-every-fragment-without-name": numbers,
    "repeated-index-with-new-id": numbers,
    "last-stop-reason-holds": (reasons := "There is one reason of the end, behind everything, in one spelling."),
    "stop-reason-in-other-words": reasons,
    "stop-reason-on-every-chunk": reasons,
    "log-probabilities": "There are none.",
    "refusal": (refusals := "A refusal is itself the reason of the end, and its words come last."),
    "silence-everywhere": refusals,
    "sealed-signature-of-a-call-without-thoughts": (gemini := "It is about the signatures of Gemini."),
    "sealed-signature-of-the-text": gemini,
}  # fmt: skip
"""Transcripts that make no sense over the Messages API, and why."""


async def told(folder: Path, turn: MessagesTurn) -> list[Json]:
    """What the client is told in this turn, if the answer of the transcript comes as blocks."""
    chunks = lines(folder / "upstream.jsonl")
    steps, silences = messages_answer(chunks)
    broke = [msgspec.convert(chunk["broke"], Problem) for chunk in chunks if "broke" in chunk]
    with AnthropicUpstream(steps) as upstream:
        events = [event async for event in _events(turn, upstream.url, silences, broke)]
    return [msgspec.json.decode(msgspec.json.encode(event)) for event in events]


async def _events(
    turn: MessagesTurn, url: str, silences: Collection[int], broke: list[Problem]
) -> AsyncIterator[Event]:
    """As upstream and pump make them. What a lost connection is called is up to the transcript."""
    client = HttpMessages(f"{url}/v1", api_key="sk-secret-0123456789")
    count = 0

    def silent() -> list[Event]:
        return [event for place in silences if place == count for event in turn.keep_alive()]

    payloads = client.open(turn.ask)
    for event in turn.begin():
        yield event
    try:
        async with aclosing(payloads):
            async for payload in payloads:
                for event in [*silent(), *turn.receive(payload)]:
                    yield event
                count += 1
                if turn.over:
                    return
        for event in [*silent(), *turn.end()]:
            yield event
    except (UpstreamRefused, UpstreamBroke) as error:
        for event in [*silent(), *turn.fail(*broke or [error.problem])]:
            yield event
    finally:
        await client.close()


def of(names: Collection[str], *, others: bool = False) -> pytest.MarkDecorator:
    """The transcripts of these names, or all others."""
    folders = [folder for folder in FOLDERS if (folder.name in names) is not others]
    return pytest.mark.parametrize("folder", folders, ids=[folder.name for folder in folders])


@of({*NO_COUNTERPART, *OTHERWISE}, others=True)
async def test_the_client_is_told_the_same_as_over_a_chat_server(folder: Path) -> None:
    turn = new_messages_turn(folder)
    events, expected = await told(folder, turn), lines(folder / "events.jsonl")
    difference = DIFFERENCES.get(folder.name)
    assert (events != expected) is (difference is not None)
    fields = frozenset[str]() if difference is None else difference.fields
    assert masked(events, fields) == masked(expected, fields)
    assert sentences(turn.warnings) == [sentence for name, sentence in WARNINGS.items() if name == folder.name]


@of(OTHERWISE)
async def test_some_answers_are_told_otherwise(folder: Path) -> None:
    assert await told(folder, new_messages_turn(folder)) != lines(folder / "events.jsonl")


@of(NO_COUNTERPART)
def test_some_answers_have_no_counterpart(folder: Path) -> None:
    with pytest.raises(NoCounterpartError):
        messages_answer(lines(folder / "upstream.jsonl"))


def test_every_listed_transcript_exists() -> None:
    names = {folder.name for folder in FOLDERS}
    assert names >= {*DIFFERENCES, *WARNINGS, *OTHERWISE, *NO_COUNTERPART}
    assert not {*DIFFERENCES, *WARNINGS} & {*OTHERWISE, *NO_COUNTERPART}
