"""`am-proxy check`: prints the resulting settings, without secrets, and where each value comes from.

With `--probe` it tests the upstreams instead.
"""

import json
import sys
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from ..settings import Mistake, Model, Secret, Settings, Upstream, did_you_mean
from ..upstreams.litellm_chat import providers

_WIDTH = 44
"""The column of the comments."""


def check(settings: Settings, *, probed: bool = False, only: str | None = None) -> int:
    """Print the settings, or the results of a probe of the upstreams (only of `only`, if given).

    Loading the configuration has found all mistakes but one: only litellm knows its providers.
    """
    if mistakes := list(_unknown_providers(settings)):
        print(*mistakes, sep="\n", file=sys.stderr)
        return 2
    print(f"# {settings.file or 'no file'}: no errors")
    if probed:
        from .check_probe import probe  # noqa: PLC0415 — loads the server and its HTTP library, which nothing else here needs

        return probe(settings, only)
    print("\n".join(_lines(settings)))
    return 0


def _unknown_providers(settings: Settings) -> Iterator[Mistake]:
    named = {name: each for name, each in settings.upstreams.items() if each.via == "litellm" and each.provider}
    if not named:
        return  # and litellm is not loaded, which takes a second or two
    known = providers()
    for name, upstream in named.items():
        if upstream.provider is not None and upstream.provider not in known:
            path = f"upstreams.{_key(name)}.provider"
            message = f"litellm knows no provider {upstream.provider!r}{did_you_mean(upstream.provider, known)}"
            yield Mistake(settings.origins.get(path, ""), path, message)


def _lines(settings: Settings) -> Iterator[str]:
    """The settings in the form of a configuration."""
    origins = settings.origins
    yield from _table("[server]", "server", settings.server.model_dump(), origins)
    # `iter`, since it has a field named `keys`, which dict() would call
    yield from _table("[seal]", "seal", dict(iter(settings.seal)), origins)
    for index, key in enumerate(settings.keys):
        path = f"keys[{index}]"
        origin = origins.get(f"{path}.value") or origins.get(f"{path}.sha256", "")
        shown = {"name": key.name, "sha256": key.digest.hex()[:8] + "…", "models": list(key.models)}
        yield from _table("[[keys]]", path, shown, {**origins, f"{path}.sha256": f"set, from {origin}"})
    if not settings.keys:
        yield "\n# no keys: everyone who can reach the address may use the server"
    for kind, rows in (("upstreams", settings.upstreams), ("models", settings.models)):
        for name, row in rows.items():
            path = f"{kind}.{_key(name)}"
            shown = {key: value for key, value in row if not isinstance(row, Upstream) or row.takes(key)}
            if isinstance(row, Model):  # it has one of the two
                del shown["upstream" if row.upstreams else "upstreams"]
            yield from _table(f"[{path}]", path, shown, origins)
    for name, upstream in settings.upstreams.items():
        if upstream.via != "demo" and upstream.auth == "key" and upstream.api_key is None:
            yield f"\n# upstreams.{_key(name)}: no api_key is set"


def _table(title: str, path: str, values: Mapping[str, object], origins: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield title
    yield from _pairs(values, path, origins)


def _pairs(values: Mapping[str, object], path: str, origins: Mapping[str, str]) -> Iterator[str]:
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, BaseModel):  # a nested table: its keys, dotted
            yield from _pairs({f"{name}.{key}": inner for key, inner in value}, path, origins)
            continue
        if isinstance(value, dict):
            yield from _pairs({f"{name}.{_key(key)}": inner for key, inner in value.items()}, path, origins)
            continue
        origin = origins.get(f"{path}.{name}", "default")
        match value:
            case Secret():
                line, origin = f'{name} = "***"', f"set, from {origin}"
            case (Secret(), *_):
                line = f"{name} = {json.dumps(['***'] * len(value))}"
                origin = "set, from " + ", ".join(
                    origins.get(f"{path}.{name}[{index}]", origin) for index in range(len(value))
                )
            case float() if value.is_integer():
                line = f"{name} = {int(value)}"
            case _:
                line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
        yield f"{line:<{_WIDTH}}# {origin}"


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
