"""The lanes: by which API this server asks a model server, and how that server is asked by hand for comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import httpx

from app.settings import Model, Secret, Settings, Upstream
from tests.servers.checkpoint import CONTEXT
from tests.servers.launch import LLAMA_CPP, TRANSFORMERS, VLLM, Server
from tests.servers.notes import NOTES, Notes
from tests.servers.questions import Question, as_chat, as_messages, as_request
from tests.servers.said import Said, of_chat, of_messages, of_responses


@dataclass(frozen=True)
class Lane:
    """A way to a model server."""

    slug: str
    title: str
    server: Server
    settings: Mapping[str, Any]
    """Of the upstream."""
    path: str = "/v1"
    reasoning_field: str = "reasoning_content"
    """The one in which the server takes thoughts back."""

    @property
    def notes(self) -> Notes:
        """What is to be known of it."""
        return NOTES.get((self.server.title, self.slug), {})

    @property
    def is_relay(self) -> bool:
        """Whether the events are those of the model server."""
        return bool(self.settings["via"] == "responses")

    def upstream(self, url: str) -> Upstream:
        """The settings of the upstream at this address."""
        return Upstream(base_url=url + self.path, **self.settings)

    def ask(self, client: httpx.Client, url: str, question: Question) -> Said:
        """Ask the server itself, by the API that this lane uses."""
        model = self.server.model
        if self.settings["via"] == "messages":
            return of_messages(client, url, as_messages(question, model))
        if self.settings["via"] == "responses":
            return of_responses(client, url, as_request(question, model))
        return of_chat(client, url, as_chat(question, model, self.reasoning_field))


def _lanes(server: Server, provider: str, litellm: str, reasoning_field: str) -> list[Lane]:
    """The lanes of a server that has all of the APIs."""
    known = {"provider": provider}
    return [
        Lane("chat", "chat", server, {"via": "chat", **known}, reasoning_field=reasoning_field),
        Lane("messages", "messages", server, {"via": "messages", **known}, path=""),
        Lane("responses", "responses", server, {"via": "responses", **known}),
        Lane("native", "responses, native tools", server, {"via": "responses", "tools": "native", **known}),
        Lane(
            "litellm",
            "litellm",
            server,
            {"via": "litellm", "provider": litellm, "api_key": Secret("none")},
            reasoning_field=reasoning_field,
        ),
    ]


LANES: Final[Mapping[str, list[Lane]]] = {
    LLAMA_CPP.title: _lanes(LLAMA_CPP, "llama_cpp", "llamafile", "reasoning_content"),
    VLLM.title: _lanes(VLLM, "vllm", "hosted_vllm", "reasoning"),
    TRANSFORMERS.title: [
        lane
        for lane in _lanes(TRANSFORMERS, "transformers", "hosted_vllm", "reasoning_content")
        if lane.slug in {"chat", "responses", "litellm"}
    ],
}
SERVERS: Final[Mapping[str, Server]] = {server.title: server for server in (LLAMA_CPP, VLLM, TRANSFORMERS)}


def settings_of(lanes: Sequence[Lane], url: str) -> Settings:
    """Settings with each lane as an upstream, and the model under the lane's name."""
    models = {lane.slug: Model(upstream=lane.slug, name=lane.server.model, context_window=CONTEXT) for lane in lanes}
    others = {f"{lane.slug}/no-such-model": Model(upstream=lane.slug, name="no-such-model") for lane in lanes}
    return Settings(upstreams={lane.slug: lane.upstream(url) for lane in lanes}, models=models | others)
