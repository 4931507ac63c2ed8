"""Servers of every kind as they look to a survey: their lists of models, and what they say about each model."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.wire.script import chunk, counts, says, stops
from tests.wire.servers import Ask, ChatUpstream, Json, Script, Status, Step

Page = Step | Callable[[Ask], Step]

NO_SUCH_PATH: Final = Status(404, {"error": {"message": "Not Found"}})
REFUSES_EMPTY: Final = Status(400, {"error": {"message": "the body is empty"}})
_CALL: Final = {"index": 0, "id": "c1", "function": {"name": "get_time", "arguments": "{}"}}
CALLS: Final[list[Step]] = [
    chunk({"index": 0, "delta": {"tool_calls": [_CALL]}, "finish_reason": "tool_calls"}),
    counts(7, 5),
]
SAYS: Final[list[Step]] = [says("Hello"), says(" there"), stops(), counts(7, 5)]


class SurveyedServer(ChatUpstream):
    """A server with a page for each path, which also answers chat completions by its script."""

    chat_path = "/v1/chat/completions"
    takes_empty_bodies = True

    def __init__(self, pages: Mapping[str, Page], *scripts: Script, other: Status = NO_SUCH_PATH) -> None:
        self.pages = pages
        self.other = other
        self._chats: tuple[Script, ...] = scripts or ([],)
        super().__init__(self._steps)

    @property
    def root(self) -> str:
        """Its address without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [ask.path for ask in self.asks]

    def _steps(self, ask: Ask) -> list[Step]:
        if self._is_chat(ask):
            number = sum(map(self._is_chat, self.asks)) - 1
            script = self._chats[min(number, len(self._chats) - 1)]
            return list(script(ask) if callable(script) else script)
        page = self.pages.get(ask.path, self.other)
        return [page(ask) if callable(page) else page]

    def _is_chat(self, ask: Ask) -> bool:
        return ask.path == self.chat_path and ask.raw != b""

    def _all_faults(self, ask: Ask) -> list[str]:
        return super()._all_faults(ask) if self._is_chat(ask) else []


def listing(*entries: Json | str) -> Status:
    """A list of models as OpenAI writes it."""
    data = [{"id": entry} if isinstance(entry, str) else entry for entry in entries]
    return Status(200, {"object": "list", "data": [{"object": "model", "created": 1, **entry} for entry in data]})


def chats(**pages: Page) -> dict[str, Page]:
    """The pages of a server of chat completions under `/v1`; `models` is its list."""
    named = {f"/v1/{name}": page for name, page in pages.items()}
    return {"/v1/chat/completions": REFUSES_EMPTY, **named}


def ollama(shown: Mapping[str, Json], *, loaded: Mapping[str, int] = {}, responses: bool = True) -> dict[str, Page]:
    """An Ollama with these models, and what `/api/show` says of each."""

    def show(ask: Ask) -> Status:
        name = ask.body["model"]
        return Status(200, shown[name]) if name in shown else Status(404, {"error": f"model '{name}' not found"})

    running = [{"name": name, "model": name, "context_length": window} for name, window in loaded.items()]
    pages = chats(models=listing(*({"id": name, "owned_by": "library"} for name in shown)))
    if responses:
        pages["/v1/responses"] = REFUSES_EMPTY
    return pages | {
        "/api/version": Status(200, {"version": "0.40.12"}),
        "/api/ps": Status(200, {"models": running}),
        "/api/show": show,
    }


def loading(pages: Mapping[str, Page], window: int) -> dict[str, Page]:
    """The same Ollama, which gives so much context to each model that it loads."""
    loaded: list[Json] = []

    def load(ask: Ask) -> Status:
        name = ask.body["model"]
        loaded.append({"name": name, "model": name, "context_length": window})
        return Status(200, {"model": name, "response": "", "done": True, "done_reason": "load"})

    return {**pages, "/api/generate": load, "/api/ps": lambda _: Status(200, {"models": loaded})}


def shown(architecture: str, window: int, *capabilities: str, parameters: str = "") -> Json:
    """What Ollama's `/api/show` says of a model."""
    return {
        "license": "a long text",
        "parameters": parameters,
        "template": "{{ .Prompt }}",
        "details": {"family": architecture, "format": "gguf"},
        "model_info": {"general.architecture": architecture, f"{architecture}.context_length": window},
        "capabilities": ["completion", *capabilities],
    }


def vllm(name: str, window: int) -> dict[str, Page]:
    """A vLLM."""
    entry: Json = {"id": name, "owned_by": "vllm", "root": name, "parent": None, "max_model_len": window}
    return chats(models=listing(entry), responses=REFUSES_EMPTY)


def llama_cpp(name: str, window: int, *, trained: int, vision: bool) -> dict[str, Page]:
    """A llama.cpp of one model."""
    entry: Json = {"id": name, "owned_by": "llamacpp", "meta": {"n_vocab": 151_936, "n_ctx_train": trained}}
    props: dict[str, Any] = {
        "default_generation_settings": {"id": 0, "n_ctx": window, "params": {}},
        "total_slots": 4,
        "modalities": {"vision": vision, "audio": False},
        "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
        "build_info": "b8681",
    }
    unreadable = Status(500, {"error": {"code": 500, "message": "parse error: unexpected end of input"}})
    pages: dict[str, Page] = {"/v1/models": listing(entry), "/props": Status(200, props)}
    return pages | {"/v1/chat/completions": unreadable, "/v1/responses": unreadable}


def lm_studio(*entries: Json) -> dict[str, Page]:
    """An LM Studio; entries as its own list has them. It needs `other = UNEXPECTED`."""
    plain = [{"id": entry["id"], "owned_by": "organization_owner"} for entry in entries]
    return {**chats(models=listing(*plain), responses=REFUSES_EMPTY), "/api/v0/models": listing(*entries)}


UNEXPECTED: Final = Status(200, {"error": "Unexpected endpoint or method. (GET /any). Returning 200 anyway"})
"""What LM Studio says of a path that it does not have."""
