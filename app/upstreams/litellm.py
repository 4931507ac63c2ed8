"""Models behind litellm, for providers that nothing else here can ask. It is imported when one of them is first asked.

Errors and answers are litellm's: its own words are never those of the model's server, so what that server answered is
looked for in the chain of an error. litellm invents a finish reason for an answer that was cut: see `_finished`.
"""

import asyncio
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import aiohttp

from ..prompt.nouns import Model
from ..settings.tables import UpstreamSettings
from ..types.json import Json, encode
from ..types.problems import Problem
from .errors import Ask
from .litellm_body import known, load
from .port import AskRecord, Upstream, UpstreamError

if TYPE_CHECKING:
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

_NO_KEY = "no-key"
"""Sent to an address without a key: litellm would take one from the environment, which is for its provider alone."""
_STEERS = re.compile(r"\.\.|://|^\s|\s$|^$|responses/|ft:(?:babbage|davinci)-002|clarifai|replicate")
"""In the name of a model: litellm would take it for an address, or for another route."""
_VERSIONED = re.compile(r"/v\d\w*$")
_STATELESS = {"store": False, "include": ["reasoning.encrypted_content"]}
"""For models that litellm asks by the Responses API."""
_TAKING_CLIENTS = frozenset(
    {
        "anthropic", "azure_ai", "bedrock", "databricks", "deepseek", "fireworks_ai", "gemini", "groq", "huggingface",
        "mistral", "ollama", "ollama_chat", "openrouter", "snowflake", "together_ai", "vertex_ai", "xai",
    }
)  # fmt: skip
"""Providers that are asked by the HTTP client that litellm is given. Others have OpenAI's library, or litellm's own
client: that one follows redirects, and leaves `Authorization` behind."""


def _is_loaded() -> bool:
    return load.cache_info().currsize > 0


async def _loaded() -> Any:
    return load() if _is_loaded() else await asyncio.to_thread(load)


async def close() -> None:
    """Close the connections that litellm has only once, for every configuration."""
    if _is_loaded():
        await load().close_litellm_async_clients()
        await load().module_level_aclient.close()
        await load().aclient_session.aclose()


class LitellmUpstream(Upstream):
    """The models of one provider. The name of a model is never read as another provider, or as an address."""

    def __init__(self, settings: UpstreamSettings, most: int) -> None:
        """`most`: bytes of one answer."""
        super().__init__(settings.breaker_failures)
        self._settings = settings
        self._provider = str(settings.provider)
        self._most = most
        self._client: AsyncHTTPHandler | None = None

    @property
    def is_ready(self) -> bool:
        """Whether litellm has been imported."""
        return _is_loaded()

    async def known(self, model: Model) -> Model:
        """The model, with what litellm knows of it."""
        await _loaded()
        return known(model)

    async def open(
        self, body: Json, key: str | None, headers: Mapping[str, str], record: AskRecord | None
    ) -> "LitellmAnswer":
        """Ask. Raises `UpstreamError`."""
        if record is not None:
            record.body = encode(body)
        litellm = await _loaded()
        secret = key or self._settings.api_key.get_secret_value()
        asked = Ask(str(body["model"]), secret, self._settings.base_url or "")
        if _STEERS.search(asked.model) or not asked.model.isprintable():
            message = f"There is no model of this name here: {asked.model[:100]!r}."
            raise asked.failed(Problem("model_not_found", message, param="model"))
        try:
            stream = await litellm.acompletion(**self._arguments(body, secret, litellm), extra_headers=dict(headers))
        except Exception as error:  # any error of a hundred providers
            raise _failure(error, asked, asking=True) from None
        return LitellmAnswer(stream, asked, self._most, record)

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.client.aclose()

    def _arguments(self, body: Json, secret: str, litellm: Any) -> Json:
        from .litellm_client import client  # it imports litellm

        if self._client is None:
            self._client = client(self._settings.connect_timeout)
        provider, url = self._provider, self._settings.base_url
        if url and provider == "anthropic":
            url = url.removesuffix("/v1")
        elif url and provider == "gemini" and not _VERSIONED.search(url):
            url = f"{url}/v1beta"
        arguments = {
            **deepcopy(body),  # it edits tools and messages in place
            "model": f"{provider}/{body['model']}",
            "custom_llm_provider": provider,
            "api_base": url,
            "api_key": secret or (_NO_KEY if url else None),
            "timeout": self._client.timeout,
            "client": self._client if provider in _TAKING_CLIENTS else None,
            "max_retries": 0,
            "drop_params": True,
        }
        if provider not in _TAKING_CLIENTS and provider in litellm.openai_compatible_providers:
            arguments["allowed_openai_params"] = ["max_retries"]  # otherwise it is dropped, and two are made
        if provider in {"azure", "openai"}:
            names = ("tools", "reasoning_effort", "api_base", "web_search_options")
            told = {name: arguments.get(name) for name in names}
            info, _ = litellm.main.responses_api_bridge_check(body["model"], provider, **told)
            arguments |= _STATELESS if info.get("mode") == "responses" else {}
        return arguments


_KEPT = ("vertex_ai_grounding_metadata", "citations", "search_results")
"""What is read of a chunk beside its choices."""
_GUESSED = frozenset({"stop", "tool_calls"})
"""Finish reasons that litellm gives a Gemini where it knows none."""
_GEMINI_FAILED = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS"}
)
"""Ends in which the model did something that its server could not use: litellm calls them regular."""


