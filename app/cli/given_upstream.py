"""The upstream of `--upstream`: its server is looked at once, and the settings are completed with what was found.

Reading the settings needs no network. So `serve` and `doctor` do this when they start, and a reload
does it again. A server that is down, slow or wants a key delays them by `WITHIN` seconds at most.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from ..options import KeyHeader, Via
from ..providers.lookup import provider_of
from ..providers.provider import Provider
from ..settings import GIVEN, Settings, Upstream

if TYPE_CHECKING:
    from ..upstreams.survey import Survey

WITHIN: Final = 2
"""Seconds that looking at the server may take."""
PATHS: Final[Mapping[Via, str]] = {"chat": "/chat/completions", "responses": "/responses", "messages": "/v1/messages"}
"""The path of each way to ask a server directly."""
_OF_PROVIDERS: Final = {"chat", "messages", "responses"}
"""Ways to ask in which servers differ by their providers."""
_NAMES: Final[Mapping[Via, str]] = {
    "chat": "chat completions",
    "responses": "the Responses API",
    "messages": "the Messages API",
}


class Remark(NamedTuple):
    """What an operator should know about the upstream."""

    message: str
    is_warning: bool = False


async def settled(settings: Settings, before: Settings | None = None) -> tuple[Settings, list[Remark]]:
    """The settings with the address, `via` and `provider` that suit the server of `--upstream`, and what was found.

    `before` are the settings of the running server: they are kept while that server cannot be looked at.
    """
    if not settings.given_by:
        return settings, []
    from ..upstreams.survey import candidates, survey  # noqa: PLC0415 — its library takes 0.15 s, and the demo needs none

    given = settings.upstreams[GIVEN]
    url, key = given.base_url or "", None if given.api_key is None else given.api_key.reveal()
    found = await survey(url, key, within=WITHIN)
    if found.problem and before is not None and before.given_by:
        known = before.upstreams[GIVEN]
        if known.base_url in candidates(url):
            via = known.via if settings.via_is_open else given.via
            message = f"{settings.given_by} {url}: {found.problem} Still using {_NAMES.get(via, via)}."
            return _with(settings, known.base_url, via, known.provider), [Remark(message, is_warning=True)]
    return completed(settings, found), remarks_about(settings, found)


def completed(settings: Settings, found: "Survey") -> Settings:
    """The settings with what a survey of the server of `--upstream` found. A given `--via` is kept."""
    given = settings.upstreams[GIVEN]
    header = found.key_header if found.via == "messages" and found.provider is None else "x-api-key"
    if settings.via_is_open:
        provider = found.provider if found.via in _OF_PROVIDERS else None
        return _with(settings, found.base_url, found.via, provider, header)
    is_known = given.via == "responses" or given.via == found.via == "messages"
    provider = given.provider or (found.provider if is_known else None)
    return _with(settings, found.base_url, given.via, provider, header)


def _with(
    settings: Settings, base_url: str | None, via: Via, provider: str | None, key_header: KeyHeader = "x-api-key"
) -> Settings:
    given = settings.upstreams[GIVEN]
    values = {name: getattr(given, name) for name in given.model_fields_set}
    values |= {"base_url": base_url, "via": via, "provider": provider}
    if key_header != "x-api-key" and via == "messages":
        values["key_header"] = key_header
    upstream = Upstream.model_validate({name: value for name, value in values.items() if value is not None})
    return replace(settings, upstreams={**settings.upstreams, GIVEN: upstream})


def _tools(known: Provider) -> str:
    """How a server with the Responses API gets tools, if nothing is configured."""
    if known.responses.functions_only:
        return ", with all tools as functions"
    return "" if known.prefers_responses else ", with all tools as functions if it refuses others"


def remarks_about(settings: Settings, found: "Survey") -> list[Remark]:
    """What an operator should know about the server of `--upstream`."""
    given = settings.upstreams[GIVEN]
    whose = f"{settings.given_by} {given.base_url}: "
    via = found.via if settings.via_is_open else given.via
    lane = _NAMES.get(via, via)
    remarks = []
    if found.base_url != given.base_url:
        remarks.append(
            Remark(f"{whose}did you mean {found.base_url}? That address answers, so it is used.", is_warning=True)
        )
    if found.problem:
        advice = "; --via changes that." if settings.via_is_open else "."
        key = " Set it with --upstream-key env:NAME." if "API key" in found.problem else ""
        remarks.append(Remark(f"{whose}{found.problem}{key} Using {lane}{advice}", is_warning=True))
    elif via in found.lacks:
        other = f" Use --via {found.via}." if found.via not in found.lacks else ""
        remarks.append(Remark(f"{whose}The server has no {PATHS[via]}.{other}", is_warning=True))
    else:
        known = provider_of(given.provider or found.provider)
        tools = _tools(known) if via == "responses" else ""
        remarks.append(Remark(f"{whose}using {lane}{f' ({found.server})' if found.server else ''}{tools}"))
    return remarks
