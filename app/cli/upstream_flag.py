"""The upstream of flags: a server that is named, or this machine's own, is looked at once.

The flags are completed with what was found.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..providers.table import provider_of
from ..settings.load import GIVEN, Settings, load
from ..settings.tables import UpstreamSettings
from .advice import explained, short_context

if TYPE_CHECKING:
    from ..upstreams.survey import Survey

_NAMES = {"chat": "chat completions", "messages": "the Messages API", "responses": "the Responses API"}


class Looked(NamedTuple):
    """The settings, and what is behind the upstream of flags, if it was looked at."""

    settings: Settings
    flags: Mapping[str, Any]
    """With what was found: with these, the same settings are read again without a look."""
    found: "Survey | None" = None

    @property
    def remarks(self) -> list[tuple[str, bool]]:
        """What the operator should know, in sentences; and whether that is a warning."""
        if self.found is None:
            return []
        found, upstream = self.found, self.settings.upstreams[GIVEN]
        if found.error is not None:
            return [(explained(found.error.problem.code, found.error.cause, upstream), True)]
        if upstream.via in found.lacks:
            return [(f"{found.base_url} does not have {_NAMES[upstream.via]}. Use --via {found.via}.", True)]
        server = f" ({found.provider})" if found.provider else ""
        said = [(f"{found.base_url} is asked by {_NAMES.get(upstream.via, upstream.via)}{server}.", False)]
        short = [short_context(model.name, model.context_window, found.provider) for model in found.models]
        return [*said, (short[0], True)] if short and all(short) else said

    async def surveys(self, within: float) -> dict[str, "Survey"]:
        """What is behind each upstream."""
        others = {name: table for name, table in self.settings.upstreams.items() if name != GIVEN or not self.found}
        found = await asyncio.gather(*[_look_at(table, within) for table in others.values()])
        return dict(zip(others, found, strict=True)) | ({GIVEN: self.found} if self.found else {})


def look(config: Path | None, flags: Mapping[str, Any], *, within: float = 2) -> Looked:
    """The settings of this file and these flags, after a look of at most so many seconds. Raises `SettingsError`."""
    settings = load(config, flags)
    named = flags.get("upstream") or os.environ.get("AM_UPSTREAM")
    provider = provider_of(flags.get("provider") or os.environ.get("AM_PROVIDER"))
    if not named and (provider.key_variable or not provider.base_url or settings.upstreams[GIVEN].via == "litellm"):
        return Looked(settings, flags)
    given = settings.upstreams[GIVEN]
    found = asyncio.run(_look_at(given, within))
    told: dict[str, Any] = {"upstream": found.base_url} if named else {}
    if not (flags.get("via") or os.environ.get("AM_UPSTREAM_VIA") or given.provider):
        told |= {"via": found.via, "provider": found.provider}
    flags = {**flags, **told}
    return Looked(load(config, flags), flags, found)


async def _look_at(upstream: UpstreamSettings, within: float) -> "Survey":
    """What is behind an upstream. Of one without an address, and of litellm's, nothing is known."""
    from ..upstreams.survey import Survey, survey  # its library takes 0.15 s

    if not upstream.base_url or upstream.via == "litellm":
        return Survey(upstream.base_url or "", upstream.via, upstream.provider)
    key = upstream.api_key.get_secret_value()
    found = await survey(upstream.base_url, key, within=within, messages=upstream.via == "messages")
    return found._replace(provider=found.provider or upstream.provider)
