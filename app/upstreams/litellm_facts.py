"""Reads litellm's own tables about a model. litellm is an argument: it is not imported here."""

from typing import Any

Json = dict[str, Any]


def info_of(litellm: Any, provider: str, model: str) -> Json:
    """The entries of litellm's map for this model, without empty ones."""
    try:
        info = litellm.get_model_info(model, custom_llm_provider=provider)
    except Exception:  # noqa: BLE001 — litellm raises a bare Exception for a model it does not know
        return {}
    return {key: value for key, value in info.items() if value is not None}


def settings_of(litellm: Any, provider: str | None, model: str) -> list[str] | None:
    """The settings that litellm passes on to this model, if that is known."""
    try:
        return litellm.get_supported_openai_params(model=model, custom_llm_provider=provider) or None
    except Exception:  # noqa: BLE001 — a wrong name is reported when the model is asked
        return None


def asks_for_a_response(litellm: Any, kwargs: Json) -> bool:
    """Whether litellm will ask the Responses API instead: the newest models combine reasoning and tools only there."""
    arguments = {name: kwargs.get(name) for name in ("tools", "reasoning_effort", "api_base", "web_search_options")}
    provider = kwargs["custom_llm_provider"]
    try:
        info, _ = litellm.main.responses_api_bridge_check(
            model=kwargs["model"].removeprefix(f"{provider}/"), custom_llm_provider=provider, **arguments
        )
    except Exception:  # noqa: BLE001 — it is not a documented function; without it such models keep their reasoning
        return False
    return bool(info.get("mode") == "responses")
