"""All providers that are known, a row each. Of any other, litellm knows the address and the API."""

import re

from .provider import HINTS, UNKNOWN, ErrorWords, Provider

ANTHROPIC = Provider(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_API_KEY",
    aliases=("claude",),
    via="messages",
    one_maker=True,
    needs_tools=True,
    error_words=ErrorWords(
        too_long=("exceed context limit",),
        quota=("credit balance is too low",),
        state=(
            r"\binvalid \W?(?:signature|data)\W? in \W?(?:redacted_)?thinking\W? block",
            r"\binvalid \W?encrypted_\w{1,20}\W? in \W?\w{1,40}\W? block",
            r"\bexpected \W?thinking\W? or \W?redacted_thinking\W?, but found",
            r"thinking\W? blocks in the latest assistant message cannot be modified",
        ),
        schemas=(
            r"\bcompiled grammar is too large",
            r"\bschema is too complex",
            r"\btoo many (?:strict tools|optional parameters|recursive definitions)",
            r"\bfor '\w{1,20}' type, ",
            r"\boutput_(?:config\.)?format(?:\.schema)?: ",
        ),
    ),
)


OPENAI = Provider(
    "openai",
    "https://api.openai.com/v1",
    "OPENAI_API_KEY",
    via="responses",
    settings={"max_tokens_field": "max_completion_tokens", "reasoning_field": "none", "hints": HINTS},
    call_ids="plain40",
    one_maker=True,
    error_words=ErrorWords(
        too_long=("input tokens exceed the configured",),
        state=(
            r"\bencrypted content .{1,200} could not be verified",
            r"\bencrypted content (?:could not be (?:decrypted|parsed)|organization_id did not match)",
        ),
    ),
)


_UNREAD = {"reasoning_field": "none"}
"""For servers that refuse or ignore the reasoning of earlier turns."""
_BY_WORD = {"named_tool_choice": "required"}
"""For servers that refuse or ignore a `tool_choice` that names a tool."""
_ZAI = "https://api.z.ai/api"

