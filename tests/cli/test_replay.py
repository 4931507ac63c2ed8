"""`am-proxy replay`: the whole way of a bug report, and what is said about folders from anybody."""

import json
import shutil
from pathlib import Path

import httpx
import pytest

from tests.recordings.test_recorded_folders import check
from tests.support.running import ROOT, run, running
from tests.support.terminal import am_proxy, terminal
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream

BODY = {"model": "m", "input": "Say hello. My key is sk-abc123def456.", "stream": True}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of a turn, as a user makes it and attaches it to a report."""
    home = tmp_path_factory.mktemp("user")
    with (
        ChatUpstream(text_turn("Hello there")) as upstream,
        running("--upstream", upstream.url, "--via", "chat", "--record", "recordings", folder=home) as server,
    ):
        httpx.post(f"{server.url}/responses", json=BODY, timeout=30).raise_for_status()
        assert server.stop() == 0
    [made] = (home / "recordings").iterdir()
    return made


@pytest.fixture
def folder(reported: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(reported, tmp_path / "all" / "report")
    return tmp_path / "all" / "report"


def test_a_report_becomes_a_test(folder: Path) -> None:
    """As troubleshooting.md and CONTRIBUTING.md say: record, copy, run."""
    check(folder)
    done = run("replay", str(folder), folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "  ✓ report  m: 9 events\n\n1 recording: 1 the same as recorded\n"
    assert "sk-abc" not in "".join(file.read_text() for file in folder.iterdir())
    change(folder, "Hello", "Howdy")
    with pytest.raises(AssertionError):
        check(folder)
    check(folder, bless=True)
    check(folder)
    assert "Howdy there" in (folder / "events.jsonl").read_text()


def change(folder: Path, before: str, after: str) -> None:
    """Another answer of the upstream."""
    file = folder / "upstream.jsonl"
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))


def test_differences_on_a_terminal(folder: Path) -> None:
    change(folder, "Hello", "Howdy")
    shutil.copytree(folder, folder.parent / "unreadable")
    (folder.parent / "unreadable" / "events.jsonl").write_text("nonsense\n")
    about = folder / "recording.json"
    shutil.copytree(folder, folder.parent / "not-whole")
    whole = json.loads(about.read_text())
    (folder.parent / "not-whole" / "recording.json").write_text(
        json.dumps(whole | {"left_out": ["It is longer than record_turn_bytes: the rest of an answer is missing."]})
    )
    with terminal(am_proxy("replay", str(folder.parent)), folder=folder, columns=80) as seen:
        assert seen.wait() == 2
    page = (ROOT / "docs" / "recordings.md").read_text()
    assert f"```text\n$ am-proxy replay recordings\n{seen.text}\n```" in page


def test_differences_as_json(folder: Path) -> None:
    change(folder, "Hello", "Howdy")
    done = run("replay", str(folder.parent), "--json", folder=folder)
    assert done.returncode == 1
    [result] = json.loads(done.stdout)["recordings"]
    assert (result["name"], result["state"]) == ("report", "different")
    assert result["differences"][0] == {"where": "event 5, delta", "recorded": "Hello there", "now": "Howdy there"}


@pytest.mark.parametrize("name", ["missing", "empty", "file"])
def test_a_folder_without_recordings(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    done = run("replay", str(tmp_path / name), folder=tmp_path)
    said = {
        "missing": "cannot be read: No such file or directory",
        "empty": "has no recording",
        "file": "cannot be read: Not a directory",
    }
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"am-proxy: {tmp_path / name} {said[name]}\n"


def test_folders_from_anybody(folder: Path) -> None:
    """The rest is still replayed."""
    others = folder.parent
    (others / "a-link").symlink_to("/etc")
    (others / "binary").mkdir()
    (others / "binary" / "recording.json").write_bytes(b"\x00\xff\x1b[31m" * 1000)
    (others / "nothing").mkdir()
    done = run("replay", str(others), folder=folder)
    assert done.returncode == 2
    assert done.stdout.isprintable() or set(done.stdout) - {"\n"}
    assert "\x1b" not in done.stdout
    assert "✗ nothing  recording.json is missing" in done.stdout
    assert "✗ binary  recording.json is not JSON" in done.stdout
    assert "✓ report  m: 9 events" in done.stdout
    assert done.stdout.endswith("4 recordings: 1 the same as recorded, 3 unreadable\n")
