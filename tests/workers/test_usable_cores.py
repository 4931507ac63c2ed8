"""The number of cores of `workers = "auto"`: affinity, and the groups of both versions around the process."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.workers.usable_cores import usable_cores, worker_count

CORES = 8

CASES: Mapping[str, tuple[str, Mapping[str, str], int]] = {
    "no groups": ("", {}, CORES),
    "no limit": ("0::/\n", {"cpu.max": "max 100000\n"}, CORES),
    "two and a half": ("0::/\n", {"cpu.max": "250000 100000\n"}, 3),
    "half a core": ("0::/a/b\n", {"a/b/cpu.max": "50000 100000\n"}, 1),
    "a group outside has less": (
        "0::/a/b\n",
        {"cpu.max": "400000 100000\n", "a/cpu.max": "200000 100000\n", "a/b/cpu.max": "300000 100000\n"},
        2,
    ),
    "more than there are": ("0::/\n", {"cpu.max": "9900000 100000\n"}, CORES),
    "version 1": (
        "4:memory:/x\n3:cpu,cpuacct:/x\n",
        {"cpu,cpuacct/x/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
        2,
    ),
    "version 1 under its short name": (
        "3:cpu,cpuacct:/x\n",
        {"cpu/x/cpu.cfs_quota_us": "300000\n", "cpu/x/cpu.cfs_period_us": "100000\n"},
        3,
    ),
    "version 1 without a limit": (
        "3:cpu:/x\n",
        {"cpu/x/cpu.cfs_quota_us": "-1\n", "cpu/x/cpu.cfs_period_us": "100000\n"},
        CORES,
    ),
    "nonsense": ("what\n\n0:", {"cpu.max": "a b c\n"}, CORES),
}


@pytest.mark.parametrize(("own", "files", "expected"), CASES.values(), ids=CASES)
def test_the_smallest_share_counts(
    own: str, files: Mapping[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(CORES)), raising=False)
    groups = tmp_path / "groups"
    for name, text in files.items():
        (groups / name).parent.mkdir(parents=True, exist_ok=True)
        (groups / name).write_text(text)
    (tmp_path / "own").write_text(own)
    assert usable_cores(groups, tmp_path / "own") == expected


def test_a_number_is_that_number() -> None:
    assert [worker_count(3), worker_count("auto")] == [3, usable_cores()]
