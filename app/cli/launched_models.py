"""What `am-proxy launch` can serve: asks the servers of the configuration for their models, and chooses one."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from ..options import Can
from ..providers.lookup import provider_of
from ..settings import GIVEN, Model, Settings, did_you_mean
from ..upstreams.messages_address import messages_address
from ..upstreams.ollama_context import loaded_window
from ..upstreams.survey import ListedModel, Survey, list_models, server_at, suits, survey
from .agents import Agent
from .given_upstream import Remark, completed, remarks_about

WITHIN: Final = 5
"""Seconds that looking at a server may take."""
_LOADED_WITHIN: Final = 60
"""Seconds that loading a model may take."""
ANY: Final = "*"
_SHOWN: Final = 6
_MOST_UNNAMED: Final = 30
_MOST_UNNAMED_AT_PROVIDER: Final = 4
LONGER: Final = {
    "ollama": "start Ollama with OLLAMA_CONTEXT_LENGTH={tokens}",
    "llama.cpp": "start llama-server with --ctx-size {tokens}",
    "vllm": "start vLLM with --max-model-len {tokens}",
    "sglang": "start SGLang with --context-length {tokens}",
    "lmstudio": "load the model with a context of {tokens} in LM Studio",
}
"""How each server gets a longer context."""
_LOAD: Final = {
    "ollama": "download one, for example with: ollama pull qwen3",
    "lmstudio": "download or load one in LM Studio",
}
"""How each server gets a model."""


_ADVICE: Final = {
    "Nothing listens": "Start the server there, or correct the address.",
    "does not resolve": "Check the address, and the network of this machine.",
    "needs an API key": "Give it with --upstream-key env:NAME.",
    "refuses the API key": "Correct it with --upstream-key env:NAME.",
}
"""What to do about problems of the server of `--upstream`, by words of its survey."""


_GIVEN_PROVIDER: Final = frozenset({"--provider", "AM_PROVIDER"})


class MissingError(Exception):
    """Something that an agent needs is missing: a sentence that says what, with advice."""


class ModelChoice(NamedTuple):
    """The model to start with."""

    name: str
    context_window: int | None
    warning: str = ""


@dataclass(frozen=True)
class FoundModels:
    """What is there to serve."""

    settings: Settings
    """With the models that the servers list."""
    surveys: Mapping[str, Survey]
    """What is behind each upstream, by its name."""
    remarks: tuple[Remark, ...] = ()
    unable: frozenset[str] = frozenset()
    """Models that certainly call no tools, so that no agent can use them."""
    listed: frozenset[str] = frozenset()
    """Models that are not configured: the server of the wildcard lists them."""

    @property
    def names(self) -> frozenset[str]:
        """The public names of the models."""
        return frozenset(self.settings.models) - {ANY}

    def choose(self, agent: Agent, wanted: str | None) -> ModelChoice:
        """The wanted model, or the first that suits the agent. Raises `MissingError` if there is none."""
        names = [name for name in self.settings.models if name != ANY]
        if wanted is not None:
            return self._wanted(agent, wanted, names)
        if not names:
            raise MissingError(self._without_models())
        troubles = {name: self._trouble(agent, name) for name in names}
        suitable = [name for name, trouble in troubles.items() if not trouble]
        if not suitable:
            raise MissingError(troubles[names[0]])
        if suitable[0] in self.listed and len(suitable) > self._most_unnamed(suitable[0]):
            raise MissingError(f"there are {len(suitable)} models: choose one with --model: {_some(suitable)}")
        return ModelChoice(suitable[0], self.settings.models[suitable[0]].context_window)

    async def loaded(
        self, agent: Agent, choice: ModelChoice, *, named: bool, say: Callable[[str], None]
    ) -> tuple["FoundModels", ModelChoice]:
        """Load the chosen model if its server is an Ollama, which only then says how much context the model gets.

        Raises `MissingError` if that is too little, unless the user named the model.
        """
        model = self.settings.models.get(choice.name)
        found = self.surveys.get(model.upstream) if model else None
        if model is None or found is None or found.server != "ollama":
            return self, choice
        key = self.settings.upstreams[model.upstream].api_key
        name = model.names.get(model.upstream, model.name) or choice.name
        waiting = asyncio.get_running_loop().call_later(1, say, f"Ollama loads {name} …")
        secret = None if key is None else key.reveal()
        window = await loaded_window(found.base_url, secret, name, within=_LOADED_WITHIN)
        waiting.cancel()
        if window is None:
            return self, choice
        window = min(window, model.context_window or window)
        models = {**self.settings.models, choice.name: model.model_copy(update={"context_window": window})}
        known = replace(self, settings=replace(self.settings, models=models))
        short = known._short_context(agent, choice.name)  # noqa: SLF001 — of the same class
        if short and not named:
            raise MissingError(f"{short}; --model {choice.name} tries it all the same.")
        return known, ModelChoice(choice.name, window, short and f"{short}.")

    def _most_unnamed(self, name: str) -> int:
        """Of how many models the first may be chosen: at a provider, they have very different prices."""
        found = self.surveys.get(self.settings.models[name].upstream)
        return _MOST_UNNAMED_AT_PROVIDER if found and server_at(found.base_url) else _MOST_UNNAMED

    def _wanted(self, agent: Agent, wanted: str, names: list[str]) -> ModelChoice:
        """A model that the user named. A short context is the user's decision."""
        if wanted not in names:
            wildcard = self.settings.models.get(ANY)
            problem = self._problem(wildcard.upstream) if wildcard else ""
            if problem:
                raise MissingError(problem)
            listed = self.surveys.get(wildcard.upstream) if wildcard else None
            if wildcard is None or (listed is not None and listed.models):
                raise MissingError(f'there is no model "{wanted}"{did_you_mean(wanted, names)}: {_some(names)}')
            return ModelChoice(wanted, None)
        if fatal := self._problem(self.settings.models[wanted].upstream) or self._without_tools(agent, wanted):
            raise MissingError(fatal)
        short = self._short_context(agent, wanted)
        return ModelChoice(wanted, self.settings.models[wanted].context_window, short and f"{short}.")

    def _trouble(self, agent: Agent, name: str) -> str:
        """Why this model cannot be chosen; empty if it can."""
        if problem := self._problem(self.settings.models[name].upstream):
            return problem
        if problem := self._without_tools(agent, name):
            return problem
        if problem := self._short_context(agent, name):
            return f"{problem}; --model {name} tries it all the same."
        return ""

    def _problem(self, upstream: str) -> str:
        found = self.surveys.get(upstream)
        if not found or not found.problem:
            return ""
        advice = next((f" {advice}" for words, advice in _ADVICE.items() if words in found.problem), "")
        return f"{self._where(upstream)}: {found.problem}{advice if upstream == GIVEN else ''}"

    def _without_models(self) -> str:
        upstream = self.settings.models[ANY].upstream if ANY in self.settings.models else ""
        if problem := self._problem(upstream):
            return problem
        found = self.surveys.get(upstream)
        advice = _LOAD.get(found.server if found else "", "")
        return f"{self._where(upstream)} lists no models: {advice and f'{advice}, or '}name one with --model"

    def _without_tools(self, agent: Agent, name: str) -> str:
        if name not in self.unable:
            return ""
        able = [other for other in self.settings.models if other != ANY and other not in self.unable]
        choose = f"choose another with --model: {_some(able)}" if able else "none of its models does"
        return f"the model {name} calls no tools, and {agent.title} needs them; {choose}"

    def _short_context(self, agent: Agent, name: str) -> str:
        window = self.settings.models[name].context_window
        if window is None or window >= agent.least_context:
            return ""
        found = self.surveys.get(self.settings.models[name].upstream)
        longer = LONGER.get(found.server if found else "", "give it a longer one at its server")
        advice = longer.format(tokens=1 << (agent.least_context - 1).bit_length())
        short = f"the context of {name} is {window:,} tokens, and {agent.title} needs about {agent.least_context:,}"
        return f"{short}: {advice}"

    def _where(self, upstream: str) -> str:
        if upstream == GIVEN and self.settings.given_by:
            return f"{self.settings.given_by} {self.settings.upstreams[GIVEN].base_url}"
        configured = self.settings.upstreams.get(upstream)
        if configured and self.settings.origins.get(f"upstreams.{upstream}.provider") in _GIVEN_PROVIDER:
            return f"--provider {configured.provider}"
        return f"upstreams.{upstream}" + (f" {configured.base_url}" if configured and configured.base_url else "")


