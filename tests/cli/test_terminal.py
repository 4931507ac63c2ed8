"""What a person sees on a terminal."""

import re
from pathlib import Path

import pytest

from tests.support.terminal import am_proxy, terminal

COLUMNS = (80, 120)


@pytest.mark.parametrize("columns", COLUMNS)
def test_serve_says_that_it_is_ready_and_ends_at_ctrl_c(columns: int, tmp_path: Path) -> None:
    with terminal(am_proxy("serve", "--port", "0"), folder=tmp_path, columns=columns) as shown:
        shown.wait_for("is ready")
        shown.wait_for("OpenAI SDK")
        assert shown.colours("is ready") == {"green"}
        assert re.match(r"AM Proxy \S+ is ready: http://127\.0\.0\.1:\d+/v1$", shown.lines[0])
        shown.type("\x03")
        assert shown.wait() == 0
    assert shown.lines[-1] == "stopped"
