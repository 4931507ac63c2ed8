"""Members of tools that chat servers do not have, and skills of a shell."""

from typing import Any, Final

import pytest

from app.bridges.program_calls import FOR_PROGRAMS, WITHOUT_EFFECT
from app.protocol.problems import ProblemError
from tests.support.chat_requests import ask

F: Final = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
CUSTOM: Final = {"type": "custom", "name": "c"}
SKILL: Final = {"name": "pdf", "description": "Reads PDF files.", "path": "/skills/pdf"}


def lost(name: str) -> str:
    return f"'{name}' on tools has no effect: {WITHOUT_EFFECT[name]}"


@pytest.mark.parametrize(
    ("tools", "warnings"),
    [
        ([{**F, "async": True}], [lost("async")]),
        ([{**F, "async": False, "output_schema": None}], []),
        ([{**CUSTOM, "async": True}, {**F, "async": True}], [lost("async")]),
        ([{**F, "output_schema": {"type": "object"}}], [lost("output_schema")]),
        ([{"type": "namespace", "name": "n", "tools": [{**F, "async": True}]}], [lost("async")]),
        ([{**F, "allowed_callers": ["direct", "programmatic"]}], []),
        ([{**F, "allowed_callers": ["direct"]}], []),
        ([{**F, "allowed_callers": None}, CUSTOM], []),
        ([{**F, "defer_loading": True, "async": True}], [lost("async")]),
    ],
)
def test_what_has_no_effect_is_said_once(tools: list[Any], warnings: list[str]) -> None:
    asked = ask(tools=tools)
    assert asked.warnings == warnings
    assert len(asked.body["tools"]) == len(tools)


@pytest.mark.parametrize("tool", [F, CUSTOM, {"type": "shell"}, {"type": "apply_patch"}])
def test_a_tool_that_only_programs_may_call_is_not_offered(tool: dict[str, Any]) -> None:
    asked = ask(tools=[{"type": "local_shell"}, {**tool, "allowed_callers": ["programmatic"]}])
    assert [each["function"]["name"] for each in asked.body["tools"]] == ["local_shell"]
    assert asked.warnings == [f"tools[1] was left out: {FOR_PROGRAMS}"]


def shell(**environment: Any) -> list[dict[str, Any]]:
    return [{"type": "shell", "environment": {"type": "local", **environment}}]


def test_the_model_is_told_of_the_skills_of_a_local_shell() -> None:
    plain = ask(tools=[{"type": "shell"}]).body["tools"][0]["function"]["description"]
    asked = ask(tools=shell(skills=[SKILL, {**SKILL, "name": "xlsx"}]))
    told = asked.body["tools"][0]["function"]["description"]
    assert told.startswith(plain)
    assert told.splitlines()[-2:] == ["- pdf: Reads PDF files. (/skills/pdf)", "- xlsx: Reads PDF files. (/skills/pdf)"]
    assert asked.warnings == []
    assert ask(tools=shell(skills=[])).body["tools"][0]["function"]["description"] == plain
    assert ask(tools=shell(skills=None)).body["tools"][0]["function"]["description"] == plain


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        ({"type": "local", "skills": [{"name": "pdf", "path": "/p"}]}, "tools[0].environment.skills[0].description"),
        ({"type": "local", "skills": "all"}, "tools[0].environment.skills"),
        ({"type": 1}, "tools[0].environment.type"),
        ("local", "tools[0].environment"),
    ],
)
def test_a_faulty_environment_is_named_by_its_path(environment: Any, path: str) -> None:
    with pytest.raises(ProblemError) as raised:
        ask(tools=[{"type": "shell", "environment": environment}])
    assert raised.value.problem.param == path


def test_a_shell_in_a_container_is_left_out_with_its_skills() -> None:
    skills = [{"type": "skill_reference", "skill_id": "s"}]
    asked = ask(tools=[{"type": "shell", "environment": {"type": "container_auto", "skills": skills}}])
    assert asked.warnings == ["tools[0] was left out: its type 'shell' cannot be offered to this model."]
