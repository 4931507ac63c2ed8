"""What the file of every provider must say, and what installed litellm says of the same providers."""

import re
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from app.options import ChatCompat
from app.protocol.problems import Problem
from app.providers.capabilities import EFFORTS
from app.providers.lookup import PROVIDERS, provider_of
from app.providers.provider import EVERY_PART, Provider, Translation
from app.settings import Upstream
from app.settings.values import is_loopback
from app.upstreams.error_body import ErrorBody
from app.upstreams.faults import problem_of_status, refuses_schemas, refuses_state
from app.upstreams.litellm_ask import arguments
from app.upstreams.litellm_can import capabilities
from app.upstreams.litellm_chat import load, providers
from app.upstreams.litellm_errors import operator_problem, outage_of

Json = dict[str, Any]

MODELS: Final = (
    "m", "claude-sonnet-4-5", "claude-opus-5-1", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-pro-preview",
    "gpt-oss-20b", "gpt-5", "1234567890",
)  # fmt: skip
SAYS: Final = (
    "adaptive_thinking", "max_reasoning_effort", "native_structured_output", "none_reasoning_effort", "reasoning",
    "response_schema",
)  # fmt: skip
"""What the rules look for in the model map."""
MAPS: Final = [
    {f"supports_{name}": value for name, value in zip(SAYS, values, strict=True)}
    for values in product((True, False), repeat=len(SAYS))
]
CALL: Final = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
ASK: Final[Json] = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [{"id": "a", **CALL}]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "assistant", "content": "One.", "thinking_blocks": [{"type": "thinking", "thinking": "I see."}]},
        {"role": "user", "content": "And?"},
    ],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "response_format": {"type": "json_object"},
    "reasoning_effort": "low",
}
HOSTS: Final = [each for each in PROVIDERS if each.base_url and each.key_variable]
OTHER_ADDRESS: Final = {
    "dashscope": "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "deepseek": "https://api.deepseek.com/beta",
}
"""Where litellm asks at another address than its provider names first, or in another region."""
NOT_SAID: Final = {
    "github": "litellm has its former address, and another variable",
    "huggingface": "litellm learns its address later, on the way",
    "minimax": "litellm learns its address later, on the way",
    "openai": "litellm learns its address later, on the way",
    "openrouter": "litellm learns its address later, on the way",
}


def named(provider: Provider) -> str:
    """The id of a case."""
    return provider.name


every = pytest.mark.parametrize("provider", PROVIDERS, ids=named)


def test_no_two_providers_share_a_name_a_key_variable_or_a_parser() -> None:
    names = [name for provider in PROVIDERS for name in (provider.name, *provider.aliases)]
    assert len(names) == len(set(names))
    assert [name for name in names if not re.fullmatch(r"[a-z0-9_-]{1,64}", name)] == []
    variables = [provider.key_variable for provider in PROVIDERS if provider.key_variable]
    assert len(variables) == len(set(variables))
    classes = [name for each in PROVIDERS for name in (*each.litellm.chat_parsers, *each.litellm.mixed_parsers)]
    assert len(classes) == len(set(classes))


@every
def test_every_name_of_a_provider_leads_to_it(provider: Provider) -> None:
    assert {provider_of(name) for name in (provider.name, *provider.aliases)} == {provider}


def test_a_name_without_a_file_has_nothing_special() -> None:
    assert provider_of("of-tomorrow") == Provider(name="of-tomorrow")
    assert provider_of(None) == Provider(name="")


@every
def test_an_address_is_well_formed_and_a_key_goes_nowhere_in_the_clear(provider: Provider) -> None:
    assert re.fullmatch(r"[A-Z][A-Z0-9_]{1,60}_(API_KEY|TOKEN)", provider.key_variable or "ANY_API_KEY")
    addresses = [url for url in (provider.base_url, provider.messages_url) if url is not None]
    for address in addresses:
        parts = urlsplit(address)
        here = is_loopback(parts.hostname or "")
        assert parts.scheme == ("http" if here else "https")
        assert (provider.key_variable is None) == here
        assert not address.endswith("/")


@every
def test_its_settings_are_settings_of_an_upstream(provider: Provider) -> None:
    if not provider.speaks_chat:
        assert (provider.base_url, provider.takes_image_urls) == (None, True)
        return
    address = {} if provider.base_url else {"base_url": "http://h/v1"}
    upstream = Upstream.model_validate({"via": "chat", "provider": provider.name, **address})
    assert {name: getattr(upstream, name) for name in provider.settings_for("chat")} == provider.settings_for("chat")
    compat = {name: getattr(upstream, name) for name in ChatCompat.model_fields}
    assert compat == provider.compat.model_dump()


