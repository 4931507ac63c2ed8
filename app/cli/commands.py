"""Runs the command that the arguments name. Each command is in the module of its name."""

import os
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from ..lean_uvicorn import put_off
from ..settings import GIVEN, ConfigMistakesError, load
from .parser import parse


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code: 0 success, 1 failure, 2 wrong configuration or flags."""
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the program that read the output has ended, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at its end
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    flags = vars(parse(arguments))
    match flags.pop("command"):
        case "init":
            from .init import Given, init  # noqa: PLC0415 — each command loads only what it needs

            return init(Path(flags.pop("config")), Given(**flags))
        case "completion":
            from .completion import completion  # noqa: PLC0415 — as above

            return completion(flags["shell"])
        case "keys":
            from .keys import create  # noqa: PLC0415 — as above

            return create(flags["name"], flags["models"])
        case "replay":
            from .replay import replay  # noqa: PLC0415 — as above

            return replay(Path(flags["folder"]), as_json=flags["json"], timing=flags["timing"])
        case "launch":
            return _launch(flags)
        case command:
            return _with_settings(command, flags)


def _launch(flags: dict[str, Any]) -> int:
    """Run a coding agent. Its server listens on this machine only, whatever the configuration says."""
    from .launch import Launch  # noqa: PLC0415 — as above

    launch = Launch(flags)
    if flags["restore"]:
        return launch.restore()
    try:
        settings = load(flags if flags["write"] else {**flags, "host": "127.0.0.1"})
    except ConfigMistakesError as error:
        _print_mistakes(error)
        return 2
    return launch.run(settings)


def _with_settings(command: str, flags: dict[str, Any]) -> int:
    """Run a command that reads the configuration."""
    probed, complete, names = flags.pop("probe", False), flags.pop("all", False), flags.pop("names", [])
    try:
        settings = load(flags, known_providers=_providers_of_litellm if command == "check" else None)
    except ConfigMistakesError as error:
        _print_mistakes(error)
        return 2
    for note in settings.notes:
        print(f"note: {note}", file=sys.stderr)
    upstream = GIVEN if flags["upstream"] or flags["provider"] else None
    if command == "check":
        from .check import check  # noqa: PLC0415 — as above

        return check(settings, probed=probed, only=upstream, complete=complete)
    if command == "doctor":
        from .doctor import doctor  # noqa: PLC0415 — as above

        if settings.file:
            print(f"configuration: {settings.file}")
        return doctor(settings, names or ([upstream] if upstream else []))
    put_off()
    from .serve import serve  # noqa: PLC0415 — as above

    return serve(settings, lambda: load(flags))


def _providers_of_litellm() -> Collection[str]:
    """Loads litellm, which takes a second or two."""
    from ..upstreams.litellm_chat import providers  # noqa: PLC0415 — as above

    return providers()


def _print_mistakes(error: ConfigMistakesError) -> None:
    """Print what is wrong with the configuration."""
    from .config_report import print_mistakes  # noqa: PLC0415 — as above

    print_mistakes(error)
