"""The text of a first configuration: what is written about each model."""

import tomllib

import pytest

from app.cli.new_configuration import MOST_TABLES, ChosenUpstream, configuration
from app.upstreams.model_list import ListedModel


@pytest.mark.parametrize(
    ("model", "written"),
    [
        (ListedModel("m", 9000), {"context_window": 9000}),
        (
            ListedModel("gpt-oss:20b", 9000, takes_images=False, calls_tools=True, thinks=True),
            {"context_window": 9000, "reasoning_efforts": ["low", "medium", "high"], "can": {"vision": False}},
        ),
        (
            ListedModel("qwen3", takes_images=True, thinks=True),
            {"reasoning_efforts": ["none", "low", "medium", "high"], "can": {"vision": True}},
        ),
        (ListedModel("tiny", calls_tools=False, thinks=False), {"can": {"reasoning": False, "tools": False}}),
        (ListedModel('a.b/c d\\"ü', 9000), {"context_window": 9000}),
    ],
    ids=lambda value: value.name if isinstance(value, ListedModel) else "",
)
def test_what_is_known_of_a_model_is_written(model: ListedModel, written: dict[str, object]) -> None:
    text = configuration(ChosenUpstream("it", "chat", base_url="http://x/v1", models=(model, ListedModel("other"))))
    assert tomllib.loads(text)["models"] == {model.name: {"upstream": "it", **written}, "*": {"upstream": "it"}}


def test_a_long_list_gets_a_bounded_number_of_tables() -> None:
    models = tuple(ListedModel(f"m{number}", 9000) for number in range(1000))
    text = configuration(ChosenUpstream("it", "chat", base_url="http://x/v1", models=models))
    assert len(tomllib.loads(text)["models"]) == MOST_TABLES + 1
    assert max(map(len, text.splitlines())) < 100
