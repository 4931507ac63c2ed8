"""The dialect `LITELLM`: bodies of chat completions that litellm can translate, and what its models are known to take.

litellm drops some of what a provider does not take without an error. What it drops is left out here, with a warning.
"""

import gc
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any, NamedTuple

from ..dialects.chat.server import CHAT, TRANSLATION
from ..prompt.nouns import Model, Prompt
from ..providers.claude import claude_of
from ..providers.provider import HINTS
from ..settings.tables import Can
from ..types.json import Json, decode, without
from ..types.problems import Warnings, refuse

_ENVIRONMENT = {
    "LITELLM_OFFLINE_MODE": "true",  # from 1.109 on: nothing is downloaded
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # the same for 1.106
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",  # otherwise importing it reads a .env file
    "LITELLM_LOG": "CRITICAL",  # its log lines quote answers
    "AIOHTTP_CONNECTOR_LIMIT": "1000000",  # a turn that waits for a connection waits for another turn
    "AIOHTTP_CONNECTOR_LIMIT_PER_HOST": "0",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # a table full of the same cell is no fault
}


@cache
def load() -> Any:
    """Import litellm. The first call takes seconds."""
    os.environ.update(_ENVIRONMENT)
    import litellm

    from .litellm_client import client

    litellm.aclient_session = client().client  # for the providers that OpenAI's library asks
    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True
    litellm.telemetry = False
    gc.freeze()  # otherwise each full collection stops this server for 0.2 s
    return litellm


# What models take

GEMINIS = frozenset({"gemini", "vertex_ai"})
_CLAUDES = frozenset({"anthropic", "bedrock", "vertex_ai"})
_TEXT_ONLY = ("deepseek", "heroku", "sambanova")
_LOSSES = {
    "audio": {"anthropic", "bedrock", "codestral", "mistral", "ollama", "ollama_chat", *_TEXT_ONLY},
    "files": {"azure_ai", "ollama", "ollama_chat", *_TEXT_ONLY},
    "parallel_calls": GEMINIS,
    "reasoning": {"mistral"},  # an effort is written into the prompt
    "strict_tools": {"anthropic", "bedrock", "fireworks_ai", "gemini", "vertex_ai", "xai"},
    "tools": {"ollama"},  # they are written into the prompt
    "vision": {*_TEXT_ONLY},
}
"""By what a model can do, the providers for which litellm leaves it out, whatever its map of models says."""
_NEEDED = dict(parallel_tool_calls="parallel_calls", reasoning_effort="reasoning", tools="tools", verbosity="verbosity")
"""Settings, and what a model cannot do without them."""
_BUDGETS = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192}
"""Tokens that litellm lets an older Claude think."""
_LEVELS = ("low", "medium", "high")


class _Facts(NamedTuple):
    """What litellm knows of a model."""

    info: Json
    """Its entry in the map of models; empty if it has none."""
    takes: frozenset[str]
    """The settings that are passed on to it; empty if that is not known."""

    def supports(self, name: str) -> bool | None:
        """Whether it does; None if the map does not say."""
        return self.info.get(f"supports_{name}")


@lru_cache(1000)
def _facts(provider: str, name: str) -> _Facts:
    info: Json = {}
    takes: Sequence[str] | None = None
    for other in ("openai", provider) if provider == "azure" else (provider,):
        with suppress(Exception):  # a bare one, for a model that it does not know; the same below
            found = load().get_model_info(name, custom_llm_provider=other)
            info |= {key: value for key, value in found.items() if value is not None}
    with suppress(Exception):
        takes = load().get_supported_openai_params(model=name, custom_llm_provider=provider)
    return _Facts(info, frozenset(takes or ()))


def _is_claude(model: Model) -> bool:
    return model.upstream.provider in _CLAUDES and "claude" in model.upstream_name


def known(model: Model) -> Model:
    """The model, with what litellm knows of it where nothing is configured."""
    provider, claude = str(model.upstream.provider), _is_claude(model)
    facts = _facts(provider, model.upstream_name)
    schemas, native = facts.supports("response_schema"), facts.supports("native_structured_output")
    formats: tuple[str, ...] | None = ("json_object",) if schemas is False else None
    if provider in GEMINIS:
        formats = ("json_schema", "json_object") if schemas else ("json_object",)
    if claude or provider == "bedrock":  # an older Claude would be made to call a tool
        formats = () if claude and not native else ("json_schema",)
    can: Json = {
        "vision": facts.supports("vision"),
        "files": facts.supports("pdf_input"),
        "audio": facts.supports("audio_input"),
        "parallel_calls": False if provider == "bedrock" and not native else None,
        "structured_output": () if facts.takes and "response_format" not in facts.takes else formats,
        **{loss: False for loss, providers in _LOSSES.items() if provider in providers},
        **{loss: False for setting, loss in _NEEDED.items() if facts.takes and setting not in facts.takes},
        **model.can.model_dump(exclude_none=True),
    }
    budgets = _BUDGETS if claude and not facts.supports("adaptive_thinking") else {}
    return model._replace(
        can=Can(**can),
        provider=model.provider._replace(efforts=_efforts(model, facts) or model.provider.efforts),
        thinking_tokens=budgets,
        marks_cache=claude,
    )


