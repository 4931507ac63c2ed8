"""Runs the command that the arguments name. Each command is in the module of its name."""

import os
import sys
from collections.abc import Collection, Sequence
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
        case "keys":
            from .keys import create  # noqa: PLC0415 — each command loads only what it needs

            return create(flags["name"], flags["models"])
        case "launch":
            return _launch(flags)
        case command:
            return _with_settings(command, flags)


def _launch(flags: dict[str, Any]) -> int:
    """Run a coding agent. Its server listens on this machine only, whatever the configuration says."""
    from .launch import Launch  # noqa: PLC0415 — as above

    launch = Launch(flags)
    try:
        settings = load(flags if flags["print"] else {**flags, "host": "127.0.0.1"})
    except ConfigMistakesError as error:
        _print_mistakes(error)
        return 2
    return launch.run(settings)


def _with_settings(command: str, flags: dict[str, Any]) -> int:
    """Run a command that reads the configuration."""
    complete, names = flags.pop("all", False), flags.pop("names", [])
    try:
        settings = load(flags, known_providers=_providers_of_litellm if command == "check" else None)
    except ConfigMistakesError as error:
        _print_mistakes(error)
        return 2
    for note in settings.notes:
        print(f"note: {note}", file=sys.stderr)
    if command == "check":
        from .check import check  # noqa: PLC0415 — as above

        return check(settings, complete=complete)
    if command == "doctor":
        from .doctor import doctor  # noqa: PLC0415 — as above

        if settings.file:
            print(f"configuration: {settings.file}")
        given = flags["upstream"] or flags["provider"]
        return doctor(settings, names or ([GIVEN] if given else []))
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
