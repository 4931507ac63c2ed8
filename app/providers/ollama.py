"""Ollama: its own API behind litellm, or its chat completions. It does not read `tool_choice` and fetches no images."""

from typing import Final

from ..options import ChatCompat
from .capabilities import Capabilities
from .provider import LEVELS, ErrorWords, Litellm, ModelFacts, Parser, Provider, Translation
from .responses_api import ResponsesApi

_LOST: Final = frozenset({"file", "input_audio"})


DIRECTLY: Final = ("none", *LEVELS, "max")
"""The efforts that all versions take; those before 0.32.11 refuse others."""


def _efforts(facts: ModelFacts) -> tuple[str, ...]:
    return LEVELS if facts.model.startswith("gpt-oss") else ("none", *LEVELS)


PROVIDERS: Final = (
    Provider(
        name="ollama",
        base_url="http://127.0.0.1:11434/v1",
        messages_url="http://127.0.0.1:11434",
        responses=ResponsesApi(functions_only=True, hosted_tools=()),
        named_tool_choice="required",
        compat=ChatCompat(reasoning_field="reasoning"),
        takes_image_urls=False,
        can=Capabilities(efforts=DIRECTLY),
        error_words=ErrorWords(too_long=("exceeded max context",)),
        litellm=Litellm(fetches_images="always"),
        translation=Translation(lost_parts=_LOST, tools_as_prompt=True, efforts=_efforts),
    ),
    Provider(
        name="ollama_chat",
        named_tool_choice="required",
        litellm=Litellm(
            fetches_images="always",
            parser=Parser(
                module="litellm.llms.ollama.chat.",  # its wrapper asks the server for the model on the way, and waits
                numbers_calls=True,
            ),
        ),
        translation=Translation(lost_parts=_LOST, efforts=_efforts),
    ),
)