PROVIDERS = (
    ANTHROPIC,
    Provider(
        "azure",
        via="litellm",
        settings={**_UNREAD, "hints": HINTS},
        call_ids="plain40",
        one_maker=True,
        error_words=ErrorWords(policy=("content management policy", "ResponsibleAIPolicy")),
    ),
    Provider(
        "bedrock",
        via="litellm",
        needs_tools=True,
        error_words=ErrorWords(too_long=("input is too long", "input tokens exceeded")),
    ),
    Provider(
        "cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        settings=_UNREAD,
        error_words=ErrorWords(too_long=("current length is.{0,40}while limit is",)),
    ),
    Provider(
        "codestral",
        "https://codestral.mistral.ai/v1",
        "CODESTRAL_API_KEY",
        settings=_UNREAD,
        call_ids="alphanumeric9",
        stream_options=False,
    ),
    Provider(
        "cohere",
        "https://api.cohere.ai/compatibility/v1",
        "COHERE_API_KEY",
        aliases=("cohere_chat",),
        settings=_UNREAD,
        stream_options=False,
    ),
    Provider(  # keys of China have another address
        "dashscope",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        aliases=("qwen",),
    ),
    Provider("deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    Provider(
        "deepseek",
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        messages_url="https://api.deepseek.com/anthropic",
        can={"vision": False, "files": False, "audio": False, "structured_output": ("json_object",)},
        one_maker=True,
        blank_reasoning=True,
        error_words=ErrorWords(
            state=(
                r"\bcontent\[\]\.thinking\W? in the thinking mode must be passed back",
                r"\bmissing thinking block in the assistant message",
            )
        ),
        functions_only=True,
    ),
    Provider(
        "docker_model_runner",
        "http://127.0.0.1:12434/engines/v1",
        settings={**_BY_WORD, "takes_image_urls": False},
    ),
    Provider("fireworks_ai", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", aliases=("fireworks",)),
    Provider(  # its chat completions have not been tried with tools, pictures and schemas, so litellm asks it
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        via="litellm",
        one_maker=True,
        error_words=ErrorWords(
            too_long=("input token count.{0,60}exceeds", "maximum number of tokens allowed"),
            bad_key=("API_KEY_INVALID", "API key not valid"),
        ),
    ),
    Provider("github", "https://models.github.ai/inference", "GITHUB_TOKEN", settings=_UNREAD, call_ids="plain40"),
    Provider(  # it follows a format only if the answer is not streamed, and never in a request with tools
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        settings=_UNREAD,
        can={"structured_output": ()},
        error_words=ErrorWords(model_failed=("tool_use_failed",)),
    ),
    Provider("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN", settings=_UNREAD),
    Provider(
        "llama_cpp",
        aliases=("llamacpp", "llamafile"),
        settings={**_BY_WORD, "takes_image_urls": False},
        error_words=ErrorWords(too_long=("exceed_context_size", "available context size")),
        functions_only=True,
    ),
    Provider("lm_studio", "http://127.0.0.1:1234/v1", aliases=("lmstudio",), settings=_BY_WORD, functions_only=True),
    Provider("minimax", "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", via="messages", one_maker=True),
    Provider(
        "mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        settings=_UNREAD,
        call_ids="alphanumeric9",
        one_maker=True,
        stream_options=False,
    ),
    Provider(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        messages_url="https://api.moonshot.ai/anthropic",
        error_words=ErrorWords(state=(r"\breasoning_content is missing in assistant tool call",)),
    ),
    Provider("nvidia_nim", "https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY", aliases=("nvidia",)),
    Provider(  # versions before 0.32.11 refuse other efforts
        "ollama",
        "http://127.0.0.1:11434/v1",
        aliases=("ollama_chat",),
        settings={**_BY_WORD, "reasoning_field": "reasoning", "takes_image_urls": False},
        efforts=("none", "low", "medium", "high", "max"),
        error_words=ErrorWords(too_long=("exceeded max context",)),
        functions_only=True,
    ),
    OPENAI,
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", functions_only=True),
    Provider(
        "perplexity",
        "https://api.perplexity.ai",
        "PERPLEXITY_API_KEY",
        error_words=ErrorWords(too_long=("total length of all messages is too long",)),
    ),
    Provider("sambanova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    Provider("sglang", "http://127.0.0.1:30000/v1"),
    Provider("together_ai", "https://api.together.ai/v1", "TOGETHER_API_KEY", aliases=("together",)),
    Provider("transformers", "http://127.0.0.1:8000/v1", settings=_BY_WORD, functions_only=True),
    Provider("vertex_ai", via="litellm", aliases=("vertex_ai_beta",), needs_tools=True),
    Provider(
        "vllm",
        "http://127.0.0.1:8000/v1",
        aliases=("hosted_vllm",),
        settings={"reasoning_field": "reasoning"},
        functions_only=True,
    ),
    Provider(
        "xai",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        one_maker=True,
        error_words=ErrorWords(
            state=(r"\bcould not decrypt the provided encrypted_content", r"\bcould not decode the compaction blob")
        ),
    ),
    Provider("zai", _ZAI + "/paas/v4", "ZAI_API_KEY", messages_url=_ZAI + "/anthropic", one_maker=True),
)
_BY_NAME = {name: provider for provider in PROVIDERS for name in (provider.name, *provider.aliases)}


def provider_of(name: str | None) -> Provider:
    """The provider of this name."""
    return _BY_NAME.get(name or "", UNKNOWN)


_COMMON_WORDS = ErrorWords(
    too_long=(
        r"context_length_exceeded|context.?window|(maximum|model'?s?) context length|prompt (is )?too long",
        r"too many (input )?tokens|maximum context limit|longer than the model'?s context",
        r"`inputs` tokens \+ `max_new_tokens` must be|maximum input length is.{0,40}tokens",
    ),
    policy=("content_policy_violation|content_filter|safety system",),
    quota=("insufficient_quota|exceeded your current quota",),
    bad_key=("invalid.api.key|incorrect api key",),
)
"""Those of many servers."""
ERROR_WORDS = {
    kind: re.compile(
        "|".join(
            word
            for words in (_COMMON_WORDS, *(each.error_words for each in PROVIDERS))
            for word in getattr(words, kind)
        ),
        re.IGNORECASE,
    )
    for kind in ErrorWords._fields
}
"""What finds an error of each kind in the words of any upstream: a gateway passes on those of its own upstreams."""
