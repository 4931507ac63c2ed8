"""The Codex CLI. It is set up by `-c` flags, which override its configuration for one run.

Of the ways to tell Codex which models there are, only a catalogue in a file makes its menu show these and no others:
an `auth` command makes it fetch the catalogue, but its menu then lists OpenAI's models too, and 0.169 does not ask the
address in `model_catalog_url`. Versions that do not know catalogues yet ignore the flag.
"""

import json
from pathlib import Path
from typing import Final

from .agent import PROVIDER, TITLE, Agent, Setup, Target

_CATALOGUE: Final = "models.json"


def _setup(target: Target, folder: Path) -> Setup:
    settings = {
        "model": _toml(target.model),
        "model_provider": _toml(PROVIDER),
        f"model_providers.{PROVIDER}": f"{{{', '.join(provider_lines(target))}}}",
        "model_catalog_json": _toml(str(folder / _CATALOGUE)),
    }
    flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Setup(flags, files={_CATALOGUE: json.dumps({"models": list(target.catalogue)})})


def provider_lines(target: Target) -> list[str]:
    """The table of the server among Codex's providers of models, a setting each."""
    values = {"name": TITLE, "base_url": target.base_url, "wire_api": "responses"}
    if target.key_variable:
        values["env_key"] = target.key_variable
    return [f"{name} = {_toml(value)}" for name, value in values.items()]


def _toml(text: str) -> str:
    """The text as TOML writes it, which is as JSON does."""
    return json.dumps(text, ensure_ascii=False)


CODEX: Final = Agent(
    title="Codex",
    program="codex",
    install="npm install --global @openai/codex",
    oldest=(0, 80),
    setup=_setup,
)
