"""Looks at one upstream and asks it, for `am-proxy doctor`.

Every question uses the same upstream classes as a client's request, so the results hold for clients too.
"""

import asyncio
import time
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from ..dialects.chat.chat_options import ChatOptions
from ..dialects.chat.turn import ChatTurn
from ..dialects.messages.messages_options import MessagesOptions
from ..dialects.messages.messages_turn import MessagesTurn
from ..new_upstreams import upstream_of
from ..options import ModelOptions, Via
from ..parsing.request_body import parse_object
from ..protocol.problems import Problem
from ..protocol.response import Identity
from ..settings import GIVEN, Model, Settings, Upstream
from ..upstreams.messages_address import messages_address
from ..upstreams.port import UpstreamBroke, UpstreamRefused
from ..upstreams.survey import Survey, list_models, server_at, survey
from .given_upstream import completed
from .probe_answers import ProbeAnswer, read_chunks, read_events, read_messages

Json = dict[str, Any]

PATIENCE: Final = 60
"""Seconds that an answer may take: a small server may first have to load its model."""
SURVEY_WITHIN: Final = 10
"""Seconds that looking at a server may take."""
DEFAULT_MODEL: Final = "default"
"""The model to ask for where no name is known. Servers of a single model often ignore the name."""


class ProbedUpstream(NamedTuple):
    """An upstream that is asked, and what is known about its server by then."""

    name: str
    """Its name in the settings."""
    upstream: Upstream
    """With the address and the `via` that are used."""
    model: str = ""
    """The model that is asked for."""
    why: str = ""
    """Why this one."""
    found: Survey | None = None
    """What is behind its address; None if it has none."""
    flag: str = ""
    """The flag or variable that it was given by, such as `--upstream` or `AM_PROVIDER`; empty if it is in a file."""
    key_from: str = ""
    """Where its key comes from, such as `env:NAME`; empty if it has none."""

    @property
    def title(self) -> str:
        """What the operator calls it: `upstreams.NAME`, `--upstream`, `--provider NAME`."""
        named = self.flag in {"--provider", "AM_PROVIDER"} and self.upstream.provider
        return f"{self.flag} {self.upstream.provider}" if named else self.flag or f"upstreams.{self.name}"

    @property
    def address_setting(self) -> str:
        """What the operator writes its address into."""
        return self.in_file_or("base_url", "--upstream", "AM_UPSTREAM")

    def in_file_or(self, in_file: str, flag: str, variable: str) -> str:
        """How a setting is written: in the file, as a flag, or as a variable, as the upstream itself was."""
        return in_file if not self.flag else flag if self.flag.startswith("--") else variable


def probed_upstream(settings: Settings, name: str) -> ProbedUpstream:
    """The upstream of this name, before anything is asked."""
    upstream = settings.upstreams[name]
    flag = settings.given_by or settings.origins.get(f"upstreams.{GIVEN}.provider", "") if name == GIVEN else ""
    key_from = settings.origins.get(f"upstreams.{name}.api_key", "api_key") if upstream.api_key else ""
    return ProbedUpstream(name, upstream, flag=flag, key_from=key_from)


async def looked_at(settings: Settings, probed: ProbedUpstream) -> ProbedUpstream:
    """The same with what is behind its address, and the model to ask for."""
    found = None
    if probed.upstream.base_url is not None and probed.upstream.via == "messages":
        found = await _messages_server(probed.upstream)
    elif probed.upstream.base_url is not None:
        key = probed.upstream.api_key
        found = await survey(probed.upstream.base_url, None if key is None else key.reveal(), within=SURVEY_WITHIN)
        if probed.flag and settings.given_by:
            probed = probed._replace(upstream=completed(settings, found).upstreams[GIVEN])
    model, why = model_for(settings, probed.name, found)
    return probed._replace(found=found, model=model, why=why)


async def _messages_server(upstream: Upstream) -> Survey:
    """What a server of the Messages API lists. Its other paths are not looked for: they may want another header."""
    address, key = messages_address(upstream.base_url or ""), upstream.api_key
    models = await list_models(
        address, None if key is None else key.reveal(), within=SURVEY_WITHIN, key_header=upstream.key_header
    )
    others: frozenset[Via] = frozenset({"chat", "responses"})
    return Survey(upstream.base_url or "", server_at(address), models, "messages", "", others)


def model_for(settings: Settings, name: str, found: Survey | None) -> tuple[str, str]:
    """The model to ask for, and the reason."""
    if names := configured_names(settings, name):
        return next(iter(names.values())), "named in [models]"
    listed = found.models if found is not None else ()
    if listed:
        return listed[0].name, "the only one it lists" if len(listed) == 1 else f"the first of {len(listed)} it lists"
    return DEFAULT_MODEL, "neither [models] nor the server names one"


def configured_names(settings: Settings, name: str) -> dict[str, str]:
    """What the models that lead to this upstream are called there, by their public names."""

    def name_there(public: str, model: Model) -> str | None:
        return model.names.get(name, model.name) or (public if public != "*" else None)

    to_here = {public: model for public, model in settings.models.items() if name in (model.upstream, *model.upstreams)}
    return {public: called for public, model in to_here.items() if (called := name_there(public, model))}


async def ask(upstream: Upstream, model: str, question: Json, *, window: int | None = None) -> ProbeAnswer:
    """Ask an upstream. `question` holds members of a Responses request.

    `window` is the context window of the model, if it is known.
    """
    via = upstream.via
    body: Json = {"model": model, "stream": True, "store": False, **question}
    if via != "responses":
        body = _body(via, body, model, window)
    opened = upstream_of(upstream)
    began = time.perf_counter()
    times: list[float] = []
    payloads: list[Json] = []
    problem = None
    try:
        async with asyncio.timeout(PATIENCE), aclosing(opened.open(body)) as stream:
            async for payload in stream:
                payloads.append(payload)
                times.append(time.perf_counter() - began)
    except (UpstreamRefused, UpstreamBroke) as error:
        problem = error.problem
    except TimeoutError:
        problem = Problem(code="upstream_timeout", message=f"It did not end its answer within {PATIENCE} seconds.")
    finally:
        await opened.close()
    whole = time.perf_counter() - began
    if problem is not None:
        return ProbeAnswer(problem=problem, whole=whole)
    read = {"responses": read_events, "messages": read_messages}.get(via, read_chunks)
    return read(payloads, times)._replace(whole=whole)


def _body(via: Via, request: Json, model: str, window: int | None) -> Json:
    """The body for this request in the dialect of this `via`."""
    facts: dict[str, Any] = {"model": model, "identity": Identity("resp_probe", 0), "new_id": str, "now": lambda: 0}
    if via == "messages":
        options = MessagesOptions(model=ModelOptions(context_window=window))
        return MessagesTurn(parse_object(request), options=options, **facts).ask
    return ChatTurn(parse_object(request), options=ChatOptions(), **facts).ask