def models_of(cards: Sequence[Mapping[str, Any]], settings: Settings) -> FoundModels:
    """The models of a server that runs already, as it describes them to Codex."""
    models = {str(card["slug"]): Model(upstream="running", context_window=card.get("context_window")) for card in cards}
    return FoundModels(replace(settings, models=models), {})


async def look(settings: Settings) -> FoundModels:
    """Look at every upstream that serves a model. It never raises."""
    names = list(dict.fromkeys(model.upstream for model in settings.models.values()))
    found = await asyncio.gather(*(_survey(settings, name) for name in names))
    surveys = {name: one for name, one in zip(names, found, strict=True) if one is not None}
    remarks: list[Remark] = []
    if settings.given_by and GIVEN in surveys:
        remarks = [] if surveys[GIVEN].problem else remarks_about(settings, surveys[GIVEN])
        settings = completed(settings, surveys[GIVEN])
    return _with_models(settings, surveys, remarks)


async def _survey(settings: Settings, name: str) -> Survey | None:
    """What is behind an upstream; None if it has no address."""
    upstream = settings.upstreams[name]
    key = None if upstream.api_key is None else upstream.api_key.reveal()
    address = upstream.base_url or provider_of(upstream.provider).base_url
    if address is None:
        return None
    if upstream.via in {"chat", "responses"}:
        return await survey(address, key, within=WITHIN)
    if upstream.via == "messages":
        at = messages_address(address)
        models = await list_models(at, key, within=WITHIN, key_header=upstream.key_header)
        return Survey(address, server_at(address), models, "messages", "")
    models = await list_models(address, key, within=WITHIN)  # litellm knows more paths than these
    return Survey(address, server_at(address), models, suits(None, None), "")