class LitellmAnswer:
    """A stream of litellm, as the chunks of a chat server."""

    def __init__(self, stream: Any, asked: Ask, most: int, record: AskRecord | None) -> None:
        """`stream` is a `CustomStreamWrapper` of litellm."""
        self._pieces = None if record is None else record.pieces
        self._stream = stream
        self._asked = asked
        self._left = most
        self._ended = False
        self._reading: asyncio.Task[Any] | None = None
        """Reads the next chunk: litellm's own `__anext__` may not be cancelled and called again."""

    async def next(self) -> list[Json] | None:
        """The next chunks, perhaps none; None at the end. It may be cancelled, and called again."""
        if self._ended:
            return None
        if self._reading is None:
            self._reading = asyncio.ensure_future(anext(self._stream, None))
        await asyncio.wait((self._reading,))
        reading, self._reading = self._reading, None
        try:
            chunk = reading.result()
        except Exception as error:  # any error of a hundred providers
            raise _failure(error, self._asked, asking=False) from None
        if chunk is None:
            self._ended = True
            counted = [held.usage for held in self._stream.chunks if getattr(held, "usage", None) is not None]
            return [{"choices": [], "usage": usage.model_dump(exclude_none=True)} for usage in counted]
        payload = self._payload(chunk.model_dump(exclude_none=True))
        if payload is None:
            return []
        piece = encode(payload) + b"\n"
        self._left -= len(piece)
        if self._left < 0:
            raise self._asked.too_large()
        if self._pieces is not None:
            self._pieces.append((time.monotonic(), piece))
        return [payload]

    def close(self) -> None:
        """No more is read: a model that is still writing is stopped."""
        if not self._ended:
            closing = asyncio.ensure_future(_close(self._stream, self._reading))
            _closing.add(closing)
            closing.add_done_callback(_closing.discard)

    def _payload(self, chunk: Json) -> Json | None:
        """The chunk as a chat server would send it; None if it holds nothing."""
        payload: Json = {"choices": chunk.get("choices", []), **{key: chunk[key] for key in _KEPT if chunk.get(key)}}
        for choice in payload["choices"]:
            if "finish_reason" in choice and not self._finished(choice):
                del choice["finish_reason"]
            delta = choice["delta"]
            cited = (delta.get("provider_specific_fields") or {}).get("citation")
            if isinstance(cited, dict) and cited.get("url"):  # Claude's
                delta["annotations"] = [{"type": "url_citation", "url": cited["url"], "title": cited.get("title")}]
        holds = any(choice["delta"] or "finish_reason" in choice for choice in payload["choices"])
        return payload if holds or len(payload) > 1 else None

    def _finished(self, choice: Json) -> bool:
        """Whether the model's server gave a finish reason. Raises `UpstreamError` for one that is a failure."""
        response = getattr(self._stream.completion_stream, "response", None)
        reasons = response.extensions.get("finish_reasons") if response is not None else None
        if reasons is None or choice["finish_reason"] not in _GUESSED:
            return bool(self._stream.received_finish_reason or self._stream.intermittent_finish_reason)
        reason = reasons[-1] if reasons else ""
        if reason in _GEMINI_FAILED:
            error = {"type": "invalid_request_error", "code": "tool_use_failed"}  # Groq's words for it
            raise self._asked.reported({"message": f"The model ended with {reason}.", **error})
        if reason == "MODEL_ARMOR":
            choice["finish_reason"] = "content_filter"
        return bool(reason)


_closing: set["asyncio.Task[None]"] = set()


async def _close(stream: Any, reading: "asyncio.Task[Any] | None") -> None:
    with suppress(Exception, asyncio.CancelledError):  # whatever it has read, nobody wants it
        if reading is not None:
            reading.cancel()
            await reading
    with suppress(Exception):  # it may be closed already
        await stream.aclose()


_PREFIX = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception)(?::| -) ?)+")
"""The names of errors that litellm writes first."""
_UNSET = re.compile("Credential|NoRegion|ProfileNotFound|RefreshError|GoogleAuth|ImportError|ModuleNotFound")
"""In the names of errors of Amazon's and Google's libraries, and of missing ones, before anything is asked."""
_UNTRANSLATED = Problem(
    code="unsupported_value",
    message="The request cannot be put into the form that this model's provider takes, so it was not sent. A frequent "
    "cause is the JSON Schema of a tool: `true` or `false` in the place of a schema, or a list as `items`.",
)
_MOST_CAUSES = 20


def _failure(error: Exception, asked: Ask, *, asking: bool) -> UpstreamError:
    """What happened: what the first error in the chain says that can say it."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and len(chain) < _MOST_CAUSES:
        chain.append(cause)
    for each in reversed(chain):
        own = type(each).__module__.startswith("litellm")  # the responses of its errors are made up
        response: Any = None if own else getattr(each, "response", None)
        if isinstance(each, aiohttp.ClientError):
            return asked.unreached(each)
        if _UNSET.search(type(each).__name__):
            message = "This server lacks credentials, or a library, for this model's provider."
            return asked.failed(Problem("upstream_auth_error", message), str(each))
        if not getattr(response, "is_success", True):
            text = ""
            with suppress(RuntimeError):  # it was not read
                text = response.text
            return asked.refused(response.status_code, text, response.headers)
        if isinstance(body := getattr(each, "body", None), dict):
            return asked.reported(body)
        if own and isinstance(chain[-1], AttributeError | LookupError | TypeError):  # a fault of litellm
            return UpstreamError(_UNTRANSLATED) if asking else asked.invalid("the answer cannot be read")
        if status := getattr(each, "status_code", None):
            return asked.reported({"message": _PREFIX.sub("", str(getattr(each, "message", each))), "code": status})
    return asked.reported({"message": _PREFIX.sub("", str(error)), "code": 500})
