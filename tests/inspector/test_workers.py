"""The inspector of several workers: whichever of them is asked shows the turns of all."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.several_workers import Workers, several_workers, soon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


@contextmanager
def listed(server: Workers, key: str = "") -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """The notes of the list of turns, over a connection of its own."""
    headers = {"authorization": f"Bearer {key}"} if key else {}
    with httpx.stream("GET", f"{base(server)}/inspector/rows", headers=headers, timeout=20) as answer:
        assert answer.status_code == 200

        def notes() -> Iterator[tuple[str, dict[str, Any]]]:
            name = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield name, json.loads(line.removeprefix("data: "))

        yield notes()


def base(server: Workers) -> str:
    return server.url.removesuffix("/v1")


def kept(server: Workers, key: str = "") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows that are kept, and what is said when all were sent."""
    rows: list[dict[str, Any]] = []
    with listed(server, key) as notes:
        for name, value in notes:
            if name == "ready":
                return rows, value
            rows.append(value)
    raise AssertionError


def test_every_worker_shows_the_turns_of_all(tmp_path: Path) -> None:
    with several_workers(tmp_path, "--watch", "50") as server:
        assert server.asked_all() == set(server.pids)
        count = len(server.turns)
        for rows, ready in (kept(server) for _ in range(4)):  # over new connections, so both workers are asked
            assert ready == {"turns": count}
            assert len({row["number"] for row in rows}) == count
            assert {row["number"] % 2 for row in rows} == {0, 1}
            assert [row["began"] for row in rows] == sorted(row["began"] for row in rows)
        rows, _ = kept(server)
        for row in rows:
            for _ in range(2):
                turn = httpx.get(f"{base(server)}/inspector/turns/{row['number']}").json()
                assert (turn["row"]["id"], turn["request"]["input"]) == (row["id"], "Hi")
                session = httpx.get(f"{base(server)}/inspector/sessions/{row['session']}").json()
                assert row["number"] in [each["row"]["number"] for each in session["turns"]]
                live = httpx.get(f"{base(server)}/inspector/turns/{row['number']}/live")
                assert "event: ended" in live.text
            recording = httpx.get(f"{base(server)}/inspector/turns/{row['number']}/recording")
            assert recording.headers["content-type"] == "application/zip"
            assert recording.headers["content-disposition"].endswith(f'"turn-{row["number"]}.zip"')
        found = httpx.get(f"{base(server)}/inspector/found", params={"text": "Hi"}).json()
        assert found == {"numbers": sorted((row["number"] for row in rows), reverse=True)}
        for number in (999, 1000, 0):
            assert httpx.get(f"{base(server)}/inspector/turns/{number}").status_code == 404


def test_new_turns_of_all_workers_appear_in_the_list(tmp_path: Path) -> None:
    with several_workers(tmp_path, "--watch", "50") as server, listed(server) as notes:
        assert next(notes) == ("ready", {"turns": 0})
        assert server.asked_all() == set(server.pids)
        ended: set[int] = set()
        for name, row in notes:
            assert name == "row"
            if row["state"] == "ended":
                ended.add(row["number"])
            if len(ended) == len(server.turns):
                break
        assert {number % 2 for number in ended} == {0, 1}


def test_a_conversation_whose_turns_ran_in_several_workers_is_one(tmp_path: Path) -> None:
    """Each turn comes over a connection of its own, and so in any worker."""
    items: list[dict[str, Any]] = []
    with several_workers(tmp_path, "--watch", "50") as server, ExitStack() as stack:

        def ask(instructions: str) -> None:
            client = stack.enter_context(httpx.Client(base_url=server.url, timeout=20))
            number = len(server.turns)
            items.append({"role": "user", "content": f"Question {number}"})
            body = {"model": "demo", "input": items, "instructions": instructions}
            items.extend(client.post("/responses", json=body).json()["output"])
            assert soon(lambda: len(server.turns) == number + 1)

        while len(server.turns) < 3 or {line["pid"] for line in server.turns} != set(server.pids):
            ask("Be brief.")  # a worker without any processor time is not the first to accept
        ask("Be very brief.")
        rows, _ = kept(server)
        count = len(rows)
        assert {row["number"] % 2 for row in rows} == {0, 1}
        assert [row["said"] for row in rows] == [f"Question {number}" for number in range(count)]
        assert {row["session"] for row in rows} == {rows[0]["session"]}
        assert [row["place"] for row in rows] == [*range(count)]
        for _ in range(4):  # over new connections, so both workers are asked
            session = httpx.get(f"{base(server)}/inspector/sessions/{rows[0]['session']}").json()
            assert [turn["row"]["number"] for turn in session["turns"]] == [row["number"] for row in rows]
            new = [[item["content"] for item in turn["new"]] for turn in session["turns"]]
            assert new == [[row["said"]] for row in rows]
            changed = [turn["changes"] and turn["changes"]["instructions"] for turn in session["turns"]]
            assert changed == [None, *["same"] * (count - 2), "changed"]
            told = [turn["instructions"] for turn in session["turns"]]
            assert told == ["Be brief.", *[None] * (count - 2), "Be very brief."]
        turns = [httpx.get(f"{base(server)}/inspector/turns/{row['number']}").json() for row in rows]
        since = [(turn["changes"]["since"], turn["changes"]["since_id"]) for turn in turns[1:]]
        assert since == [(row["number"], row["id"]) for row in rows[:-1]]
        assert all(turn["changes"]["is_continued"] for turn in turns[1:])


