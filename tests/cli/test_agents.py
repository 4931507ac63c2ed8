"""What each coding agent is started with."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest

from app.cli.agents import AGENTS
from app.cli.agents.agent import Target
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
    for each in (settings, tomllib.loads(AGENTS["codex"].profile(target))):
        assert each["features"] == {"standalone_web_search": True}
        assert each["model_providers"]["am"]["supports_standalone_web_search"] is True
        assert "web_search" not in each  # the user says whether pages are opened


@pytest.mark.parametrize(("variable", "home"), [("", "~/.codex"), ("AM_KEY", "/srv/codex")])
def test_a_profile_of_codex_names_its_files(monkeypatch: pytest.MonkeyPatch, variable: str, home: str) -> None:
    monkeypatch.setenv("CODEX_HOME", home if variable else "")
    profile = AGENTS["codex"].profile(Target(URL, ODD, (), variable))
    folder = Path(home).expanduser()
    settings = tomllib.loads(profile)
    assert (settings["model"], settings["model_catalog_json"]) == (ODD, str(folder / "am.models.json"))
    assert settings["model_providers"]["am"]["base_url"] == URL
    assert f"# Save this as {folder}/am.config.toml, " in profile
    assert ("$AM_KEY" in profile) is bool(variable)
