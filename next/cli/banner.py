"""What `am-proxy serve` prints on a terminal when it is ready."""

import json
import shlex
from collections.abc import Sequence

from ..settings.load import Settings
from ..settings.values import is_loopback
from ..version import VERSION
from .advice import some


def banner(settings: Settings, url: str, listed: Sequence[str] = ()) -> str:
    """The text. `listed` are models that only the server of `--upstream` names."""
    names = [name for name in [*settings.models, *listed] if name != "*"]
    models = some(names)
    if (others := settings.models.get("*")) is not None:
        upstream = settings.upstreams.get(others.asked[0])
        where = upstream and (upstream.base_url or upstream.provider)
        models += f"{', ' if models else ''}any {'other ' if models else ''}name (sent to {where or others.asked[0]})"
    if settings.keys:
        keys = f"needed: that of {some([key.name for key in settings.keys])}"
    elif is_loopback(settings.server.host):
        keys = "none needed: only this machine can call"
    else:
        keys = "NONE NEEDED: everyone who can reach this address can use it"
    lines = [f"AM Proxy {VERSION} is ready: {url}", f"  models  {models}", f"  keys    {keys}"]
    if settings.server.kept_turns and settings.server.workers == 1:
        lines.append(f"  watch   {url.removesuffix('v1')}")
    bearer = '-H "Authorization: Bearer $AM_KEY" \\\n    ' if settings.keys else ""
    body = json.dumps({"model": names[0] if names else "YOUR-MODEL", "input": "Hello!"})
    return "\n".join([*lines, "", "Try it:", f"  curl {url}/responses \\\n    {bearer}--json {shlex.quote(body)}", ""])
