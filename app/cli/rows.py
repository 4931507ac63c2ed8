"""Prints what commands find out, row by row: a title and a text, wrapped on a terminal, never with a key in it."""

import asyncio
import os
import shutil
import sys
import textwrap
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from typing import Final, Literal, NamedTuple

from ..settings import Upstream
from .style import Style, colour_wanted, harmless, painted

State = Literal["ok", "warning", "error", "note", "waiting"]

MARKS: Final[dict[State, str]] = {"ok": "✓", "warning": "!", "error": "✗", "note": "·", "waiting": "…"}
STYLES: Final[dict[State, tuple[Style, ...]]] = {
    "ok": ("green",),
    "warning": ("yellow",),
    "error": ("bold", "red"),
    "note": ("dim",),
    "waiting": ("dim",),
}
_SHORTEST_KEY: Final = 8
"""Characters. A shorter one is no secret (`none`, `ollama`), and removing it would garble our own text."""
_NARROWEST: Final = 20
"""The smallest width of a text in characters, however narrow the terminal is."""
_TITLE: Final = 15
_PATIENCE: Final = 0.3
"""Seconds that a step may take before a terminal shows what is waited for."""
_TICK: Final = 0.2


class Step(NamedTuple):
    """The result of one check. After an `error` the next steps cannot work. `waiting`: what the next step waits for."""

    state: State
    title: str
    message: str = ""
    advice: str = ""
    but: str = ""
    """Of a warning: what is not right, as a part of "works, but …"."""


async def print_steps(steps: AsyncGenerator[Step], upstreams: Iterable[Upstream]) -> list[Step]:
    """Print steps as they come, up to the first error. Returns them."""
    printed: list[Step] = []
    waiting: asyncio.Task[None] | None = None
    async with aclosing(steps):
        try:
            async for step in steps:
                await _ended(waiting)
                waiting = None
                if step.state == "waiting":
                    text = _clean(f"  {MARKS['waiting']} {step.title:<{_TITLE}} {step.message}", upstreams)
                    waiting = asyncio.ensure_future(_wait(text)) if _can_rewrite() else None
                    continue
                _print_step(step, upstreams)
                printed.append(step)
                if step.state == "error":
                    break
        finally:
            await _ended(waiting)
    return printed


def _print_step(step: Step, upstreams: Iterable[Upstream]) -> None:
    mark = painted(MARKS[step.state], *STYLES[step.state], colour=colour_wanted(sys.stdout))
    title = f"{step.title:<{_TITLE}}"
    show(f"  {MARKS[step.state]} {title} ", step.message, upstreams, coloured=f"  {mark} {title} ")
    if step.advice:
        show(f"{'':<{_TITLE + 5}}→ ", step.advice, upstreams)


def _can_rewrite() -> bool:
    """Whether a line can be replaced by another one."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


async def _wait(text: str) -> None:
    """Show what is waited for, and for how long, in a line that is removed at the end."""
    began = time.monotonic()
    await asyncio.sleep(_PATIENCE)
    try:
        while True:
            took = time.monotonic() - began
            line = f"{text}, {took:.0f} s" if took >= 1 else text
            line = line[: max(shutil.get_terminal_size().columns - 1, _NARROWEST)]
            print(f"\r\x1b[K{painted(line, *STYLES['waiting'], colour=colour_wanted(sys.stdout))}", end="", flush=True)
            await asyncio.sleep(_TICK)
    finally:
        print("\r\x1b[K", end="", flush=True)


async def _ended(waiting: asyncio.Task[None] | None) -> None:
    if waiting is not None:
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting


def show(
    title: str,
    message: str,
    upstreams: Iterable[Upstream],
    *,
    coloured: str = "",
    styles: tuple[Style, ...] = (),
) -> None:
    """Print a title and a text, wrapped on a terminal, without the keys of these upstreams and control characters.

    `coloured` is the title as a terminal shows it, if it has colours; `styles` are those of the text.
    """
    message = _clean(message, upstreams)
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size().columns - len(title), _NARROWEST)
        lines = textwrap.wrap(message, width, break_long_words=False)
        message = f"\n{' ' * len(title)}".join(lines)
    message = painted(message, *styles, colour=colour_wanted(sys.stdout))
    print(f"{coloured or title}{message}".rstrip(), flush=True)


def _clean(text: str, upstreams: Iterable[Upstream]) -> str:
    """The text without the keys of these upstreams and control characters."""
    for upstream in upstreams:
        key = "" if upstream.api_key is None else upstream.api_key.reveal()
        if len(key) >= _SHORTEST_KEY:
            text = text.replace(key, "…")
    return harmless(text)
