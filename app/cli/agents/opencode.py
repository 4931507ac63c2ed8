"""opencode. It is set up by a variable of the environment, which it reads after all of its configuration files."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .agent import MARK, PROVIDER, TITLE, Agent, Profile, Setup, Target

_CONFIGURATION: Final = "OPENCODE_CONFIG_CONTENT"
_OWN_FILE: Final = "am-proxy.jsonc"
"""opencode reads it only if a variable names it."""
_LONGEST_ANSWER: Final = 32_000
"""Tokens. opencode asks for no longer answers anyway."""


def _setup(target: Target, _folder: Path) -> Setup:
    given = _object(os.environ.get(_CONFIGURATION, ""))
    return Setup(environ={_CONFIGURATION: json.dumps({**given, **configuration(target)})})


def _profile(target: Target, folder: Path) -> Profile:
    text = f"// {MARK} opencode --write\n{json.dumps(configuration(target), indent=2)}\n"
    return Profile(f"OPENCODE_CONFIG={shlex.quote(str(folder / _OWN_FILE))} opencode", {_OWN_FILE: text})


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "opencode"


def configuration(target: Target) -> dict[str, Any]:
    """The settings that make this server opencode's only provider of models."""
    key = f"{{env:{target.key_variable}}}" if target.key_variable else "none"
    models = {str(entry["slug"]): _model(entry) for entry in target.catalogue}
    return {
        "model": f"{PROVIDER}/{target.model}",
        "small_model": f"{PROVIDER}/{target.model}",  # for titles
        "enabled_providers": [PROVIDER],
        "provider": {
            PROVIDER: {
                "npm": "@ai-sdk/openai",
                "name": TITLE,
                # AM Proxy limits the time itself; a local model may need more than the usual five minutes
                "options": {"baseURL": target.base_url, "apiKey": key, "timeout": False},
                "models": {target.model: {"name": target.model}, **models},
            }
        },
    }


def _model(entry: Mapping[str, Any]) -> dict[str, Any]:
    images = "image" in entry.get("input_modalities", ["image"])
    model = {
        "name": entry["slug"],
        "tool_call": True,
        "reasoning": True,  # otherwise thoughts are not shown
        "attachment": images,
        "modalities": {"input": ["text", "image"] if images else ["text"], "output": ["text"]},
    }
    if window := entry.get("context_window"):
        model["limit"] = {"context": window, "output": min(_LONGEST_ANSWER, window // 4)}
    return model


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


OPENCODE: Final = Agent(
    title="opencode",
    program="opencode",
    install="npm install --global opencode-ai",
    oldest=(1, 0),
    setup=_setup,
    home=_home,
    profile=_profile,
    profile_files=(_OWN_FILE,),
)
