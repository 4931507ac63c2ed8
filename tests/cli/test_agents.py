"""What each coding agent is started with."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from app.cli.agents import AGENTS
from app.cli.agents.agent import MARK, Target
from app.codex_catalog import ModelCard, codex_model
from app.options import ModelOptions

ODD: Final = 'org/"odd" \\ näme 😀'
CATALOGUE: Final = [
    codex_model("coder", ModelCard(ModelOptions(context_window=40_960), images=False), 0),
    codex_model(ODD, ModelCard(ModelOptions(context_window=1_000_000)), 1),
    codex_model("unknown", ModelCard(), 2),
]
URL: Final = "http://127.0.0.1:1234/v1"


def codex_settings(target: Target, folder: Path) -> dict[str, Any]:
    """What Codex reads from its flags."""
    setup = AGENTS["codex"].setup(target, folder)
    assert list(setup.flags[::2]) == ["-c"] * (len(setup.flags) // 2)
    assert setup.environ == {}
    catalogue = json.loads(setup.files["models.json"])
    assert catalogue == {"models": CATALOGUE}
    return tomllib.loads("\n".join(setup.flags[1::2]))


@pytest.mark.parametrize("model", ["coder", ODD])
@pytest.mark.parametrize(("variable", "key"), [("", {}), ("AM_KEY", {"env_key": "AM_KEY"})])
def test_codex_gets_flags_that_toml_reads(tmp_path: Path, model: str, variable: str, key: dict[str, str]) -> None:
    assert codex_settings(Target(URL, model, CATALOGUE, variable), tmp_path) == {
        "model": model,
        "model_provider": "am",
        "model_providers": {"am": {"name": "AM Proxy", "base_url": URL, "wire_api": "responses", **key}},
        "model_catalog_json": str(tmp_path / "models.json"),
    }


def test_codex_searches_through_a_server_that_searches(tmp_path: Path) -> None:
    target = Target(URL, "coder", CATALOGUE, searches=True)
    settings = codex_settings(target, tmp_path)
    [profile, _] = AGENTS["codex"].profile(target, tmp_path).files.values()
    for each in (settings, tomllib.loads(profile)):
        assert each["features"] == {"standalone_web_search": True}
        assert each["model_providers"]["am"]["supports_standalone_web_search"] is True
        assert "web_search" not in each  # the user says whether pages are opened


@pytest.mark.parametrize(("variable", "key"), [("", "none"), ("AM_KEY", "{env:AM_KEY}")])
def test_opencode_gets_one_provider_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, key: str
) -> None:
    monkeypatch.delenv("OPENCODE_CONFIG_CONTENT", raising=False)
    setup = AGENTS["opencode"].setup(Target(URL, ODD, CATALOGUE, variable), tmp_path)
    assert (setup.flags, setup.files, list(setup.environ)) == ((), {}, ["OPENCODE_CONFIG_CONTENT"])
    settings = json.loads(setup.environ["OPENCODE_CONFIG_CONTENT"])
    provider = settings["provider"].pop("am")
    assert settings == {
        "model": f"am/{ODD}",
        "small_model": f"am/{ODD}",
        "enabled_providers": ["am"],
        "provider": {},
    }
    assert provider["options"] == {"baseURL": URL, "apiKey": key, "timeout": False}
    limits = {name: model.get("limit") for name, model in provider["models"].items()}
    assert limits == {
        "coder": {"context": 40_960, "output": 10_240},
        ODD: {"context": 1_000_000, "output": 32_000},
        "unknown": None,
    }
    assert provider["models"]["coder"]["modalities"]["input"] == ["text"]
    assert provider["models"]["unknown"]["modalities"]["input"] == ["text", "image"]


@pytest.mark.parametrize(("given", "kept"), [('{"theme": "x", "model": "y"}', {"theme": "x"}), ("[", {}), ("3", {})])
def test_what_the_user_has_in_the_same_variable_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, kept: dict[str, str]
) -> None:
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", given)
    setup = AGENTS["opencode"].setup(Target(URL, "coder", CATALOGUE), tmp_path)
    settings = json.loads(setup.environ["OPENCODE_CONFIG_CONTENT"])
    assert (settings["model"], {name: settings.get(name) for name in kept}) == ("am/coder", kept)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=list(AGENTS))
def test_every_file_of_a_profile_is_marked_and_known_to_restore(agent: Any, tmp_path: Path) -> None:
    profile = agent.profile(Target(URL, ODD, CATALOGUE, "AM_KEY"), tmp_path)
    assert list(profile.files) == list(agent.profile_files)
    assert [MARK in text.partition("\n")[0] for text in profile.files.values()] == [True] * len(profile.files)
    assert "AM_KEY" in next(iter(profile.files.values()))


@pytest.mark.parametrize(
    ("agent", "environ", "home"),
    [
        ("codex", {}, "~/.codex"),
        ("codex", {"CODEX_HOME": "/srv/codex"}, "/srv/codex"),
        ("opencode", {}, "~/.config/opencode"),
        ("opencode", {"XDG_CONFIG_HOME": "/srv/config"}, "/srv/config/opencode"),
    ],
)
def test_the_folder_of_an_agent_may_be_named_by_the_environment(agent: str, environ: dict[str, str], home: str) -> None:
    assert AGENTS[agent].home(environ) == Path(home).expanduser()