def test_all_workers_together_keep_as_many_turns_as_one_process_does(tmp_path: Path) -> None:
    with several_workers(tmp_path, program="import app.settings.configuration as found\nfound.WATCHED = 4") as server:
        for _ in range(3):
            server.asked_all()
        for _ in range(6):
            server.ask()
        assert soon(lambda: len(kept(server)[0]) == 4), kept(server)


CONFIG = """
[server]
watch = 50
[[keys]]
name = "alice"
value = "alices-key"
[[keys]]
name = "bob"
value = "bobs-key"
[upstreams.u]
via = "demo"
[models.demo]
upstream = "u"
"""


def test_callers_see_their_own_turns_only(tmp_path: Path) -> None:
    (tmp_path / "am-proxy.toml").write_text(CONFIG)
    with several_workers(tmp_path) as server:
        headers = {"authorization": "Bearer alices-key"}
        for _ in range(4):
            answer = httpx.post(f"{server.url}/responses", json={"model": "demo", "input": "Hi"}, headers=headers)
            assert answer.status_code == 200
        assert soon(lambda: len(server.turns) == 4)
        rows, _ = kept(server, "alices-key")
        assert len(rows) == 4
        assert kept(server, "bobs-key") == ([], {"turns": 0})
        for row in rows:
            path = f"{base(server)}/inspector/turns/{row['number']}"
            statuses = {
                httpx.get(path, headers={"authorization": f"Bearer {key}"}).status_code: key
                for key in ("alices-key", "bobs-key", "wrong")
            }
            assert statuses == {200: "alices-key", 404: "bobs-key", 401: "wrong"}


def test_a_worker_that_hangs_is_missing_and_that_is_said(tmp_path: Path) -> None:
    with several_workers(tmp_path, "--watch", "50") as server:
        assert server.asked_all() == set(server.pids)
        count = len(server.turns)
        rows, _ = kept(server)
        stopped = server.pids[0]
        os.kill(stopped, signal.SIGSTOP)
        try:
            some, ready = kept(server)
            assert ready == {"turns": len(some), "missing": 1}
            assert 0 < len(some) < count
            hidden = next(row["number"] for row in rows if row["number"] not in {each["number"] for each in some})
            answer = httpx.get(f"{base(server)}/inspector/turns/{hidden}", timeout=20)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert answer.json()["error"]["message"].startswith("The worker that keeps it does not answer.")
            found = httpx.get(f"{base(server)}/inspector/found", params={"text": "Hi"}, timeout=20).json()
            assert (len(found["numbers"]), found["missing"]) == (len(some), 1)
            session = httpx.get(f"{base(server)}/inspector/sessions/{some[0]['session']}", timeout=20).json()
            assert (some[0] in [turn["row"] for turn in session["turns"]], session["missing"]) == (True, 1)
            with listed(server) as notes:  # it ends, so that the page asks again
                assert [name for name, _ in notes][-1] == "ready"
        finally:
            os.kill(stopped, signal.SIGCONT)
        assert soon(lambda: kept(server)[1] == {"turns": count})


def test_the_list_ends_when_a_worker_dies(tmp_path: Path) -> None:
    with several_workers(tmp_path, "--watch", "50") as server:
        server.asked_all()
        given = {row["number"] for row in kept(server)[0]}
        first, second = server.pids
        with listed(server) as notes:
            assert any(name == "ready" for name, _ in notes)
            os.kill(first, signal.SIGKILL)
            with suppress(httpx.RemoteProtocolError):  # that worker may be the one that was asked
                assert [name for name, _ in notes if name != "row"] == []
        assert soon(lambda: len(server.pids) == 2 and first not in server.pids)
        assert second in server.pids
        assert soon(lambda: "missing" not in kept(server)[1])
        before = {line["request_id"] for line in server.turns}
        server.asked_all()
        new = {row["number"] for row in kept(server)[0] if row["id"] not in before}
        assert new
        assert not new & given  # a link to a turn of the dead worker leads to no other turn
