"""What a model is known not to take: refused by its exact path, or left out with a warning."""

from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ServerOptions
from app.protocol.problems import Problem, ProblemError
from app.providers.capabilities import Capabilities
from tests.support.chat_requests import ask, call, output, user

TEXT = {"type": "input_text", "text": "Look:"}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
FILE = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}
AUDIO = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
TEXT_ONLY = Capabilities(vision=False, files=False, audio=False)
F = {"type": "function", "name": "f", "strict": True, "parameters": {"type": "object", "properties": {}}}

PARTS = [
    pytest.param(IMAGE, "input_image", "see images", id="image"),
    pytest.param(FILE, "input_file", "read files", id="file"),
    pytest.param(AUDIO, "input_audio", "hear audio", id="audio"),
]
WHAT = {"input_image": "An image", "input_file": "A file", "input_audio": "A recording"}


def refused(options: ChatOptions, **fields: Any) -> Problem:
    with pytest.raises(ProblemError) as raised:
        ask(options, **fields)
    return raised.value.problem


@pytest.mark.parametrize(("part", "kind", "able"), PARTS)
def test_a_part_that_a_model_cannot_take_is_refused_by_its_exact_path(
    part: dict[str, Any], kind: str, able: str
) -> None:
    options = ChatOptions(can=TEXT_ONLY)
    assert refused(options, input=[user("Hi"), user(TEXT, part)]) == Problem(
        code="unsupported_value",
        message=f"'input[1].content[1]' is '{kind}', and this model cannot {able}.",
        param="input[1].content[1]",
    )
    in_an_output = [call("A"), output("A", [part])]
    assert refused(options, input=in_an_output).param == "input[1].output[0]"


@pytest.mark.parametrize(("part", "kind", "able"), PARTS)
def test_a_lenient_server_says_in_its_place_that_it_was_left_out_and_warns(
    part: dict[str, Any], kind: str, able: str
) -> None:
    asked = ask(ChatOptions(can=TEXT_ONLY, server=ServerOptions(lenient=True)), input=[user(TEXT, part)])
    assert asked.body["messages"] == [
        {"role": "user", "content": f"Look:\n[{WHAT[kind]} was left out here: this model cannot {able}.]"}
    ]
    assert asked.warnings == [f"'input[0].content[1]' is '{kind}', and this model cannot {able}. It was left out."]


@pytest.mark.parametrize("known", [None, True])
@pytest.mark.parametrize("part", [IMAGE, FILE, AUDIO])
def test_what_a_model_takes_or_nobody_knows_is_let_through(part: dict[str, Any], *, known: bool | None) -> None:
    can = Capabilities(vision=known, files=known, audio=known)
    [message] = ask(ChatOptions(can=can), input=[user(TEXT, part)]).body["messages"]
    assert len(message["content"]) == 2


def test_tools_for_a_model_without_are_refused_or_left_out() -> None:
    can = Capabilities(tools=False)
    assert refused(ChatOptions(can=can), tools=[F]) == Problem(
        code="unsupported_value", message="This model cannot call tools.", param="tools"
    )
    asked = ask(ChatOptions(can=can, server=ServerOptions(lenient=True)), tools=[F], parallel_tool_calls=False)
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & asked.body.keys()
    assert asked.warnings == ["This model cannot call tools. They were left out."]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "name": "f"}])
def test_a_call_that_the_client_insists_on_is_refused_even_by_a_lenient_server(choice: object) -> None:
    options = ChatOptions(can=Capabilities(tools=False), server=ServerOptions(lenient=True))
    assert refused(options, tools=[F], tool_choice=choice).param == "tool_choice"


@pytest.mark.parametrize(
    ("can", "asked", "expected", "warnings"),
    [
        (None, False, False, []),
        (True, False, False, []),
        (None, True, True, []),
        (False, True, None, []),
        (False, None, None, []),
        (False, False, None, ["'parallel_tool_calls: false' has no effect: this model has no such setting."]),
    ],
)
def test_one_call_at_a_time_is_asked_where_a_model_can_be_told(
    can: bool | None,  # noqa: FBT001 — one of three
    asked: bool | None,  # noqa: FBT001 — one of three
    expected: bool | None,  # noqa: FBT001 — one of three
    warnings: list[str],
) -> None:
    got = ask(ChatOptions(can=Capabilities(parallel_calls=can)), tools=[F], parallel_tool_calls=asked)
    assert (got.body.get("parallel_tool_calls"), got.warnings) == (expected, warnings)


def test_strictness_that_is_lost_is_warned_of_once() -> None:
    options = ChatOptions(can=Capabilities(strict_tools=False))
    lost = ["'strict' on tools has no effect: this model's server does not enforce schemas."]
    assert ask(options, tools=[F, {**F, "name": "g"}]).warnings == lost
    assert ask(options, tools=[{**F, "strict": False}]).warnings == []


def test_verbosity_is_asked_of_models_that_know_it() -> None:
    text = {"verbosity": "low"}
    assert ask(ChatOptions(can=Capabilities(verbosity=True)), text=text).body["verbosity"] == "low"
    asked = ask(ChatOptions(can=Capabilities(verbosity=False)), text=text)
    assert "verbosity" not in asked.body
    assert asked.warnings == ["'text.verbosity' has no effect on this model."]
