"""`am-proxy launch AGENT --write` and `--restore`: files of its own in an agent's configuration, and their removal."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from .agents import Agent
from .agents.agent import MARK, Profile
from .launched_models import MissingError


def write(agent: Agent, profile: Profile, environ: Mapping[str, str]) -> list[Path]:
    """Write the files of a profile; their paths. Raises `MissingError` if one is there that is not ours."""
    folder = agent.home(environ)
    files = {folder / name: text for name, text in profile.files.items()}
    for path in files:
        if os.path.lexists(path) and not _is_ours(path):
            raise MissingError(f"{shown(path)} exists and was not written by am-proxy: move it away")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            new = path.with_name(f".{path.name}.{os.getpid()}")
            new.write_text(text, encoding="utf-8")
            new.replace(path)
    except OSError as error:
        raise MissingError(f"{shown(folder)} cannot be written: {error.strerror}") from error
    return list(files)


def restore(agent: Agent, environ: Mapping[str, str]) -> int:
    """Remove the files that `--write` wrote. Returns 1 if one of them cannot be removed."""
    paths = [agent.home(environ) / name for name in agent.profile_files]
    there = [path for path in paths if os.path.lexists(path)]
    failed = False
    for path in there:
        if not _is_ours(path):
            print(f"kept, because am-proxy did not write it: {shown(path)}")
            continue
        try:
            path.unlink()
            print(f"removed: {shown(path)}")
        except OSError as error:
            failed = True
            print(f"{shown(path)} cannot be removed: {error.strerror}")
    if not there:
        print(f"nothing to remove: there is no {shown(paths[0])}")
    return int(failed)


def shown(path: Path) -> str:
    """A path as people write it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _is_ours(path: Path) -> bool:
    """Whether it is a file that `write` made. A link is not, and reading a pipe would not end."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            return MARK.encode() in file.readline(1000)
    except OSError:
        return False
