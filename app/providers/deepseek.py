"""DeepSeek. In a tool loop it refuses an assistant message without the reasoning before its calls."""

from typing import Final

from ..options import ChatCompat, Format
from .capabilities import Capabilities
from .provider import EVERY_PART, ErrorWords, Litellm, Provider, Translation
from .responses_api import ResponsesApi

_FORMATS: Final[tuple[Format, ...]] = ("json_object",)
"""It refuses a schema, even if litellm's model map has one."""

_HOSTED: Final = ("deepseek_", "web_search_call")
"""`deepseek_web_search` and `deepseek_read_url`, as it documents them, and the items of its searches. OpenAI's
`web_search` it ignores without a word (`deepseek-flash`), or runs (`deepseek-v4-flash` in August 2026): then
`hosted_tools` names it."""

PROVIDERS: Final = (
    Provider(
        name="deepseek",
        base_url="https://api.deepseek.com",
        messages_url="https://api.deepseek.com/anthropic",
        key_variable="DEEPSEEK_API_KEY",
        responses=ResponsesApi(functions_only=True, hosted_tools=_HOSTED),
        one_maker=True,
        error_words=ErrorWords(
            state=(
                r"\bcontent\[\]\.thinking\W? in the thinking mode must be passed back",
                r"\bmissing thinking block in the assistant message",
            )
        ),
        compat=ChatCompat(blank_reasoning=True),
        can=Capabilities(vision=False, files=False, audio=False, structured_output=_FORMATS),
        litellm=Litellm(any_key=True),
        translation=Translation(lost_parts=EVERY_PART, formats=_FORMATS),
    ),
)