def _with_models(settings: Settings, surveys: Mapping[str, Survey], remarks: Iterable[Remark]) -> FoundModels:
    """Add the models that the wildcard's server lists, and what servers say about all models."""
    listed = {name: {model.name: model for model in one.models} for name, one in surveys.items()}
    models: dict[str, Model] = {}
    unable: set[str] = set()

    def add(name: str, model: Model, known: ListedModel | None) -> None:
        models[name] = model = model if known is None else _with_facts(model, known)
        calls = model.can.tools if known is None or model.can.tools is not None else known.calls_tools
        if calls is False:
            unable.add(name)

    for name, model in settings.models.items():
        upstream_model = model.names.get(model.upstream, model.name)
        add(name, model, listed.get(model.upstream, {}).get(upstream_model or name))
    wildcard = settings.models.get(ANY)
    if wildcard is not None and wildcard.names.get(wildcard.upstream, wildcard.name) is None:
        for name, known in listed.get(wildcard.upstream, {}).items():
            if name not in models:
                add(name, wildcard, known)
    listed_only = frozenset(models) - frozenset(settings.models)
    return FoundModels(replace(settings, models=models), surveys, tuple(remarks), frozenset(unable), listed_only)


def _with_facts(model: Model, known: ListedModel) -> Model:
    """The model with what its server says, where nothing is configured."""
    said = {"vision": known.takes_images, "reasoning": known.thinks}
    configured = {name: value for name, value in dict(model.can).items() if value is not None}
    can = Can(**{name: value for name, value in said.items() if value is not None} | configured)
    return model.model_copy(update={"can": can, "context_window": model.context_window or known.context_window})


def _some(names: list[str]) -> str:
    """Some of these names."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