@every
def test_its_settings_for_the_messages_api_are_settings_of_an_upstream(provider: Provider) -> None:
    if provider.speaks_messages:
        address = {} if provider.messages_url else {"base_url": "http://h"}
        upstream = Upstream.model_validate({"via": "messages", "provider": provider.name, **address})
        known = provider.settings_for("messages")
        assert {name: getattr(upstream, name) for name in known} == known


@every
def test_what_its_own_table_says_stands_above_its_provider(provider: Provider) -> None:
    if provider.speaks_chat:
        content: Json = {"base_url": "http://h/v1", "reasoning_field": "reasoning", "named_tool_choice": "name"}
        upstream = Upstream.model_validate({"via": "chat", "provider": provider.name, **content})
        assert {name: getattr(upstream, name) for name in content} == content


@every
@pytest.mark.parametrize("known", [None, ["tools", "reasoning_effort", "response_format", "parallel_tool_calls"]])
def test_its_capabilities_are_in_order_whatever_the_model_map_says(provider: Provider, known: list[str] | None) -> None:
    for model, info in product(MODELS, MAPS):
        can = capabilities(provider.name, model, info, known)
        order = [EFFORTS.index(effort) for effort in can.efforts or ()]
        assert order == sorted(set(order))
        costs = [(can.thinking_tokens or {}).get(effort, 0) for effort in can.efforts or ()]
        assert costs == sorted(costs)
        assert set(can.thinking_tokens or ()) <= set(can.efforts or ())
        formats = {*(can.structured_output or ()), *(can.structured_beside_tools or ())}
        assert formats <= {"json_schema", "json_object"}


def translations(provider: Provider) -> list[Translation]:
    """For its own models, and for Claude."""
    return [provider.translation] if provider.claude is None else [provider.translation, provider.claude]


@every
def test_litellm_knows_the_names_and_classes_in_its_file(provider: Provider) -> None:
    about_litellm = provider.litellm != Provider(name="").litellm or any(
        each != Translation() for each in translations(provider)
    )
    assert provider.name in providers() or not about_litellm
    assert not provider.litellm.facts_of or provider_of(provider.litellm.facts_of) in PROVIDERS
    assert all(each.lost_parts <= EVERY_PART for each in translations(provider))


def test_litellm_has_every_parser_that_a_file_names() -> None:
    llms = Path(load().__file__).parent / "llms"
    classes = {
        name for file in llms.rglob("*.py") for name in re.findall(r"^class (\w+)", file.read_text(), re.MULTILINE)
    }
    for provider in PROVIDERS:
        assert {*provider.litellm.chat_parsers, *provider.litellm.mixed_parsers} <= classes
        if (parser := provider.litellm.parser) is not None:
            folder = llms.joinpath(*parser.module.rstrip(".").split(".")[2:])
            assert folder.is_dir(), parser.module


def test_an_error_of_a_providers_own_library_says_what_is_not_configured() -> None:
    faults = [fault for provider in PROVIDERS for fault in provider.litellm.setup_faults]
    assert len({fault.error for fault in faults}) == len(faults) > 0
    for fault in faults:
        kind = type(fault.error, (Exception,), {}) if fault.error.isidentifier() else ValueError
        assert operator_problem(kind(fault.error)) == Problem(code=fault.code, message=f"This server {fault.words}")


