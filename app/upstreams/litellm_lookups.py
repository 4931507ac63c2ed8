"""litellm looks up a model up to seven times for one request: here, once. litellm is an argument."""

from functools import lru_cache, wraps
from typing import Any, Final

Json = dict[str, Any]

_LONGEST_NAME: Final = 200
"""Characters of a name that is remembered: with a model `*`, clients may invent names."""


def remember_models(litellm: Any) -> None:
    """Make litellm remember what its map says about a model, until the map changes."""
    utils, main = litellm.utils, litellm.main
    try:
        look_up, changes = utils.get_model_info_helper, utils.get_model_cost_mutation_generation
        if main.get_model_info_helper is not look_up:
            return
    except AttributeError:  # a test checks that they are there
        return

    def asks_elsewhere(model: str, provider: str | None) -> bool:
        """Whether this provider is asked about its models itself."""
        if provider not in utils.LlmProvidersSet:
            return False
        config = utils.ProviderConfigManager.get_provider_model_info(
            model=model, provider=litellm.LlmProviders(provider)
        )
        return callable(getattr(config, "get_model_info", None))

    @lru_cache(maxsize=1000)
    def known(model: str, provider: str | None, _changes: int) -> Json | None:
        if asks_elsewhere(model, provider):
            return None
        info: Json = look_up(model=model, custom_llm_provider=provider)
        return info

    @wraps(look_up)
    def get_model_info_helper(
        model: str, custom_llm_provider: str | None = None, api_base: str | None = None, api_key: str | None = None
    ) -> Any:
        usual = api_base is None and api_key is None and len(model) <= _LONGEST_NAME
        info = known(model, custom_llm_provider, changes()) if usual else None
        if info is None:
            return look_up(model, custom_llm_provider, api_base, api_key)
        return dict(info)  # callers add to it

    utils.get_model_info_helper = main.get_model_info_helper = get_model_info_helper
