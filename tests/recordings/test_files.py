"""What a recording keeps, and what it leaves out."""

import json
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.protocol.seals import ENVELOPES
from app.recordings.blotted import OWN, blotted, blotted_all
from app.recordings.blotted_bodies import blotted_pieces
from app.recordings.folders import UnfitFolderError, prepare, write
from app.recordings.recording import About, Arrival, ClientEvent, Exchange, Recording
from app.recordings.recording_files import files_of
from tests.observers.test_redaction import CASES
from tests.support.recorded import read
from tests.support.running import ROOT

RECORDING = Recording(
    About(am_proxy="1.2.3", recorded="2026-11-19T14:00:00Z", model="m", upstreams=["one", "other"]),
    {"model": "m", "input": "Hi"},
    [
        Exchange(
            "one",
            {"model": "m"},
            [Arrival(at=1.5, status=503, headers={"retry-after": "1"}), Arrival(at=2.5, text="{}")],
        ),
        Exchange(
            "other",
            {"model": "n"},
            [
                Arrival(at=3, chunk={"choices": []}),
                Arrival(at=4, text="\udcff\ud83d"),
                Arrival(at=5, closed=True),
            ],
        ),
    ],
    [ClientEvent(at=6, event={"type": "response.created"}), ClientEvent(at=7, refused={"status": 502, "error": {}})],
)  # fmt: skip


def written(folder: Path, recording: Recording = RECORDING) -> Path:
    write(folder, "one", files_of(recording))
    return folder / "one"


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = written(tmp_path)
    assert read(folder) == RECORDING
    assert sorted(file.name for file in folder.iterdir()) == [
        "ask-2.json", "ask.json", "events.jsonl", "recording.json", "request.json", "upstream-2.jsonl", "upstream.jsonl"
    ]  # fmt: skip
    assert (folder / "upstream.jsonl").read_text() == (
        '{"at":1.5,"status":503,"headers":{"retry-after":"1"}}\n{"at":2.5,"text":"{}"}\n'
    )


def test_only_its_owner_reads_a_recording(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "recordings"
    assert prepare(folder) == (0, 0)
    written(folder)
    entries = [folder, folder / "one", *(folder / "one").iterdir()]
    assert {stat.S_IMODE(entry.stat().st_mode) & 0o077 for entry in entries} == {0}
    assert prepare(folder) == (1, sum(len(data) for data in files_of(RECORDING).values()))


def test_a_folder_that_others_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(UnfitFolderError, match="can be written by others"):
        prepare(tmp_path)
    tmp_path.chmod(0o700)
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UnfitFolderError, match="is not a folder"):
            prepare(folder)


def test_a_folder_with_anything_else_is_refused(tmp_path: Path) -> None:
    """Recordings do not appear between the files of a project or a web site."""
    (tmp_path / ".hidden").touch()
    assert prepare(tmp_path) == (0, 0)
    (tmp_path / "index.html").touch()
    with pytest.raises(UnfitFolderError, match=r"holds index\.html, which is no recording"):
        prepare(tmp_path)


@pytest.mark.parametrize("name", ["", "inspector", "inspector/new"])
def test_a_folder_of_this_server_is_refused(name: str) -> None:
    with pytest.raises(UnfitFolderError, match="is a part of AM Proxy"):
        prepare(ROOT / "app" / name)


def test_a_recording_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write(tmp_path, "one", {"a": b"1", "missing/b": b"2"})
    assert list(tmp_path.iterdir()) == []


PICTURE = "data:image/png;base64," + "A" * 1000
INSTEAD = "AAAAAAAAAAAAAAAAbGVmdCBvdXQ6IDEwMDAgY2hhcmFjdGVycywgYmFzZTY0LCBzaGEyNTYgYzJlNjg2ODIzNDg5Y2VkMg=="
BLOTS: dict[str, tuple[Any, Any]] = {
    "a picture": ({"image_url": PICTURE}, {"image_url": f"data:image/png;base64,{INSTEAD}"}),
    "the same, as another API has it": ({"data": "A" * 1000}, {"data": INSTEAD}),
    "encrypted reasoning": (
        {"encrypted_content": "AM1.abc"},
        {"encrypted_content": "left out: 7 characters, encrypted, sha256 b73199daa200aa54"},
    ),
    "encrypted by another server": ({"encrypted_content": "gAAAAabc"}, {"encrypted_content": "gAAAAabc"}),
    "a signature, without which no model goes on": ({"signature": "c2lnbmVk"}, {"signature": "c2lnbmVk"}),
}


@pytest.mark.parametrize("name", [name for name in CASES if "secret" in name or "words" in name])
def test_the_keys_that_no_log_has_are_in_no_recording(name: str) -> None:
    given, kept = CASES[name]
    assert blotted(given) == kept


