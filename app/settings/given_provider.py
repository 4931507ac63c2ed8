"""The upstream of `--provider`: the name of a provider becomes the settings of an upstream."""

from collections.abc import Mapping

from ..providers.lookup import BY_NAME
from ..providers.provider import Provider
from .mistakes import did_you_mean


def complete_from_provider(given: dict[str, object], environ: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Adds `via`, the address and the key where they were not given. Returns their origins, and what is wrong."""
    name = str(given["provider"])
    known = BY_NAME.get(name)
    if known is None:
        near = did_you_mean(name, BY_NAME) or "; docs/providers.md lists the names"
        return {}, f'there is no provider "{name}"{near}'
    origins, elsewhere = {}, "base_url" in given
    via = given.get("via")
    if via is None:
        via = given["via"] = "chat" if elsewhere and known.speaks_chat else known.usual_via
        origins["via"] = f'provider = "{name}"'
    if elsewhere:  # the key in the environment must not be sent to another address
        return origins, ""
    if via != "litellm" and known.address_for(via) is None:
        return origins, f"the address of {name} is not known: give it with --upstream"
    if "api_key" not in given and known.key_variable:
        given["api_key"] = environ.get(known.key_variable, "")
        origins["api_key"] = f"env:{known.key_variable}"
    return origins, _lack_of_a_key(name, known, given, environ)


def _lack_of_a_key(name: str, known: Provider, given: Mapping[str, object], environ: Mapping[str, str]) -> str:
    if given.get("api_key"):
        return ""
    if known.key_variable:
        state = "is empty" if known.key_variable in environ else "is not set"
        return f"the key of {name} is read from {known.key_variable}, which {state}"
    if known.base_url or known.litellm.own_credentials:  # a server on this machine, or keys that litellm finds
        return ""
    return f"{name} needs its key (--upstream-key) or its address (--upstream)"
