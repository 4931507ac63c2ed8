"""`am-proxy replay`: runs recorded requests with today's code, and shows where its answers differ."""

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..recordings.comparison import MOST, Difference
from ..recordings.folders import folders_in
from ..recordings.reading import NoRecordingError, read
from ..upstreams.litellm_chat import close_connections
from .replayed_turn import NotReplayedError, differences
from .rows import MARKS, STYLES, State, show
from .style import colour_wanted, harmless, painted

_LONGEST_WAIT: Final = 600
"""Seconds for one recording without `--timing`."""
_SHOWN: Final = 5
"""Differences of one recording that are printed; JSON has up to `MOST`."""
_LONGEST: Final = 100
"""Characters of a value that are printed, from shortly before the first that differs."""
_BEFORE: Final = 20
_TITLE: Final = 9


class ReplayResult(NamedTuple):
    """A recording, and how its replay went."""

    name: str
    state: State
    """`note`: it was not replayed. `error`: it cannot be read."""
    message: str
    differences: list[Difference]


def replay(folder: Path, *, as_json: bool, timing: bool) -> int:
    """Replay all recordings in a folder. Returns 1 if one differs, 2 if one cannot be read or there is none."""
    logging.getLogger("am_proxy").addHandler(logging.NullHandler())  # otherwise Python prints warnings itself
    logging.getLogger("am_proxy").propagate = False
    try:
        folders = folders_in(folder)
    except OSError as error:
        print(harmless(f"am-proxy: {folder} cannot be read: {error.strerror}"), file=sys.stderr)
        return 2
    if not folders:
        print(harmless(f"am-proxy: {folder} has no recording"), file=sys.stderr)
        return 2
    try:
        results = asyncio.run(_replay(folders, as_json=as_json, timing=timing))
    except KeyboardInterrupt:
        return 130
    if as_json:
        print(json.dumps(_as_json(results), indent=2))
    else:
        print(f"\n{_verdict(results)}")
    states = {each.state for each in results}
    return 2 if "error" in states else int("warning" in states)


async def _replay(folders: list[Path], *, as_json: bool, timing: bool) -> list[ReplayResult]:
    results: list[ReplayResult] = []
    for each in folders:
        results.append(await _result(each, timing=timing))
        if not as_json:
            _print(results[-1])
    await close_connections()
    return results


async def _result(folder: Path, *, timing: bool) -> ReplayResult:
    name = folder.name or str(folder)
    try:
        recording = await asyncio.to_thread(read, folder)
        async with asyncio.timeout(None if timing else _LONGEST_WAIT):
            found = await differences(recording, keeps_pace=timing)
    except NoRecordingError as error:
        return ReplayResult(name, "error", str(error), [])
    except NotReplayedError as error:
        return ReplayResult(name, "note", f"not replayed: {error}", [])
    except TimeoutError:
        return ReplayResult(name, "warning", f"it took more than {_LONGEST_WAIT} s", [])
    if not found:
        count = len(recording.events)
        return ReplayResult(name, "ok", f"{recording.about.model[:40]}: {count} event{'' if count == 1 else 's'}", [])
    many = f"{len(found)} or more" if len(found) == MOST else str(len(found))
    return ReplayResult(name, "warning", f"{many} difference{'' if many == '1' else 's'}", found)


def _print(result: ReplayResult) -> None:
    mark = MARKS["error" if result.state == "warning" else result.state]
    style = STYLES["error" if result.state == "warning" else result.state]
    shown = painted(mark, *style, colour=colour_wanted(sys.stdout))
    title = f"  {{}} {harmless(result.name)}  "
    show(title.format(mark), result.message, (), coloured=title.format(shown))
    for difference in result.differences[:_SHOWN]:
        show("      ", difference.where, ())
        before, now = _texts(difference)
        show(f"        {'recorded':<{_TITLE}} ", before, ())
        show(f"        {'now':<{_TITLE}} ", now, ())
    if len(result.differences) > _SHOWN:
        show("      ", f"and {len(result.differences) - _SHOWN} more; --json shows them", ())


def _texts(difference: Difference) -> tuple[str, str]:
    """Both values as JSON, from shortly before the first character that differs."""
    texts = [json.dumps(value, ensure_ascii=False) for value in (difference.recorded, difference.now)]
    pairs = zip(*texts, strict=False)
    first = next((index for index, (one, other) in enumerate(pairs) if one != other), min(map(len, texts)))
    start = max(first - _BEFORE, 0) if max(map(len, texts)) > _LONGEST else 0
    before, now = (_excerpt(text, start) for text in texts)
    return before, now


def _excerpt(text: str, start: int) -> str:
    end = start + _LONGEST
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _verdict(results: list[ReplayResult]) -> str:
    words: list[tuple[State, str]] = [
        ("ok", "the same as recorded"), ("warning", "different"), ("note", "not replayed"), ("error", "unreadable")
    ]  # fmt: skip
    counts = [(sum(each.state == state for each in results), text) for state, text in words]
    return f"{len(results)} recording{'' if len(results) == 1 else 's'}: " + ", ".join(
        f"{count} {text}" for count, text in counts if count
    )


def _as_json(results: list[ReplayResult]) -> dict[str, Any]:
    names = {"ok": "same", "warning": "different", "note": "not_replayed", "error": "unreadable"}
    return {
        "recordings": [
            {
                "name": each.name,
                "state": names[each.state],
                "message": each.message,
                "differences": [difference._asdict() for difference in each.differences],
            }
            for each in results
        ]
    }
