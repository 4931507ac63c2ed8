"""The Codex CLI. It is set up by `-c` flags, which override its configuration for one run, or by a profile.

Of the ways to tell Codex which models there are, only a catalogue in a file makes the menu of most versions show these
and no others: an `auth` command makes it fetch the catalogue, but its menu then lists OpenAI's models too, and the
address in `model_catalog_url` is known since 0.169, and asked only with a key. Versions that do not know catalogues yet
ignore the flag.
"""

import json
import os
import shlex
from pathlib import Path
from typing import Final

from .agent import PROVIDER, TITLE, Agent, Setup, Target

_CATALOGUE: Final = "models.json"
_SEARCH: Final = {"features.standalone_web_search": "true", "suppress_unstable_features_warning": "true"}
"""Its own search of the web (`web.run`), which is a feature under development: without the second line, Codex would
warn its user of a setting that is not the user's own."""


def _setup(target: Target, folder: Path) -> Setup:
    settings = {
        **_settings(target, folder / _CATALOGUE),
        f"model_providers.{PROVIDER}": f"{{{', '.join(_provider(target))}}}",
    }
    flags = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Setup(flags, files={_CATALOGUE: json.dumps({"models": list(target.catalogue)})})


def _profile(target: Target) -> str:
    folder = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    catalogue = folder / f"{PROVIDER}.models.json"
    key = f' -H "Authorization: Bearer ${target.key_variable}"' if target.key_variable else ""
    return "\n".join(
        [
            f"# Save this as {folder / PROVIDER}.config.toml, and start Codex with: codex --profile {PROVIDER}",
            "# While AM Proxy runs, save the list of its models, and again when they change:",
            f"# curl -s{key} '{target.base_url}/models?client_version=0' > {shlex.quote(str(catalogue))}",
            *(f"{name} = {value}" for name, value in _settings(target, catalogue).items()),
            "",
            f"[model_providers.{PROVIDER}]",
            *_provider(target),
        ]
    )


def _settings(target: Target, catalogue: Path) -> dict[str, str]:
    return {
        "model": _toml(target.model),
        "model_provider": _toml(PROVIDER),
        "model_catalog_json": _toml(str(catalogue)),
        **(_SEARCH if target.searches else {}),
    }


def _provider(target: Target) -> list[str]:
    """The table of the server among Codex's providers of models, a setting each."""
    values = {"name": TITLE, "base_url": target.base_url, "wire_api": "responses"}
    if target.key_variable:
        values["env_key"] = target.key_variable
    lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
    return [*lines, "supports_standalone_web_search = true"] if target.searches else lines


def _toml(text: str) -> str:
    """The text as TOML writes it, which is as JSON does."""
    return json.dumps(text, ensure_ascii=False)


CODEX: Final = Agent(
    title="Codex",
    program="codex",
    install="npm install --global @openai/codex",
    oldest=(0, 80),
    setup=_setup,
    profile=_profile,
    menu_since=(0, 110),
    searches_since=(0, 169),
)
