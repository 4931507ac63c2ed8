"""The log as a person sees it on a terminal: a line for each turn, why an upstream fails, and how the server stops."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.terminal import Terminal, am_proxy, terminal
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, Hang

DEAD = "http://127.0.0.1:1/v1"
SEARCH = [{"type": "web_search"}]


@contextmanager
def serving_on(folder: Path, columns: int, address: str, environ: dict[str, str]) -> Iterator[tuple[Terminal, str]]:
    """A server on a terminal, and its address. The model `dead` is asked where nothing listens."""
    tables = [
        f'[upstreams.{name}]\nvia = "chat"\nbase_url = "{url}"' for name, url in (("up", address), ("dead", DEAD))
    ]
    models = [f'[models.{model}]\nupstream = "{up}"' for model, up in (("tiny-agent", "up"), ("dead", "dead"))]
    (folder / "am-proxy.toml").write_text("\n".join([*tables, *models]), encoding="utf-8")
    with terminal(am_proxy("serve", "--port", "0"), folder=folder, columns=columns, environ=environ) as shown:
        shown.wait_for("OpenAI SDK")
        found = re.search(r"is ready: (\S+)", shown.text)
        assert found is not None
        yield shown, found[1]


def ask(url: str, model: str, **more: object) -> None:
    httpx.post(f"{url}/responses", json={"model": model, "input": "Hi", **more}, timeout=20)


def log_of(shown: Terminal) -> list[str]:
    """The lines after the banner, with the same times and the same ids in each of them, aligned as before."""
    start = next(number for number, text in enumerate(shown.lines) if re.match(r"\d\d:\d\d:\d\d  ", text))
    lines = [re.sub(r"^\d\d:\d\d:\d\d", "12:00:00", text) for text in shown.lines[start:]]
    lines = [re.sub(r"\d+ ms|\d\.\d\d s", lambda found: f"{'5 ms':<{len(found[0])}}", text) for text in lines]
    return [re.sub(r"…[a-z0-9]{6}$", "…viyt5y", text) for text in lines]


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("columns", [80, 120])
def test_turns_are_aligned_lines_and_an_outage_says_why(columns: int, tmp_path: Path, *, colour: bool) -> None:
    environ = {} if colour else {"NO_COLOR": "1"}
    with (
        ChatUpstream(text_turn("Hi"), text_turn("Hi")) as upstream,
        serving_on(tmp_path, columns, upstream.url, environ) as (shown, url),
    ):
        ask(url, "tiny-agent", tools=SEARCH)
        ask(url, "dead")
        ask(url, "dead")
        shown.wait_for("refused the connection (tried twice)")
        ask(url, "tiny-agent", tools=5)
        shown.wait_for("invalid_type: tools")
        seen, raw = log_of(shown), shown.raw
        assert shown.colours("200") == {"green" if colour else "default"}
        assert shown.colours("502") == shown.colours("WARNING") == {"brown" if colour else "default"}
        assert (b"\x1b[" in raw) is colour
    assert all(len(text) <= columns for text in seen)
    if columns == 80:
        assert seen == [
            "12:00:00  200   tiny-agent → up       7 → 5         5 ms    left out: web_search",
            "12:00:00  WARNING  upstream dead at http://127.0.0.1:1/v1 refused the",
            "                   connection. Is it running?",
            "12:00:00  502   dead → dead           refused the connection (tried twice)",
            "12:00:00  502   dead → dead           refused the connection (tried twice)",
            "12:00:00  400                         invalid_type: tools",
        ]
    else:
        assert [len(text) for text in seen] == [120, 96, 120, 120, 120]
        assert [" ".join(text.split()) for text in seen] == [
            "12:00:00 200 tiny-agent → up 7 → 5 5 ms / 5 ms left out: web_search …viyt5y",
            "12:00:00 WARNING upstream dead at http://127.0.0.1:1/v1 refused the connection. Is it running?",
            "12:00:00 502 dead → dead refused the connection (tried twice) …viyt5y",
            "12:00:00 502 dead → dead refused the connection (tried twice) …viyt5y",
            "12:00:00 400 invalid_type: tools …viyt5y",
        ]


def test_ctrl_c_says_that_it_has_stopped_and_what_it_waits_for(tmp_path: Path) -> None:
    with ChatUpstream([Hang()]) as upstream, serving_on(tmp_path, 80, upstream.url, {}) as (shown, url):
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{url}/responses", json={"model": "tiny-agent", "input": "Hi"}, timeout=0.5)
        shown.wait_for("gone")
        shown.type("\x03")
        assert shown.wait() == 0
        assert shown.lines[-1] == "stopped"


def test_ctrl_c_waits_for_a_request_and_a_second_one_does_not(tmp_path: Path) -> None:
    with ChatUpstream([Hang()]) as upstream, serving_on(tmp_path, 80, upstream.url, {}) as (shown, url):
        with httpx.stream(
            "POST", f"{url}/responses", json={"model": "tiny-agent", "input": "Hi", "stream": True}, timeout=20
        ) as answer:
            chunks = answer.iter_bytes()
            next(chunks)
            shown.type("\x03")
            shown.wait_for("Stopping. Waiting 6 s at most for 1 request that still runs; Ctrl-C again")
            shown.type("\x03")
            assert shown.wait() == 0
        assert shown.lines[-1] == "stopped"
