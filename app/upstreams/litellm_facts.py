"""What litellm's own tables say of a model. It is given as an argument: no import of litellm here."""

from typing import Any

Json = dict[str, Any]


def info_of(litellm: Any, provider: str, model: str) -> Json:
    """What litellm's map says of this model: what it knows, without the rest."""
    try:
        info = litellm.get_model_info(model, custom_llm_provider=provider)
    except Exception:  # noqa: BLE001 — litellm raises a bare Exception for a model it does not know
        return {}
    return {key: value for key, value in info.items() if value is not None}


def settings_of(litellm: Any, provider: str | None, model: str) -> list[str] | None:
    """The settings that litellm passes on to this model, if it knows."""
    try:
        return litellm.get_supported_openai_params(model=model, custom_llm_provider=provider) or None
    except Exception:  # noqa: BLE001 — what is wrong with this name is told when it is asked
        return None


def asks_for_a_response(litellm: Any, kwargs: Json) -> bool:
    """Whether litellm will ask the Responses API instead: the newest models think beside tools only there."""
    given = {name: kwargs.get(name) for name in ("tools", "reasoning_effort", "api_base", "web_search_options")}
    provider = kwargs["custom_llm_provider"]
    try:
        info, _ = litellm.main.responses_api_bridge_check(
            model=kwargs["model"].removeprefix(f"{provider}/"), custom_llm_provider=provider, **given
        )
    except Exception:  # noqa: BLE001 — it is no documented function; without it such models keep what they thought
        return False
    return bool(info.get("mode") == "responses")
