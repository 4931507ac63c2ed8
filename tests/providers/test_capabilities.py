"""What is known of a model, from several sources."""

import pytest

from app.providers.capabilities import ANYTHING, Capabilities


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (ANYTHING, ANYTHING, ANYTHING),
        (ANYTHING, Capabilities(vision=False), Capabilities(vision=False)),
        (Capabilities(vision=True), Capabilities(vision=False), Capabilities(vision=True)),
        (Capabilities(vision=False), Capabilities(audio=True), Capabilities(vision=False, audio=True)),
        (Capabilities(efforts=()), Capabilities(efforts=("low",)), Capabilities(efforts=())),
        (Capabilities(structured_output=()), ANYTHING, Capabilities(structured_output=())),
    ],
)
def test_what_is_known_here_holds_and_the_rest_is_what_is_known_there(
    first: Capabilities, second: Capabilities, both: Capabilities
) -> None:
    assert first.over(second) == both


@pytest.mark.parametrize(
    ("can", "alone", "beside_tools"),
    [
        (ANYTHING, None, None),
        (Capabilities(structured_output=("json_object",)), ("json_object",), ("json_object",)),
        (Capabilities(structured_output=("json_schema",), structured_beside_tools=()), ("json_schema",), ()),
        (Capabilities(structured_beside_tools=()), None, ()),
    ],
)
def test_formats_may_be_fewer_beside_tools(
    can: Capabilities, alone: tuple[str, ...] | None, beside_tools: tuple[str, ...] | None
) -> None:
    assert (can.formats(beside_tools=False), can.formats(beside_tools=True)) == (alone, beside_tools)
