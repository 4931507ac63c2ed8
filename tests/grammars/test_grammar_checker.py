"""Texts are held against Lark grammars in processes of their own: what is found, and what hostile grammars may cost."""

import asyncio
import json
import random
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.grammars import grammar_checker
from app.grammars.grammar_checker import LONGEST_GRAMMAR, LONGEST_TEXT, TOO_SLOW, GrammarChecker, can_check

PROGRAM = Path(grammar_checker.__file__).with_name("grammar_process.py")
CODEX = """\
start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?
hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?
filename: /(.+)/
add_line: "+" /(.*)/ LF -> line
change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF
%import common.LF
"""
"""The grammar that Codex sends for `apply_patch`."""
PATCH = "*** Begin Patch\n*** Update File: é😀.py\n@@ def f():\n a\n-b\n+c\n*** End Patch\n"
SUM = """\
start: number (" " operator " " number)*
operator: "+" | "-"
number: /[0-9]+/
"""
CALLS = 'start: value\nvalue: /[a-z]+/ "(" (value ("," value)*)? ")"\n%ignore " "\n'


class Checker(GrammarChecker):
    """Tells faults in words alone."""

    async def words(self, grammar: str, text: str, owner: str, seconds: float) -> str:
        fault = await self.fault(grammar, text, owner, seconds)
        assert fault is None or fault.is_mismatch == fault.words.startswith("does not match")
        return "" if fault is None else fault.words


@asynccontextmanager
async def checking() -> AsyncIterator[Checker]:
    checker = Checker()
    try:
        yield checker
    finally:
        await checker.close()


def mismatch(characters: str) -> str:
    return f"does not match the grammar of the tool after {characters} characters"


FOUND = [
    (CODEX, PATCH, ""),
    (CODEX, PATCH.rstrip(), ""),
    (CODEX, PATCH + "\n", mismatch("74")),
    (CODEX, PATCH.replace("\n a", "\na"), mismatch("51")),
    (CODEX, f"```\n{PATCH}```", mismatch("0")),
    (CODEX, "", mismatch("0")),
    (CODEX, PATCH[:40], mismatch("40")),
    (CODEX, PATCH.replace("+c\n", "+a longer line of text\n" * 10_000), ""),
    (SUM, "1 + 22 - 3", ""),
    (SUM, "1 + + 2", mismatch("4")),
    (SUM, "1 + 2\n", mismatch("5")),
    (CALLS, "f(g(), h(i()))", ""),
    (CALLS, "f(g(), h(i())", mismatch("13")),
    ("start: /[^a]*/", "\ud800", mismatch("0")),
    ('start: "a" | "b"', "a", ""),
    ("start: nothing", "a", 'was not checked: its grammar cannot be read (at 1(8): unknown name: "nothing")'),
    (
        "start: /(?=a)a/",
        "a",
        'was not checked: its grammar cannot be read (at 1(8): invalid regex "(?=a)a"',
    ),
    ("%llguidance {}", "a", "was not checked: its grammar cannot be read (no start rule found)"),
    ("", "a", "was not checked: its grammar cannot be read (Empty grammar)"),
    ("\x00", "a", "was not checked: its grammar cannot be read (1(1): lexer error)"),
    ("a" * (LONGEST_GRAMMAR + 1), "a", "was not checked: its grammar has more than 65,536 characters"),
    ('start: "a"', "a" * (LONGEST_TEXT + 1), "was not checked: it has more than 524,288 characters"),
]


async def test_a_text_is_held_against_the_whole_grammar() -> None:
    async with checking() as checker:
        found = [await checker.words(grammar, text, "owner", 10) for grammar, text, _ in FOUND]
        one_process = len(checker._idle)
    expected = [fault for _, _, fault in FOUND]
    assert [each[: len(fault)] if fault else each for each, fault in zip(found, expected, strict=True)] == expected
    assert one_process == 1


def bits(length: int) -> str:
    return "".join(random.Random(length).choices("01", k=length))  # noqa: S311 — no secret


