"""`prompt_cache_diagnostics`: whether the cache had the prompt of another response, and what changed if it had not.

OpenAI has four types of it. `message` and `first_change` are additions; clients ignore members that they do not know.
"""

from typing import Any, Final

from .first_change import Change

Json = dict[str, Any]

HIT: Final = 0.5
"""The share of the tokens before the change that the cache must have had, so that a change of a setting did no harm."""


def not_found(message: str) -> Json:
    """The response to compare with is not known."""
    return {"type": "comparison_response_not_found", "message": message}


def unavailable(message: str) -> Json:
    """Nothing can be said."""
    return {"type": "unavailable", "message": message}


def diagnostics(change: Change | None, *, input_tokens: int, cached_tokens: int) -> Json:
    """The result of a comparison. `change`: what changed first since then."""
    if change is None:
        if cached_tokens:
            return {"type": "cache_hit", "message": "The prompt begins with all of that response's prompt."}
        return unavailable(
            "The prompt begins with all of that response's prompt, but the model's server reports no cached tokens: "
            "its cache has expired, or keeps only longer prompts, or it has or reports none."
        )
    if change.byte is None and change.reason != "model_changed" and cached_tokens >= HIT * input_tokens > 0:
        return {"type": "cache_hit", "message": f"{change.words}, but the cache was used.", **_first(change)}
    return {
        "type": "cache_miss",
        "reason": change.reason,
        "cache_missed_tokens": round(input_tokens * change.lost),
        "message": f"{change.words}.",
        **_first(change),
    }


def _first(change: Change) -> Json:
    return {"first_change": {"place": change.place, "kind": change.kind, "how": change.how, "byte": change.byte}}
