"""The text of a first configuration: what is written about each model."""

import tomllib
from pathlib import Path

import pytest

from app.cli import upstream_choice
from app.cli.new_configuration import MOST_TABLES, ChosenUpstream, configuration
from app.cli.upstream_choice import from_provider, needs_address, usual_key
from app.providers.lookup import PROVIDERS
from app.providers.provider import Provider
from app.settings import load
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


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
def test_every_provider_gets_a_configuration_that_can_be_read(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listed(*_: object, **__: object) -> tuple[ListedModel, ...]:
        return ()

    monkeypatch.setattr(upstream_choice, "list_models", listed)
    chosen = from_provider(provider, usual_key(provider), {})
    if needs_address(provider):
        chosen = chosen._replace(base_url="http://127.0.0.1:9/v1")
    (tmp_path / "am-proxy.toml").write_text(configuration(chosen))
    key = usual_key(provider).removeprefix("env:")
    settings = load({}, {key: "a-key"} if key else {}, tmp_path)
    assert settings.upstreams[provider.name].via == provider.usual_via
    assert settings.models["*"].upstream == provider.name
