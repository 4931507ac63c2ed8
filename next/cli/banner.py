"""What `am-proxy serve` prints on a terminal when it is ready."""

import json
import re
from collections.abc import Sequence

from ..settings.load import Settings
from ..settings.values import is_loopback
from ..version import VERSION

_SHOWN = 6
"""Models that are named."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,99}")
"""Names from elsewhere that can be shown on a terminal and pasted into a shell."""


def banner(settings: Settings, url: str, listed: Sequence[str] = ()) -> str:
    """The text. `listed` are models that only the server of `--upstream` names."""
    names = [name for name in [*settings.models, *listed] if name != "*" and _PLAIN.fullmatch(name)]
    models = _some(names)
    if (others := settings.models.get("*")) is not None:
        upstream = settings.upstreams.get(others.asked[0])
        where = upstream and (upstream.base_url or upstream.provider)
        models += f"{', ' if models else ''}any {'other ' if models else ''}name (sent to {where or others.asked[0]})"
    keys = (
        f"needed: that of {_some([key.name for key in settings.keys])}"
        if settings.keys
        else "none needed: only this machine can call"
    )
    if not settings.keys and not is_loopback(settings.server.host):
        keys = "NONE NEEDED: everyone who can reach this address can use it"
    lines = [f"AM Proxy {VERSION} is ready: {url}", f"  models  {models}", f"  keys    {keys}"]
    if settings.server.kept_turns and settings.server.workers == 1:
        lines.append(f"  watch   {url.removesuffix('v1')}")
    bearer = '-H "Authorization: Bearer $AM_KEY" \\\n    ' if settings.keys else ""
    body = json.dumps({"model": names[0] if names else "YOUR-MODEL", "input": "Hello!"})
    return "\n".join([*lines, "", "Try it:", f"  curl {url}/responses \\\n    {bearer}--json '{body}'", ""])


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
