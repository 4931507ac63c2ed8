"""Colours: where they are wanted, and where not."""

import io
from pathlib import Path

import pytest

from app.cli.style import colour_wanted, painted
from tests.support.terminal import am_proxy, terminal


class OnTerminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "on_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"TERM": "xterm-256color"}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_the_environment_decides_about_colours(environ: dict[str, str], *, on_terminal: bool, elsewhere: bool) -> None:
    assert colour_wanted(OnTerminal(), environ) is on_terminal
    assert colour_wanted(io.StringIO(), environ) is elsewhere


def test_a_text_is_painted_and_ends_its_colours() -> None:
    assert painted("ready", "bold", "green") == "\x1b[1;32mready\x1b[0m"
    assert painted("ready", "dim") == "\x1b[2mready\x1b[0m"
    assert [painted("ready"), painted("ready", "red", colour=False), painted("", "red")] == ["ready", "ready", ""]


@pytest.mark.parametrize(
    ("environ", "colours"), [({}, {"green"}), ({"NO_COLOR": "1"}, {"default"}), ({"TERM": "dumb"}, {"default"})]
)
def test_the_banner_is_coloured_as_the_environment_wants(
    environ: dict[str, str], colours: set[str], tmp_path: Path
) -> None:
    with terminal(am_proxy("serve", "--port", "0"), folder=tmp_path, environ=environ) as shown:
        shown.wait_for("is ready")
        assert shown.colours("is ready") == colours
        shown.type("\x03")
        assert shown.wait() == 0
