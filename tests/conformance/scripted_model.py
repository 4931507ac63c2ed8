"""The server and the scripted upstream behind it, and when each model was asked."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.conformance.lanes import KEY, JudgingUpstream, Lane
from tests.wire.configuration import Model, Settings, Table, Upstream
from tests.wire.program import serving
from tests.wire.servers import Ask, Script, Step


@dataclass
class ScriptedModels:
    """One server for all clients. A model's name chooses what is played to whoever asks it."""

    lane: Lane
    url: str = ""
    asked_at: str = ""
    """The address of the server that it asks."""
    scripts: dict[str, list[Script]] = field(default_factory=dict)
    asks: dict[str, list[Ask]] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the upstream, which does not run yet."""
        self.upstream: JudgingUpstream = self.lane.server(self.steps)

    def set_scripts(self, model: str, scripts: Sequence[Script]) -> None:
        """Script a model: one script per ask, the last one again and again."""
        self.scripts[model] = [self.lane.translate(script) for script in scripts]
        self.asks[model], self.times[model] = [], []

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


@contextmanager
def scripted_models(lane: Lane, models: Mapping[str, Table] | None = None) -> Iterator[ScriptedModels]:
    """A server with the settings it has by default, every model of it on one scripted server of this lane."""
    scripted = ScriptedModels(lane)
    models = {**(models or {}), "*": Model(upstream="scripted")}
    with ExitStack() as stack:
        scripted.asked_at = stack.enter_context(scripted.upstream).url
        if lane.is_relayed:
            behind = Upstream(via="chat", base_url=scripted.asked_at, api_key=KEY)
            between = Settings(upstreams={"scripted": behind}, models={"*": Model(upstream="scripted")})
            scripted.asked_at = f"{stack.enter_context(serving(between, fresh=True))}/v1"
        asked = Upstream(via=lane.via, base_url=scripted.asked_at, api_key=KEY, **lane.settings)
        settings = Settings(upstreams={"scripted": asked}, models=models)
        scripted.url = stack.enter_context(serving(settings, fresh=True))
        yield scripted