def _efforts(model: Model, facts: _Facts) -> tuple[str, ...]:
    """The efforts that a model knows; none if that is not known."""
    provider, name = model.upstream.provider, model.upstream_name
    if provider in GEMINIS and "gemini" in name:  # a Gemini 3 gets a level, an older one a budget
        leveled, large = "gemini-3" in name, "pro" in name
        return (*(() if leveled and large else ("minimal",) if leveled or large else ("none", "minimal")), *_LEVELS)
    less = [each for each in ("none", "minimal") if facts.supports(f"{each}_reasoning_effort")]
    more = [each for each in ("xhigh", "max") if facts.supports(f"{each}_reasoning_effort")]
    if _is_claude(model):
        if not facts.supports("adaptive_thinking"):
            return ("none", *_BUDGETS)
        return (*(() if facts.info.get("thinking_always_on") else ("none",)), "minimal", *_LEVELS, *more)
    return (*less, *_LEVELS, *more) if provider in {"azure", "openai"} and facts.supports("reasoning") else ()


# The body

_SENT = frozenset({"messages", "model", "stream", "stream_options"})
"""What is no setting."""
_QUIET = frozenset(HINTS) - {"service_tier"}
"""Settings that nobody misses."""
_NAMES = {"logprobs": "top_logprobs", "max_tokens": "max_output_tokens", "web_search_options": "tools"}
"""The names of settings in a request of the Responses API, where they differ."""


def _body(prompt: Prompt, model: Model) -> tuple[Json, Warnings]:
    provider = str(model.upstream.provider)
    facts = _facts(provider, model.upstream_name)
    asked, warnings = TRANSLATION.body(prompt, model)
    _check(asked["messages"], model)
    taken = (facts.takes or asked.keys()) - {"metadata"} | _SENT  # litellm would use `metadata` for itself
    lost = [_NAMES.get(name, name) for name in asked if name not in taken and name not in _QUIET]
    asked = {name: value for name, value in asked.items() if name in taken}
    if _is_claude(model) and not _set_up_thinking(asked, facts):
        lost.append("reasoning.effort")
    if provider in GEMINIS:
        asked["messages"] = _in_steps(asked["messages"], model.upstream_name)
    warnings += [f"'{name}' has no effect on this model." for name in dict.fromkeys(lost)]
    return asked, warnings


LITELLM = CHAT._replace(translation=TRANSLATION._replace(body=_body))


def _check(messages: list[Json], model: Model) -> None:
    """Refuse what litellm would put words of its own in the place of, or fetch from any address."""
    refuses_blank = _is_claude(model) or model.upstream.provider == "bedrock"
    for message in messages:
        content = message["content"]
        if refuses_blank and message["role"] == "user" and isinstance(content, str) and not content.strip():
            raise refuse("unsupported_value", "This model does not accept empty input.", "input")
        images = [part["image_url"] for part in content if "image_url" in part] if isinstance(content, list) else []
        if not model.upstream.takes_image_urls and any(not image["url"].startswith("data:") for image in images):
            by_url = "This model does not accept this image by URL. Send it as a data URI."
            raise refuse("unsupported_value", by_url, "input")


def _set_up_thinking(asked: Json, facts: _Facts) -> bool:
    """Take away an effort, or thinking blocks, that Claude refuses. False: the effort has no effect.

    It refuses earlier thinking blocks while it may not think, and to think in a loop of tools that began without them.
    """
    effort, claude = asked.get("reasoning_effort"), claude_of(asked["model"])
    honoured = effort in (None, "none")
    if not honoured and _may_think(asked, facts):
        if (most := facts.info.get("max_output_tokens")) is not None:  # litellm leaves 4,096 after the reasoning
            asked.setdefault("max_tokens", most)
        return True
    asked.pop("reasoning_effort", None)
    if claude is not None and claude.thinks_unasked:  # it thinks without being asked to
        if effort != "none":
            return honoured
        if facts.info.get("key") not in load().model_cost or facts.info.get("thinking_always_on"):
            return False
        asked["thinking"] = {"type": "disabled"}
    asked["messages"] = [without(message, "thinking_blocks") for message in asked["messages"]]
    return honoured


def _may_think(asked: Json, facts: _Facts) -> bool:
    if not facts.supports("adaptive_thinking") and asked.get("tool_choice", "none") not in ("auto", "none"):
        return False
    roles = [message["role"] for message in asked["messages"]]
    said = [at for at in range(len(roles)) if roles[at] == "user" and roles[at - 1] != "tool"]  # else parts of outputs
    loop = [message for message in asked["messages"][max(said, default=0) :] if message["role"] == "assistant"]
    return not loop or "tool_calls" not in loop[-1] or any("thinking_blocks" in loop[end] for end in (0, -1))


_WITH_IDS = re.compile(r"(?:.*/)?gemini-(?:[3-9]|[1-9]\d|.*latest$)")


def _in_steps(messages: list[Json], name: str) -> list[Json]:
    """The same conversation, with the calls of a message one by one where two of them are equal.

    Up to Gemini 2.5 calls have no ids, and litellm drops every part of a message that is equal to one before it: of
    three equal calls one is sent, with three outputs, which Google refuses.
    """
    if _WITH_IDS.match(name) or not ("gemini" in name or name.isdigit()):  # a number is a tuned Gemini
        return messages
    outputs = {message["tool_call_id"]: message for message in messages if message["role"] == "tool"}
    steps: list[Json] = []
    for message in messages:
        calls = message.get("tool_calls", [])
        if len({_as_read(call["function"]) for call in calls}) < len(calls):
            for call in calls:
                steps += [{**message, "tool_calls": [call]}, outputs.pop(call["id"])]
                message = {"role": "assistant", "content": None}
        elif message["role"] != "tool" or message["tool_call_id"] in outputs:
            steps.append(message)
    return steps


def _as_read(function: Json) -> str:
    return json.dumps([function["name"], decode(function["arguments"])], sort_keys=True)