TOO_LONG: Final = "context_length_exceeded"
REFUSALS: Final = {
    ("anthropic", "input length and `max_tokens` exceed context limit: 9 > 8"): TOO_LONG,
    ("anthropic", "Your credit balance is too low to access the API."): "insufficient_quota",
    ("azure", "The response was filtered by the content management policy."): "content_policy_violation",
    ("azure", "innererror: ResponsibleAIPolicyViolation"): "content_policy_violation",
    ("bedrock", "Input is too long for requested model."): TOO_LONG,
    ("bedrock", "Input Tokens Exceeded: Number of input tokens exceeds maximum length"): TOO_LONG,
    ("cerebras", "Please reduce the length. Current length is 9 while limit is 8"): TOO_LONG,
    (
        "gemini",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
    ): TOO_LONG,
    ("gemini", "API key not valid. Please pass a valid API key. API_KEY_INVALID"): "upstream_auth_error",
    ("groq", "Failed to call a function. tool_use_failed"): "upstream_error",
    (
        "llama_cpp",
        "the request exceeds the available context size; exceed_context_size_error",
    ): TOO_LONG,
    ("ollama", "prompt too long; exceeded max context length by 12 tokens"): TOO_LONG,
    ("openai", "Input tokens exceed the configured limit of 8 tokens."): TOO_LONG,
    ("perplexity", "The total length of all messages is too long."): TOO_LONG,
}
"""What a provider's server said with status 400, and the code of the problem that it is to a client."""
OF_STATE: Final = (
    ("anthropic", "messages.1.content.0: Invalid `signature` in `thinking` block"),
    ("anthropic", "messages.1.content.3: Invalid `encrypted_content` in `web_search_result` block"),
    ("anthropic", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`."),
    ("anthropic", "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."),
    ("deepseek", "The `content[].thinking` in the thinking mode must be passed back to the API."),
    ("deepseek", "Missing thinking block in the assistant message at message index 11."),
    ("openai", "The encrypted content gAAA...DQ== could not be verified."),
    ("openai", "Encrypted content organization_id did not match the target organization."),
    ("xai", "Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content."),
    ("xai", "Could not decode the compaction blob. Ensure it is unmodified from the compact response."),
    ("moonshot", "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
)
"""The same where it does not take back what it gave out before, or misses some of it."""
OF_SCHEMAS: Final = (
    ("anthropic", "The compiled grammar is too large, which would cause performance issues. Simplify your schemas."),
    ("anthropic", "Schema is too complex for compilation. Try reducing the number of tools."),
    ("anthropic", "Too many strict tools: 21"),
    ("anthropic", "tools.0.custom: For 'integer' type, property 'minimum' is not supported"),
    ("anthropic", "output_config.format.schema: 'pattern' is not a valid regular expression"),
)
"""The same where it cannot enforce the schemas of a request."""


@every
def test_the_words_of_its_errors_are_understood(provider: Provider) -> None:
    content = {text: code for (name, text), code in REFUSALS.items() if name == provider.name}
    for text, code in content.items():
        problem = problem_of_status(400, ErrorBody(text), model="m", headers={}, secret=None)
        assert problem.code == code, text
    of_state = [text for name, text in OF_STATE if name == provider.name]
    for text in of_state:
        assert refuses_state(problem_of_status(400, ErrorBody(text, text), model="m", headers={}, secret=None)), text
    of_schemas = [text for name, text in OF_SCHEMAS if name == provider.name]
    for text in of_schemas:
        assert refuses_schemas(problem_of_status(400, ErrorBody(text, text), model="m", headers={}, secret=None)), text
    content |= dict.fromkeys((*of_state, *of_schemas), "invalid_value")
    patterns = [pattern for patterns in provider.error_words for pattern in patterns]
    assert [
        pattern for pattern in patterns if not any(re.search(pattern, text, re.IGNORECASE) for text in content)
    ] == []
    assert bool(content) == bool(patterns)


def test_an_overloaded_server_may_be_asked_again_whatever_litellm_calls_the_error() -> None:
    for provider in PROVIDERS:
        error = RuntimeError(f'{{"type": "error", "error": {{"type": "{provider.litellm.overloaded}"}}}}')
        assert (outage_of(error) == "unavailable") == bool(provider.litellm.overloaded)


@pytest.mark.parametrize("family", ["bedrock", "gemini", "gigachat", "ollama", "sagemaker", "snowflake", "vertex_ai"])
def test_no_name_of_a_family_is_forgotten_for_which_litellm_downloads_images(family: str) -> None:
    names = [name for name in providers() if name.startswith(family)]
    assert names
    assert {provider_of(name).litellm.fetches_images for name in names} == {"always"}


@pytest.mark.parametrize("provider", [each for each in HOSTS if each.name not in NOT_SAID], ids=named)
def test_litellm_has_the_same_address_and_key_variable(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(str(provider.key_variable), "sk-of-the-variable")
    _, name, key, base_url = load().get_llm_provider(f"{provider.name}/m")
    assert (name, key) == (provider.name, "sk-of-the-variable")
    assert base_url.rstrip("/") == OTHER_ADDRESS.get(provider.name, provider.base_url)


@every
@pytest.mark.parametrize("model", MODELS)
def test_a_request_to_litellm_leaves_the_given_one_as_it_is(provider: Provider, model: str) -> None:
    ask = {"model": model, **ASK}
    before = deepcopy(ask)
    rules = provider.translation_of(model)
    most = 9_000 if rules.needs_most_tokens else None
    sent = arguments(provider.name, ask, base_url="http://h/v1", most_tokens=most, stops_thinking=True)
    assert ask == before
    if "messages" in sent.get("extra_body", {}):
        return  # sent as it is
    assert ("max_tokens" in sent) == rules.needs_most_tokens
    assert ("stream_options" in sent) != rules.whole_with_format
    assistants = [message for message in sent["messages"] if message["role"] == "assistant"]
    reasoning = ["reasoning_content" in message for message in assistants]
    if provider.compat.reasoning_field == "none":
        assert not any(reasoning)
    if provider.compat.blank_reasoning:
        assert all(reasoning)
