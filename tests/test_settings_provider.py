"""`--provider`: an upstream by the name of its provider, without a file."""

from pathlib import Path
from typing import Any

import pytest

from app.cli.given_upstream import settled
from app.providers.lookup import BY_NAME
from app.settings import GIVEN, ConfigMistakesError, Settings, Upstream, load

KEYS = {"GROQ_API_KEY": "g", "OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "DEEPSEEK_API_KEY": "d"}
OPENAI = "https://api.openai.com/v1"
ELSEWHERE = "http://127.0.0.1:9/v1"


def given(folder: Path, flags: dict[str, str], **environ: str) -> Settings:
    """What these flags and variables come to."""
    return load(flags, {**KEYS, **environ}, folder)


@pytest.mark.parametrize(
    ("flags", "upstream"),
    [
        ({"provider": "groq"}, {"via": "chat", "provider": "groq", "api_key": "g"}),
        ({"provider": "ollama"}, {"via": "chat", "provider": "ollama"}),
        ({"provider": "openai"}, {"via": "responses", "provider": "openai", "base_url": OPENAI, "api_key": "o"}),
        ({"provider": "openai", "via": "chat"}, {"via": "chat", "provider": "openai", "api_key": "o"}),
        ({"provider": "openai", "via": "litellm"}, {"via": "litellm", "provider": "openai", "api_key": "o"}),
        ({"provider": "deepseek", "via": "responses"}, {
            "via": "responses", "provider": "deepseek", "base_url": "https://api.deepseek.com", "api_key": "d",
        }),
        ({"provider": "anthropic"}, {"via": "messages", "provider": "anthropic", "api_key": "a"}),
        ({"provider": "anthropic", "via": "litellm"}, {"via": "litellm", "provider": "anthropic", "api_key": "a"}),
        ({"provider": "deepseek", "via": "messages"}, {"via": "messages", "provider": "deepseek", "api_key": "d"}),
        ({"provider": "bedrock"}, {"via": "litellm", "provider": "bedrock"}),
        ({"provider": "groq", "upstream_key": "mine"}, {"via": "chat", "provider": "groq", "api_key": "mine"}),
        ({"provider": "replicate", "upstream_key": "r"}, {"via": "litellm", "provider": "replicate", "api_key": "r"}),
        ({"provider": "llama_cpp", "upstream": ELSEWHERE}, {
            "via": "chat", "provider": "llama_cpp", "base_url": ELSEWHERE,
        }),
        ({"provider": "azure", "upstream": ELSEWHERE, "via": "responses", "upstream_key": "z"}, {
            "via": "responses", "provider": "azure", "base_url": ELSEWHERE, "api_key": "z",
        }),
    ],
)  # fmt: skip
def test_a_provider_can_be_given_without_a_file(
    flags: dict[str, str], upstream: dict[str, Any], tmp_path: Path
) -> None:
    settings = given(tmp_path, flags)
    assert settings.upstreams == {GIVEN: Upstream.model_validate(upstream)}
    assert {name: model.upstream for name, model in settings.models.items()} == {"*": GIVEN}
    assert settings.via_is_open is False


@pytest.mark.parametrize("name", ["groq", "openai", "anthropic"])
@pytest.mark.parametrize("via", [None, "chat", "responses", "litellm"])
def test_the_key_of_the_environment_goes_to_no_other_address(name: str, via: str | None, tmp_path: Path) -> None:
    if (name, via) == ("anthropic", "chat"):
        return  # it has no chat completions
    flags = {"provider": name, "upstream": ELSEWHERE} | ({"via": via} if via else {})
    assert given(tmp_path, flags).upstreams[GIVEN].api_key is None


def test_the_environment_can_name_it(tmp_path: Path) -> None:
    settings = given(tmp_path, {}, AM_PROVIDER="groq")
    assert settings.upstreams[GIVEN].base_url == "https://api.groq.com/openai/v1"
    path = f"upstreams.{GIVEN}"
    assert {name: settings.origins[f"{path}.{name}"] for name in ("provider", "via", "api_key")} == {
        "provider": "AM_PROVIDER",
        "via": 'provider = "groq"',
        "api_key": "env:GROQ_API_KEY",
    }


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_each_provider_of_ours_can_be_given_by_name(name: str, tmp_path: Path) -> None:
    """With a key, and an address where it has none."""
    known = BY_NAME[name]
    flags = {"provider": name, "upstream_key": "k"}
    if known.at_any_address:
        flags["upstream"] = ELSEWHERE
    upstream = given(tmp_path, flags).upstreams[GIVEN]
    assert upstream.via == known.usual_via


@pytest.mark.parametrize(
    ("flags", "environ", "mistake"),
    [
        ({"provider": "deepsek"}, {}, '--provider: there is no provider "deepsek" (did you mean deepseek?)'),
        ({"provider": "zzz"}, {}, '--provider: there is no provider "zzz"; docs/providers.md lists the names'),
        ({}, {"AM_PROVIDER": "grok"}, 'AM_PROVIDER: there is no provider "grok" (did you mean groq?)'),
        ({"provider": "xai"}, {}, "--provider: the key of xai is read from XAI_API_KEY, which is not set"),
        ({"provider": "cohere"}, {"COHERE_API_KEY": ""},
         "--provider: the key of cohere is read from COHERE_API_KEY, which is empty"),
        ({"provider": "llama_cpp"}, {}, "--provider: the address of llama_cpp is not known: give it with --upstream"),
        ({"provider": "anthropic", "via": "responses"}, {},
         "--provider: the address of anthropic is not known: give it with --upstream"),
        ({"provider": "azure"}, {}, "--provider: azure needs its key (--upstream-key) or its address (--upstream)"),
        ({"via": "chat"}, {}, "--via: means nothing without --upstream or --provider"),
    ],
)  # fmt: skip
def test_a_mistake_is_the_only_one_and_names_the_flag(
    flags: dict[str, str], environ: dict[str, str], mistake: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigMistakesError) as caught:
        given(tmp_path, flags, **environ)
    assert [str(each) for each in caught.value.mistakes] == [mistake]


async def test_a_provider_with_a_known_address_is_not_looked_at(tmp_path: Path) -> None:
    settings = given(tmp_path, {"provider": "groq"})
    assert await settled(settings) == (settings, [])
