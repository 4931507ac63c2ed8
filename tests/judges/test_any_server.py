"""`python -m tests.judges` against servers that break one rule each, and against sound ones."""

import json
from typing import Any

import pytest

from tests.judges import Rule, __main__, client_rules, silence
from tests.judges.judged_server import Answers, judged_server
from tests.judges.openai_streams import TEXT
from tests.judges.questions import OVER_WEBSOCKET, QUESTIONS
from tests.judges.seeded_faults import FAULTS, at_end, text
from tests.wire.program import serving

Json = dict[str, Any]


def judged(url: str, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, Json]:
    """The exit code, and the findings of each question."""
    code = __main__.main([url, "--json", *flags])
    return code, json.loads(capsys.readouterr().out)["questions"]


def rules(questions: Json) -> dict[str, Json]:
    """A finding about each broken rule."""
    return {finding["rule"]: finding for findings in questions.values() for finding in findings}


@pytest.mark.parametrize(("rule", "answers"), FAULTS, ids=[f"{n} {row[0]}" for n, row in enumerate(FAULTS)])
def test_a_broken_rule_is_found_and_named(
    rule: str, answers: Answers, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "LONGEST", 0.15 if answers.pause else 30)
    monkeypatch.setattr(silence, "LONGEST_WITHOUT_EVENT", 0.15 if answers.comment else 300)
    needs_websocket = answers.response_id is not None or not answers.continues
    with judged_server(answers) as url:
        code, questions = judged(url, capsys, *(["--websocket"] if needs_websocket else []))
    found = rules(questions)
    assert rule in found
    assert all(found[rule][key] for key in ("says", "breaks", "detail"))
    assert code == int(any(finding["is_fault"] for finding in found.values()))


def test_every_rule_has_a_name_of_its_own_and_a_server_that_breaks_it() -> None:
    names = [value.name for value in vars(client_rules).values() if isinstance(value, Rule)]
    assert sorted({rule for rule, _ in FAULTS}) == sorted(names)


@pytest.mark.parametrize("answers", [Answers(), Answers(ends_used_connections=True)])
def test_a_sound_server_is_accused_of_nothing(answers: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    """Its streams are of the kind that OpenAI's server sends."""
    with judged_server(answers) as url:
        code, questions = judged(url, capsys, "--websocket")
    assert (code, questions) == (0, {name: [] for name in (*QUESTIONS, *OVER_WEBSOCKET)})


def test_the_program_is_accused_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """But of its demo, which knows no limit."""
    with serving() as url:
        code, questions = judged(url, capsys, "--websocket")
    assert (code, {*rules(questions)} - {"limit"}) == (0, set())


def test_a_stream_that_was_not_requested_is_the_only_fault_of_a_server_that_always_streams(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It has answered: it offers images, and goes on after a client has left."""
    with judged_server(Answers(always_streams=True)) as url:
        code, questions = judged(url, capsys)
    assert (code, set(rules(questions))) == (1, {"whole-response"})


def test_responses_with_an_empty_id_cannot_be_continued_which_is_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """Opencodex sends it over a websocket. No client is known to break on it."""
    with judged_server(Answers(response_id="")) as url:
        code, questions = judged(url, capsys, "--websocket")
    assert (code, set(rules(questions))) == (0, {"not-offered"})


def test_without_a_websocket_its_questions_fail(capsys: pytest.CaptureFixture[str]) -> None:
    with judged_server(Answers(has_websocket=False)) as url:
        code, questions = judged(url, capsys, "--websocket")
    assert (code, {name for name in questions if questions[name]}) == (1, set(OVER_WEBSOCKET))


def test_a_server_that_ends_no_stream_is_judged_all_the_same_and_asked_no_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(__main__, "LONGEST_WAIT", 0.5)
    unknown = [*TEXT[:1], {"type": "response.magic", "sequence_number": 1}, *TEXT[1:]]
    with judged_server(Answers(text=unknown, never_ends=True)) as url:
        code, questions = judged(url, capsys)
    details = {name: [finding["detail"] for finding in findings] for name, findings in questions.items()}
    assert code == 1
    assert "response.magic is unknown" in details["streaming-response"]
    assert "it took more than 600 s" in details["streaming-response"]
    assert details["invalid-json"] == ["not asked: 3 questions took too long"]


def test_a_person_reads_the_rule_the_client_and_the_event(capsys: pytest.CaptureFixture[str]) -> None:
    with judged_server(text(at_end(usage={"input_tokens": 1}))) as url:
        assert __main__.main([url]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  ✗ streaming-response")
    assert lines[at + 1] == "    ✗ usage              no whole numbers: output_tokens, total_tokens"
    assert any(line.startswith("      breaks             Codex cannot read response.completed") for line in lines)
    assert any(line.startswith('      seen               {"type": "response.completed", "resp') for line in lines)
    assert max(map(len, lines)) <= 100
    assert lines[-1] == "16 questions. Broken rules: usage."


def test_a_key_is_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-secret-0123456789"
    with judged_server(Answers(error={"detail": f"Your key is {key}."})) as url:
        _, questions = judged(url, capsys, "--key", key)
    assert rules(questions)["error-body"]["quote"].endswith('{"detail": "Your key is …."}}')


@pytest.mark.parametrize("url", ["ftp://a", "http://[a", "http://a:b", "http://me:word@a", "http://a/v1?x=1"])
def test_a_wrong_address_is_a_2(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        __main__.main([url])
    assert caught.value.code == 2
    assert url in capsys.readouterr().err


def test_a_server_that_is_not_there_is_a_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["127.0.0.1:9"]) == 1
    assert capsys.readouterr().err.startswith("http://127.0.0.1:9/v1: the connection failed: ")
