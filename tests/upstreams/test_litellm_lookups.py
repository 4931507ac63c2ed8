"""litellm looks up a model once, and learns the same as before."""

from types import SimpleNamespace
from typing import Any

import pytest

from app.upstreams.litellm_chat import load
from app.upstreams.litellm_lookups import remember_models


class Map:
    """A litellm that counts look-ups, and whose provider `asked` is asked about its models."""

    def __init__(self) -> None:
        self.looked_up: list[tuple[Any, ...]] = []
        self.changes = 0

        def get_model_info_helper(
            model: str, custom_llm_provider: str | None = None, api_base: str | None = None, api_key: str | None = None
        ) -> dict[str, Any]:
            self.looked_up.append((model, custom_llm_provider, api_base, api_key))
            if model == "unknown":
                raise ValueError(model)
            return {"of": model}

        def provider_of(model: str | None, provider: str) -> Any:  # noqa: ARG001 — litellm's signature
            return SimpleNamespace(get_model_info=print) if provider == "asked" else None

        self.utils = SimpleNamespace(
            get_model_info_helper=get_model_info_helper,
            get_model_cost_mutation_generation=lambda: self.changes,
            LlmProvidersSet={"asked", "other"},
            ProviderConfigManager=SimpleNamespace(get_provider_model_info=provider_of),
        )
        self.main = SimpleNamespace(get_model_info_helper=get_model_info_helper)
        self.LlmProviders = str
        remember_models(self)

    def of(self, *given: Any, **named: Any) -> dict[str, Any]:
        found: dict[str, Any] = self.utils.get_model_info_helper(*given, **named)
        return found


def test_a_model_is_looked_up_once_until_the_map_changes() -> None:
    known = Map()
    assert known.main.get_model_info_helper is known.utils.get_model_info_helper
    for _ in range(3):
        known.of("m", "other")["added"] = "by a caller"
        assert known.of(model="m", custom_llm_provider="other") == {"of": "m"}
    known.changes = 1
    known.of("m", "other")
    known.of("m")
    assert known.looked_up == [("m", "other", None, None)] * 2 + [("m", None, None, None)]


@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("m", ("asked",)),
        ("m", ("other", "http://there")),
        ("m", ("other", None, "key")),
        ("m" * 201, ("other",)),
    ],
    ids=["a provider that is asked", "an address", "a key", "a long name"],
)
def test_what_may_differ_is_looked_up_each_time(model: str, more: tuple[Any, ...]) -> None:
    known = Map()
    for _ in range(2):
        assert known.of(model, *more) == {"of": model}
    assert len(known.looked_up) == 2


def test_an_error_is_raised_each_time() -> None:
    known = Map()
    for _ in range(2):
        with pytest.raises(ValueError, match="unknown"):
            known.of("unknown", "other")


def test_another_litellm_is_left_alone() -> None:
    other = SimpleNamespace(utils=SimpleNamespace(), main=SimpleNamespace())
    remember_models(other)
    assert vars(other.utils) == {}


def test_the_installed_litellm_learns_the_same() -> None:
    litellm = load()
    look_up = litellm.utils.get_model_info_helper
    assert look_up.__wrapped__.__module__ == "litellm.utils"
    assert litellm.main.get_model_info_helper is look_up
    models = sorted(litellm.model_cost)[::40]
    assert len(models) > 100
    for model in models:
        provider = litellm.model_cost[model].get("litellm_provider")
        found = [_result(call, model, provider) for call in (look_up, look_up, look_up.__wrapped__)]
        assert found[0] == found[1] == found[2], model


def _result(call: Any, model: str, provider: str | None) -> Any:
    try:
        return call(model=model, custom_llm_provider=provider)
    except Exception as error:  # noqa: BLE001 — litellm raises a bare Exception for a model it does not know
        return type(error), str(error)