@pytest.mark.parametrize("name", BLOTS)
def test_what_is_left_out_has_a_hash(name: str) -> None:
    given, kept = BLOTS[name]
    assert blotted(given) == kept
    assert blotted(kept) == kept


def test_the_marks_of_encrypted_content_are_known() -> None:
    assert OWN == ENVELOPES


SECRET = "sk-abc123def456"


@pytest.mark.parametrize("cuts", [(2,), (3,), (8,), (3, 5, 9), (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)])
def test_a_key_in_several_events_is_removed(cuts: tuple[int, ...]) -> None:
    text = f"The key is {SECRET} and that is {SECRET} again."
    places = [0, *(11 + cut for cut in cuts), len(text)]
    events = [{"type": "delta", "item_id": "msg_1", "delta": text[start:end]} for start, end in pairwise(places)]
    others = [{"type": "delta", "item_id": "msg_2", "delta": "Other words."}]
    kept = blotted_all([events[0], *others, *events[1:]])
    told = "".join(event["delta"] for event in kept if event["item_id"] == "msg_1")
    assert told == "The key is sk-*** and that is sk-*** again."
    assert kept[1] == others[0]


REPEATED: dict[str, tuple[list[Any], list[Any]]] = {
    "the instructions of each response": (
        [{"response": {"instructions": "Answer briefly. The password: hunter2hunter2"}}] * 3,
        [{"response": {"instructions": "Answer briefly. The password: ***"}}] * 3,
    ),
    "the addresses of several annotations": (
        [
            {"item_id": "m", "annotation_index": 0, "annotation": {"url": "https://a.example/?api_key=abcdef123"}},
            {"item_id": "m", "annotation_index": 1, "annotation": {"url": "https://b.example/"}},
        ],
        [
            {"item_id": "m", "annotation_index": 0, "annotation": {"url": "https://a.example/?api_key=***"}},
            {"item_id": "m", "annotation_index": 1, "annotation": {"url": "https://b.example/"}},
        ],
    ),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_text_that_ends_with_a_key_leaves_the_next_one_as_it_is(name: str) -> None:
    """They are texts of their own, and no pieces of one."""
    given, kept = REPEATED[name]
    assert blotted_all(given) == kept


def chunk(text: str) -> str:
    return 'data: {"choices":[{"index":0,"delta":{"content":' + json.dumps(text) + "}}]}\n\n"


@pytest.mark.parametrize("size", [1, 7, 50, 10_000])
def test_the_pieces_of_a_body_stay_where_they_were(size: int) -> None:
    body = (
        chunk("Hello \u2028 ")
        + ": comment\r\n\r\n"
        + chunk("sk-abc")
        + chunk("123def")
        + chunk(" World")
        + "data: [DONE]\n\n"
    )
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    kept = blotted_pieces(pieces)
    assert len(kept) == len(pieces)
    assert "".join(kept) == body.replace("sk-abc", "sk-***").replace("123def", "").replace(
        'data: {"choices":[{"index":0,"delta":{"content": "', 'data: {"choices":[{"index":0,"delta":{"content":"'
    )
    unchanged = len(body.split(": comment")[0]) // size - 1
    assert kept[: max(unchanged, 0)] == pieces[: max(unchanged, 0)]


@pytest.mark.parametrize(
    ("pieces", "kept"),
    [
        (['{"error": ', '"no"}'], ['{"error": ', '"no"}']),
        (['{"api_', 'key": "abcdef1"}'], ['{"api_key":"***"}']),
        (["Authorization: Bea", "rer abcdef1\n"], ["Authorization: Bearer ***\n", ""]),
        ([""], [""]),
    ],
)
def test_a_body_that_is_no_stream(pieces: list[str], kept: list[str]) -> None:
    assert blotted_pieces(pieces) == kept


def test_nothing_of_a_key_is_in_any_file() -> None:
    secret = {
        "authorization": "Bearer abcdef123456",
        "text": "https://me:hunter2hunter2@example.com/?api_key=abcdef123",
    }
    about = About(
        am_proxy="1", recorded="", model="sk-abcdef123456", settings=secret, upstreams=["one"], outcome=secret
    )
    arrivals = [
        Arrival(at=0, status=401, headers={"x": "Bearer abcdef123456"}), Arrival(at=0, text=json.dumps(secret)),
        Arrival(at=0, chunk=secret), Arrival(at=0, problem=secret),
    ]  # fmt: skip
    events = [ClientEvent(at=0, event=secret), ClientEvent(at=0, refused=secret)]
    files = files_of(Recording(about, secret, [Exchange("one", secret, arrivals)], events))
    for name, data in files.items():
        assert b"abcdef123" not in data, name
        assert b"hunter2" not in data, name
