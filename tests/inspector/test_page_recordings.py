"""A recording that somebody chose is shown as a turn; what is none is named, and the rest stays."""

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest
from playwright.sync_api import FilePayload, Page, expect

from app.settings import Server, Settings
from tests.inspector.conftest import without_errors
from tests.inspector.fake_feed import FakeFeed, row
from tests.support.running import ROOT
from tests.support.serving import serving

FOLDER: Final = ROOT / "tests" / "recordings" / "claude-tool-loop"
FILES: Final = {file.name: file.read_bytes() for file in sorted(FOLDER.iterdir())}


@pytest.fixture(scope="module")
def opened(tab: Page) -> Iterator[Page]:
    with serving(Settings(server=Server(watch=5))) as url:
        feed = FakeFeed.at(tab, f"{url}/#watch")
        feed.rows(row(1))
        yield tab


@pytest.fixture
def page(opened: Page) -> Iterator[Page]:
    with without_errors(opened):
        yield opened


def zipped(files: dict[str, bytes], method: int = ZIP_DEFLATED) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def choose(page: Page, *files: tuple[str, bytes]) -> None:
    """Chooses these files. A large one has to be on disk."""
    given: list[FilePayload] = [
        {"name": name, "mimeType": "application/octet-stream", "buffer": data} for name, data in files
    ]
    page.set_input_files("#import", given)


def is_shown(page: Page) -> None:
    about = json.loads(FILES["recording.json"])
    expect(page.locator("#watched h2")).to_have_text(f"{about['model']} · {about['request_id']}")
    page.get_by_role("tab", name="Upstream request").click()
    expect(page.locator(".pane[data-name=ask-1]")).to_contain_text("Upstream bytes, as they came")
    page.locator("#watched").get_by_role("tab", name="Events").click()
    expect(page.locator("#watched .events li").first).to_contain_text("created")


def test_a_zip_file_is_opened(page: Page) -> None:
    choose(page, ("turn.zip", zipped({f"turn-1/{name}": data for name, data in FILES.items()})))
    is_shown(page)


def test_the_files_of_a_folder_are_opened(page: Page) -> None:
    choose(page, *FILES.items())
    is_shown(page)


ZIPS: Final[dict[str, tuple[bytes | Callable[[], bytes], str]]] = {
    "no zip": (b"PK" * 50, "This is no ZIP file."),
    "empty": (b"", "This is no ZIP file."),
    "cut off": (zipped(FILES)[200:], "The ZIP file is damaged."),
    "damaged": (zipped(FILES).replace(b"PK\x01\x02", b"PK\x09\x09"), "The ZIP file is damaged."),
    "no recording": (zipped({"a.txt": b"x"}), "There is no recording: recording.json is missing."),
    "a path": (
        zipped({f"../{name}": data for name, data in FILES.items()}),
        "There is no recording: recording.json is missing.",
    ),
    "a long path": (
        zipped({f"/etc/x/{name}": data for name, data in FILES.items()}),
        "There is no recording: recording.json is missing.",
    ),
    "a bomb": (lambda: zipped({"recording.json": b" " * (65 * 1024 * 1024)}), "The recording is larger than 64 MiB."),
    "two": (
        zipped({f"{turn}/{name}": data for turn in "ab" for name, data in FILES.items()}),
        "There is more than one ask.json: open one recording at a time.",
    ),
    "another method": (zipped(FILES, ZIP_LZMA), "encrypted or packed in a way that this page cannot read"),
    "many files": (lambda: zipped({f"{number}": b"" for number in range(2001)}), "more than 2000 files"),
    "no JSON": (zipped(FILES | {"recording.json": b"{"}), "recording.json is not JSON."),
    "another format": (zipped(FILES | {"recording.json": b'{"format": 9}'}), "recordings of format 1 only"),
    "a part is missing": (
        zipped({name: data for name, data in FILES.items() if name != "ask.json"}), "ask.json is missing"
    ),
    "a bad line": (zipped(FILES | {"events.jsonl": b'{"at": 1}\n[]\n'}), "events.jsonl, line 2 has no time."),
    "a bad event": (zipped(FILES | {"events.jsonl": b'{"at": 1, "event": 5}\n'}), "an event has no type"),
}  # fmt: skip


@pytest.mark.parametrize("name", ZIPS)
def test_what_is_no_recording_is_named_and_the_rest_stays(page: Page, tmp_path: Path, name: str) -> None:
    data, words = ZIPS[name]
    file = tmp_path / "bad.zip"
    file.write_bytes(data() if callable(data) else data)
    page.set_input_files("#import", file)
    expect(page.locator("#watched")).to_contain_text(words)
    expect(page.locator("#watched")).to_contain_text("bad.zip: ")
    expect(page.locator("#turns li")).to_have_count(1)
