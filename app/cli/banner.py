"""The text that `am-proxy serve` prints when it is ready: address, models, keys, and examples."""

import json
import re
import textwrap
from collections.abc import Sequence

from ..settings import Settings, is_loopback
from ..version import VERSION
from .style import painted

_SHOWN_MODELS = 8
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,99}")
"""Names from elsewhere that can be shown on a terminal and pasted into a shell."""
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 — the address is printed, not listened on


def banner(
    settings: Settings,
    port: int,
    listed: Sequence[str] = (),
    workers: int = 1,
    *,
    colour: bool = False,
    columns: int | None = None,
) -> str:
    """The whole text; in JSON logs one line of JSON, so that every line can be parsed.

    `listed` are models that only the upstream names. On a terminal of so many columns, facts are wrapped at words.
    """
    listed = [name for name in listed if _PLAIN.fullmatch(name)]
    url = address(settings.server.host, port)
    if settings.server.log_format == "json":
        ready: dict[str, object] = {"event": "ready", "url": url, "version": VERSION, "models": [*settings.models]}
        ready |= {"workers": workers} if workers > 1 else {}
        return json.dumps(ready | {"keys": len(settings.keys), "config": settings.file})
    model = next(iter([*_configured(settings), *listed]), "YOUR-MODEL")
    header = '\n    -H "Authorization: Bearer $AM_KEY" \\' if settings.keys else ""
    key = "YOUR_KEY" if settings.keys else "none"
    body = json.dumps({"model": model, "input": "Hello!"})
    title = painted(f"AM Proxy {VERSION} is ready: {url}", "bold", "green", colour=colour)
    facts = {
        "models": _models(settings, listed),
        "keys": _keys(settings),
        "config": settings.file or "no file: defaults, environment and flags",
        "workers": _workers(settings, workers),
        "look": f"{url.removesuffix('v1')} shows answers event by event"
        if settings.serves_page and workers == 1
        else "",
    }
    shown = "\n".join(_fact(name, text, columns) for name, text in facts.items() if text)
    return f"""\
{title}
{shown}

Try it with curl:
  curl {url}/responses \\{header}
    -H "Content-Type: application/json" \\
    -d '{body}'

or with an OpenAI SDK:
  from openai import OpenAI
  client = OpenAI(base_url="{url}", api_key="{key}")
  print(client.responses.create(model="{model}", input="Hello!").output_text)
"""


def stopping(running: int, seconds: float) -> str:
    """What is printed if requests run when the server is stopped."""
    requests = "1 request that still runs" if running == 1 else f"{running} requests that still run"
    return f"Stopping. Waiting {seconds:g} s at most for {requests}; Ctrl-C again ends this at once."


def address(host: str, port: int) -> str:
    """The base URL that a client on this machine can use."""
    host = _EVERYWHERE.get(host, host.strip("[]"))
    return f"http://[{host}]:{port}/v1" if ":" in host else f"http://{host}:{port}/v1"


def shows_listed(settings: Settings) -> bool:
    """Whether the text needs to know what the upstream lists: no model is configured by its name."""
    return settings.server.log_format != "json" and not _configured(settings)


def _configured(settings: Settings) -> list[str]:
    return [name for name in settings.models if name != "*"]


def _models(settings: Settings, listed: Sequence[str]) -> str:
    names = [*_configured(settings), *listed]
    text = ", ".join(names[:_SHOWN_MODELS])
    if len(names) > _SHOWN_MODELS:
        text += f" and {len(names) - _SHOWN_MODELS} more"
    if settings.models.keys() == {"demo"} and settings.upstreams[settings.models["demo"].upstream].via == "demo":
        text += " (scripted, without network; --upstream URL serves real ones)"
    if other := settings.models.get("*"):
        upstream = settings.upstreams[other.upstream]
        where = upstream.base_url or upstream.provider or other.upstream
        text += f"{'; ' if text else ''}any {'other ' if names else ''}name, sent to {where}"
    return text


def _keys(settings: Settings) -> str:
    if settings.keys:
        names = ", ".join(key.name for key in settings.keys[:_SHOWN_MODELS])
        return f"needed: {names}{' and others' if len(settings.keys) > _SHOWN_MODELS else ''}"
    if is_loopback(settings.server.host):
        return "none needed: only this machine can reach it"
    return "NONE NEEDED: everyone who can reach this address can use it (--insecure-no-auth)"


def _workers(settings: Settings, number: int) -> str:
    if number == 1:
        return ""
    return f"{number} processes" + (", one for each core" if settings.server.workers == "auto" else "")


def _fact(name: str, text: str, columns: int | None) -> str:
    head = f"  {name:<8}"
    if columns is None:
        return head + text
    return textwrap.fill(
        text,
        columns,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
