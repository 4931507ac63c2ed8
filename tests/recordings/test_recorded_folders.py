"""Every recording in this folder is replayed without a difference. A bug report becomes a test by being copied here.

`--bless tests/recordings/NAME` rewrites what was asked and what the client got; the diff is then the review.
"""

import asyncio
from pathlib import Path

import pytest

from app.cli.replayed_turn import replayed
from app.recordings.comparison import compared
from app.recordings.reading import read
from app.recordings.recording import Exchange
from app.recordings.recording_files import files_of

FOLDERS = sorted(folder.parent for folder in Path(__file__).parent.glob("*/recording.json"))


def check(folder: Path, *, bless: bool = False) -> None:
    """Replay this recording."""
    recorded = read(folder)
    now = asyncio.run(replayed(recorded))
    if bless and compared(recorded, now):
        asks = [each.ask for each in now.exchanges]
        exchanges = [
            Exchange(each.upstream, ask, each.arrivals) for each, ask in zip(recorded.exchanges, asks, strict=True)
        ]
        recorded = recorded._replace(exchanges=exchanges, events=now.events)
        recorded.about.outcome |= now.about.outcome
        for name, data in files_of(recorded).items():
            (folder / name).write_bytes(data)
    assert compared(recorded, now) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_a_recording_is_answered_today_as_it_was(folder: Path, blessed: Path | None) -> None:
    check(folder, bless=blessed == folder)