ENDED = "was not checked: the check of its grammar failed"
COMPLEX = "was not checked: its grammar is too complex for it"
HOSTILE = {
    "ambiguous": ('start: s\ns: s s | "a" |', "a" * 30_000, {TOO_SLOW.words}),
    "recursive to the right": ('start: s\ns: "a" s | "a"', "a" * 100_000, {TOO_SLOW.words}),
    "rules without end": (
        "start: x0\n" + "\n".join(f"x{i}: x{i + 1}" for i in range(5_000)) + '\nx5000: "a"',
        "a",
        {ENDED},
    ),
    "terminals without end": ("start: X0\n" + "\n".join(f'X{i}: "b" X{i + 1}' for i in range(4_000)), "a", None),
    "many states": (r"start: /([01]*1[01]{1000}|[01]*0[01]{999}1)*/", bits(500_000), {COMPLEX}),
    "large classes": (
        "start: x*\nx: " + " | ".join(rf"/(?i)[\PL\w\pL]{{{i}}}a/" for i in range(1, 2_000)),
        "a" * 1_000,
        {TOO_SLOW.words},
    ),
    "nested repetitions": ("start: /(a+)+$/", "a" * 500_000 + "!", {mismatch("500,000")}),
    "a tower": ("start: x0\n" + "\n".join(f"x{i}: x{i + 1} x{i + 1}" for i in range(99)) + '\nx99: "a"?', "a", None),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_grammar_is_given_up_in_time(name: str) -> None:
    """The event loop has next to nothing to do meanwhile, and the next check is made as usual."""
    grammar, text, expected = HOSTILE[name]
    async with checking() as checker:
        assert await checker.words('start: "a"', "a", "hostile", 10) == ""
        before, busy = time.monotonic(), time.thread_time()
        found = await checker.words(grammar, text, "hostile", 0.5)
        took, busy = time.monotonic() - before, time.thread_time() - busy
        assert await checker.words(CODEX, PATCH, "hostile", 10) == ""
    assert expected is None or found in expected | {TOO_SLOW.words}
    assert took < 3
    assert busy < 0.1


async def test_a_hostile_caller_leaves_a_process_to_others() -> None:
    async with checking() as checker:
        grammar, text, _ = HOSTILE["ambiguous"]
        hostile = [asyncio.create_task(checker.words(grammar, text, "hostile", 2 + index)) for index in range(4)]
        await asyncio.sleep(0.05)
        assert await checker.words('start: "a"', "a", "another", 10) == ""
        assert sum(task.done() for task in hostile) < 2
        for task in hostile:
            task.cancel()
        await asyncio.wait(hostile)


async def test_a_caller_that_leaves_frees_its_process() -> None:
    async with checking() as checker:
        slow = asyncio.create_task(checker.words(*HOSTILE["ambiguous"][:2], "hostile", 60))
        await asyncio.sleep(0.3)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert await checker.words('start: "a"', "b", "hostile", 10) == mismatch("0")


async def test_a_program_that_does_not_start_leaves_the_text_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere")
    async with checking() as checker:
        assert await checker.words('start: "a"', "a", "owner", 10) == ENDED
    monkeypatch.setattr("sys.executable", "/bin/true")
    async with checking() as checker:
        assert await checker.words('start: "a"', "a", "owner", 10) == ENDED


async def test_the_process_of_a_killed_server_ends_by_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also in the middle of a check: nobody reads its answer."""
    program = tmp_path / "grammar_process.py"
    program.write_text(PROGRAM.read_text("utf-8").replace("_SECONDS: Final = 30", "_SECONDS: Final = 1"), "utf-8")
    monkeypatch.setattr("app.grammars.grammar_checker._PROGRAM", program)
    async with checking() as checker:
        assert await checker.words('start: "a"', "a", "owner", 10) == ""
        [process] = checker._idle
        assert process.stdin is not None
        process.stdin.write(json.dumps({"grammar": HOSTILE["ambiguous"][0], "text": "a" * 30_000}).encode() + b"\n")
        process.stdin.close()
        assert await asyncio.wait_for(process.wait(), 20) == -signal.SIGALRM


async def test_the_process_gets_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with checking() as checker:
        await checker.words('start: "a"', "a", "owner", 10)
        [process] = checker._idle
        with open(f"/proc/{process.pid}/environ", encoding="utf-8") as file:  # noqa: ASYNC230, PTH123 — no real file
            assert "sk-secret" not in file.read()


def test_the_library_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_check()
    monkeypatch.setattr("app.grammars.grammar_checker.find_spec", lambda _: None)
    assert not can_check()
