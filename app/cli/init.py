"""`am-proxy init`: looks for servers on this machine, asks a few questions and writes a first configuration.

It never replaces a file without asking, and writes nothing before the last question is answered.
"""

import asyncio
import os
import secrets
import shlex
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from ..settings import ConfigMistakesError, load
from ..settings.files import FILE
from ..upstreams.local_servers import find_local_servers
from .config_report import print_mistakes
from .doctor import doctor
from .new_configuration import ChosenUpstream, configuration
from .questions import Ask, WrongAnswerError, yes
from .style import colour_wanted, painted
from .upstream_choice import (
    DEMO,
    address_of,
    from_address,
    from_provider,
    from_survey,
    is_of_messages,
    nearest,
    needs_address,
    provider_named,
    usual_key,
)
from .upstream_questions import UpstreamQuestions

_INTERRUPTED: Final = 130


class Given(NamedTuple):
    """What the flags say already."""

    upstream: str = ""
    provider: str = ""
    upstream_key: str = ""
    yes: bool = False
    """Ask nothing: the defaults are the answers."""


_NOTHING: Final = Given()


def init(path: Path, given: Given = _NOTHING, *, ask: Ask = input, environ: Mapping[str, str] | None = None) -> int:
    """Ask, and write `path`, readable only by its owner. Returns 1 if nothing was written, 2 for a wrong flag."""
    environ = os.environ if environ is None else environ
    try:
        if path.exists() and not _may_replace(path, given, ask):
            return 1
        chosen = _given_upstream(given, environ) or _found_upstream(given, ask, environ)
        others = not given.yes and yes(ask, "Should other machines be able to connect?")
    except WrongAnswerError as error:
        print(f"am-proxy: {error}", file=sys.stderr)
        return 2
    except (EOFError, KeyboardInterrupt) as error:
        print("\nam-proxy: nothing was written", file=sys.stderr)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    key = f"am-{secrets.token_urlsafe(32)}" if others else ""
    try:
        _write(path, configuration(chosen, digest=sha256(key.encode()).hexdigest() if key else ""))
    except OSError as error:
        print(f"am-proxy: cannot write {path}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"\n{painted(f'{path} is written.', 'bold', colour=colour_wanted(sys.stdout))}")
    if key:
        print(f"Client key (shown once, not stored):\n  {key}")
    _show_next(path, chosen, environ)
    return 0


def _may_replace(path: Path, given: Given, ask: Ask) -> bool:
    if not given.yes and path.is_file():
        if yes(ask, f"{path} exists already. Replace it?"):
            return True
        print("am-proxy: nothing was written", file=sys.stderr)
        return False
    print(f"am-proxy: {path} exists already; move it away, or name another file with --config", file=sys.stderr)
    return False


def _given_upstream(given: Given, environ: Mapping[str, str]) -> ChosenUpstream | None:
    """The upstream of the flags; None if they name none."""
    key = given.upstream_key
    if key and not key.startswith(("env:", "file:")):
        raise WrongAnswerError("--upstream-key must be env:NAME or file:PATH: the file should hold no secret")
    if given.provider:
        if given.upstream:
            raise WrongAnswerError("give either --upstream or --provider")
        return _given_provider(given.provider, key, environ)
    if not given.upstream:
        if key:
            raise WrongAnswerError("--upstream-key means nothing without --upstream or --provider")
        return None
    try:
        by_messages = is_of_messages(given.upstream)
        chosen, found = from_address(address_of(given.upstream), key, environ, by_messages=by_messages)
    except WrongAnswerError as error:
        raise WrongAnswerError(f"--upstream {given.upstream}: {error}") from None
    if found.problem:
        print(f"am-proxy: {found.base_url}: {found.problem}", file=sys.stderr)
    return chosen


def _given_provider(name: str, key: str, environ: Mapping[str, str]) -> ChosenUpstream:
    provider = provider_named(name)
    if provider is None:
        raise WrongAnswerError(f'--provider: there is no provider "{name[:40]}"{nearest(name)}')
    if needs_address(provider):
        raise WrongAnswerError(f"--provider: the address of {name} is not known: use --upstream")
    return from_provider(provider, key or usual_key(provider), environ)


def _found_upstream(given: Given, ask: Ask, environ: Mapping[str, str]) -> ChosenUpstream:
    """The upstream that is asked for, or with --yes the first one on this machine."""
    here = asyncio.run(find_local_servers(environ))
    if given.yes:
        return from_survey(here[0].found) if here else DEMO
    return UpstreamQuestions(ask, environ, here).upstream()


def _write(path: Path, text: str) -> None:
    """Write the file as a whole, or not at all."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _show_next(path: Path, chosen: ChosenUpstream, environ: Mapping[str, str]) -> None:
    """Test the upstream, and say what comes next."""
    flag = "" if path == Path(FILE) else f" --config {shlex.quote(str(path))}"
    variable = chosen.api_key.removeprefix("env:") if chosen.api_key.startswith("env:") else ""
    print()
    if variable and not environ.get(variable):
        print(f"Set {variable} to the key, then test the upstream:\n  am-proxy doctor{flag}\n")
    else:
        try:
            doctor(load({"config": str(path)}, environ))
        except ConfigMistakesError as error:
            print_mistakes(error)
        print()
    print(f"Start the server:\n  am-proxy serve{flag}")
    if chosen.via != "demo":
        print(f"Or run a coding agent on it:\n  am-proxy launch codex{flag}")
