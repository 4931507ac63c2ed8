"""How many processor cores this process may use: its affinity, and the share that a container gives it."""

import math
import os
from pathlib import Path
from typing import Final, Literal

from ..settings.values import MOST_WORKERS

_GROUPS: Final = Path("/sys/fs/cgroup")
_OWN: Final = Path("/proc/self/cgroup")


def worker_count(workers: int | Literal["auto"]) -> int:
    """The number of processes that the setting `workers` means here."""
    return min(usable_cores(), MOST_WORKERS) if workers == "auto" else workers


def usable_cores(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """The number of cores, at least one. Half a core counts as one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    share = _share(groups, own)
    return max(1, cores if share is None else min(cores, math.ceil(share)))


def _share(groups: Path, own: Path) -> float | None:
    """The smallest share of all groups around this process, in cores; None where nothing limits it."""
    shares = []
    for line in _text(own).splitlines():
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if not kinds:
            place, read = groups, _of_version_2
        elif "cpu" in kinds.split(","):
            place, read = groups / kinds, _of_version_1
            place = place if place.is_dir() else groups / "cpu"
        else:
            continue
        inner = path.strip("/").split("/")
        folders = [place.joinpath(*inner[:depth]) for depth in range(len(inner) + 1)]
        shares += [share for folder in folders if (share := read(folder)) is not None]
    return min(shares, default=None)


def _of_version_2(folder: Path) -> float | None:
    quota, _, period = _text(folder / "cpu.max").strip().partition(" ")
    return _ratio(quota, period)


def _of_version_1(folder: Path) -> float | None:
    return _ratio(_text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us"))


def _ratio(quota: str, period: str) -> float | None:
    """`max`, or -1, is no limit."""
    try:
        used, of = int(quota), int(period)
    except ValueError:
        return None
    return used / of if used > 0 and of > 0 else None


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
