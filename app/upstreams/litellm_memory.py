"""Spares memory that litellm takes and nothing here uses: more than 50 MB. litellm is an argument."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class _LateEncoding:
    """A tokenizer that is loaded when something of it is used."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)


def spare_memory(litellm: Any) -> None:
    """Load late, or forget, what litellm keeps. A test checks that it is where it is looked for."""
    main, catalog = litellm.main, litellm.litellm_core_utils.get_model_cost_map.GetModelCostMap
    # handed to every provider at its first request, and nearly none counts with it
    if getattr(main, "_encoding_cache", main) is None:
        main._encoding_cache = _LateEncoding(main._load_default_encoding)  # noqa: SLF001 — there is no setting for it
    # a vocabulary, which is also kept as text
    if isinstance(getattr(litellm.utils, "json_data", None), dict):
        litellm.utils.json_data = {}
    # a second map of all models, for litellm's own server
    if hasattr(catalog, "_loaded_catalog"):
        catalog._loaded_catalog = _NOTHING  # noqa: SLF001 — as above
