"""The server and the scripted upstream behind it, and when each model was asked."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.settings import Model, Secret, Settings, Upstream
from tests.support.servers import Ask, ChatUpstream, Script, Step
from tests.support.serving import serving


@dataclass
class ScriptedModels:
    """One server for all clients. A model's name chooses what is played to whoever asks it."""

    url: str = ""
    upstream: ChatUpstream | None = None
    scripts: dict[str, list[Script]] = field(default_factory=dict)
    asks: dict[str, list[Ask]] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    violations: dict[str, list[str]] = field(default_factory=dict)
    """What the upstream had to refuse, by model."""

    def set_scripts(self, model: str, scripts: Sequence[Script]) -> None:
        """Script a model: one script per ask, the last one again and again."""
        self.scripts[model] = list(scripts)
        for kept in (self.asks, self.times, self.violations):
            kept[model] = []

    def steps(self, ask: Ask) -> list[Step]:
        """The next script of the model that is asked."""
        model = ask.body["model"]
        if model not in self.scripts:
            return []
        scripts = self.scripts[model]
        script = scripts[min(len(self.asks[model]), len(scripts) - 1)]
        self.asks[model].append(ask)
        self.times[model].append(time.monotonic())
        return list(script(ask) if callable(script) else script)


class _Upstream(ChatUpstream):
    """Keeps what it had to refuse by model, so that one client's fault is that client's."""

    def __init__(self, scripted: ScriptedModels) -> None:
        super().__init__(scripted.steps)
        self._stage = scripted
        self.may_violate = True

    def faults(self, ask: Ask) -> list[str]:
        """As a strict server finds them."""
        found = super().faults(ask)
        self._stage.violations.setdefault(str(ask.body.get("model")), []).extend(found)
        return found


@contextmanager
def scripted_models(models: Mapping[str, Model] | None = None) -> Iterator[ScriptedModels]:
    """A server with the settings it has by default, every model of it on one scripted chat server through litellm."""
    scripted = ScriptedModels()
    with _Upstream(scripted) as upstream:
        settings = Settings(
            upstreams={"scripted": Upstream(base_url=upstream.url, api_key=Secret("sk-scripted"))},
            models={**(models or {}), "*": Model(upstream="scripted")},
        )
        with serving(settings) as url:
            scripted.url, scripted.upstream = url, upstream
            yield scripted
