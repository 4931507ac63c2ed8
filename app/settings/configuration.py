"""What a configuration may say: every setting, its default and its limits. Frozen; values come checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field, model_validator

from app.options import Table
from app.settings.server import Key, KeyTable, Seal, Server
from app.settings.upstream import Upstream
from app.settings.values import Name, is_loopback


class Can(Table):
    """What a model takes, where that is known better here than by litellm's model map. The rest is passed on."""

    vision: bool | None = None
    """Images."""
    files: bool | None = None
    """Files, such as PDF."""
    audio: bool | None = None
    """Sound."""
    tools: bool | None = None
    """Calling tools."""
    parallel_calls: bool | None = None
    """Whether it can be told to call one tool at a time (`parallel_tool_calls`)."""
    strict_tools: bool | None = None
    """Whether its server holds calls to the schema of a strict tool."""
    reasoning: bool | None = None
    """Whether it can be told how much to think; how much, say `reasoning_efforts`."""
    structured_output: tuple[Literal["json_schema", "json_object"], ...] | None = None
    """The formats its server holds an answer to. Others are told to the model in words."""
    verbosity: bool | None = None
    """Being told how much to say."""


class Model(Table):
    """A model under its public name."""

    upstream: Name
    """Which of `[upstreams]` runs it."""
    upstreams: tuple[Name, ...] = ()
    """Instead of one, several: each is asked when those before it failed before their first word."""
    name: Name | None = None
    """Its name upstream; the public one unless given."""
    names: dict[Name, Name] = Field(default_factory=dict)
    """Its name at some of its upstreams, where they differ."""
    system_messages: Literal["keep", "merge_head", "as_user"] = "keep"
    """System messages where they stand, all in one at the head, or as user messages."""
    alternating_roles: bool | None = None
    """True: its chat template demands that user and assistant take turns, so consecutive user messages become one, and
    system messages behind the first ones become the user's. Unless given, so for models with `gemma` in their name."""
    reasoning: Literal["summary", "text", "on_request"] = "summary"
    """How what the model thinks is told: as a summary, which every client shows; as raw text; or, on request, as a
    summary to clients that ask for one, or for encrypted reasoning, and not at all to others."""
    give_back_reasoning: bool = True
    """Whether earlier thoughts go back to the upstream."""
    think_tags: bool = False
    """True: `<think>…</think>` at the start of the text is reasoning."""
    call_ids: Literal["auto", "keep", "plain64", "plain40", "alphanumeric9"] = "auto"
    """Ids of past calls: as litellm's provider is known to want them, as the client has them, at most 64 plain
    characters, or 40 (OpenAI), or nine letters and digits (Mistral)."""
    web_search: bool = False
    """True: the upstream searches the web itself, when the client offers `web_search`."""
    cache_control: Literal["off", "auto"] = "off"
    """auto: mark what is to be cached (the system message, and all that was said), for Claude, wherever it runs."""
    image_output: bool = False
    """True: the model writes images beside text, and is asked to."""
    context_window: int | None = Field(default=None, ge=1)
    """Tokens; told to clients that ask for a catalogue of models, as Codex does."""
    reasoning_efforts: tuple[Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"], ...] = ()
    """Efforts the model knows; others are lowered to one of these. Told to the same clients."""
    apply_patch: bool = True
    """Whether Codex should offer this model its free-form `apply_patch`; for the same catalogue."""
    can: Can = Can()
    """What it is able to do, where that is not what litellm says of it; see `[models.NAME.can]`."""

    @model_validator(mode="before")
    @classmethod
    def _first_of_several(cls, data: Any) -> Any:
        """With a list of upstreams, the first one is the upstream."""
        several = data.get("upstreams") if isinstance(data, dict) else None
        if not several:
            return data
        if "upstream" in data:
            message = "needs either upstream or upstreams, and not both"
            raise ValueError(message)
        return {**data, "upstream": several[0]} if isinstance(several, list | tuple) else data


class Tables(Table):
    """The whole file."""

    server: Server = Server()
    seal: Seal = Seal()
    keys: tuple[KeyTable, ...] = ()
    upstreams: dict[Name, Upstream] = Field(default_factory=dict)
    models: dict[Name, Model] = Field(default_factory=dict)


DEMO_UPSTREAMS: Mapping[str, Upstream] = {"demo": Upstream(via="demo")}
DEMO_MODELS: Mapping[str, Model] = {"demo": Model(upstream="demo")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the server was told. `Settings()` is the server without any configuration: the embedded model."""

    server: Server = field(default_factory=Server)
    seal: Seal = field(default_factory=Seal)
    keys: tuple[Key, ...] = ()
    upstreams: Mapping[str, Upstream] = field(default_factory=lambda: dict(DEMO_UPSTREAMS))
    models: Mapping[str, Model] = field(default_factory=lambda: dict(DEMO_MODELS))
    """By public name; `*` is any other name, passed on unchanged unless it has a `name` of its own."""
    file: str | None = None
    """The file that was read."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each value was said, by its path: `{"server.port": "--port", "upstreams.x.api_key": "env:X_KEY"}`."""
    notes: tuple[str, ...] = ()
    """What is no mistake, but worth a look."""

    @property
    def serves_page(self) -> bool:
        """Whether the inspector is there: it is told not to be, or strangers could use it."""
        return self.server.ui and (bool(self.keys) or is_loopback(self.server.host))
