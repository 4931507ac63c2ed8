"""What tests of commands share."""

from pathlib import Path

import pytest

from app.cli import reach


@pytest.fixture(autouse=True)
def machine_without_servers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever runs on this machine, and whatever it is, does not matter."""

    async def none() -> list[object]:
        return []

    monkeypatch.setattr(reach, "find_local_servers", none)
    monkeypatch.setattr(reach, "_CONTAINER", tmp_path / "no container")
