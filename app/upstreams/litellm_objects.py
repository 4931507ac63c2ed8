"""litellm's chunk objects as plain dicts. Does not import litellm: it knows the objects by their attributes."""

from typing import Any, Final

Json = dict[str, Any]

_DELTA_FIELDS: Final = (
    "content",
    "refusal",
    "reasoning_content",
    "annotations",
    "images",
    "audio",
    "thinking_blocks",
    "reasoning_details",
    "reasoning_items",
    "extra_content",
    "provider_specific_fields",
)
_CHUNK_FIELDS: Final = ("vertex_ai_grounding_metadata", "citations", "search_results")


def chunk_dict(chunk: Any) -> Json:
    """One chunk object as the dict that an OpenAI server would have sent, without absent fields."""
    result: Json = {"choices": [_choice(choice) for choice in getattr(chunk, "choices", None) or ()]}
    usage = getattr(chunk, "usage", None)
    if usage is not None:
        result["usage"] = usage_dict(usage)
    for name in _CHUNK_FIELDS:
        if value := getattr(chunk, name, None):
            result[name] = _plain(value)
    return result


def _choice(choice: Any) -> Json:
    delta = getattr(choice, "delta", None) or choice.message
    fields = {}
    for name in _DELTA_FIELDS:
        if value := getattr(delta, name, None):
            fields[name] = _plain(value)
    if "reasoning_content" not in fields and (reasoning := getattr(delta, "reasoning", None)):
        fields["reasoning_content"] = reasoning  # a whole answer has the server's own name for it
    if calls := getattr(delta, "tool_calls", None):
        fields["tool_calls"] = [_call(call) for call in calls]
    result: Json = {"index": getattr(choice, "index", 0) or 0, "delta": fields}
    if reason := getattr(choice, "finish_reason", None):
        result["finish_reason"] = str(reason)
    if logprobs := getattr(choice, "logprobs", None):
        result["logprobs"] = _plain(logprobs)
    return result


def _call(call: Any) -> Json:
    function = call.function
    result: Json = {"function": {}}
    index = getattr(call, "index", None)
    if index is not None:
        result["index"] = index
    if call_id := getattr(call, "id", None):
        result["id"] = call_id
    if name := getattr(function, "name", None):
        result["function"]["name"] = name
    if arguments := getattr(function, "arguments", None):
        result["function"]["arguments"] = arguments
    for field in ("provider_specific_fields", "extra_content"):
        if value := getattr(call, field, None):
            result[field] = _plain(value)
    return result


def usage_dict(usage: Any) -> Json:
    """The counts in the form of an OpenAI server."""
    counts: Json = {
        name: getattr(usage, name, None) or 0 for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    }
    prompt = getattr(usage, "prompt_tokens_details", None)
    completion = getattr(usage, "completion_tokens_details", None)
    counts["prompt_tokens_details"] = {
        "cached_tokens": _first(prompt, "cached_tokens")
        or _first(usage, "cache_read_input_tokens", "num_cached_tokens"),
        "cache_write_tokens": _first(prompt, "cache_write_tokens", "cache_creation_tokens")
        or _first(usage, "cache_creation_input_tokens"),
    }
    if (by_time := getattr(prompt, "cache_creation_token_details", None)) is not None:
        counts["prompt_tokens_details"]["cache_creation_token_details"] = _plain(by_time)
    if (tools := getattr(usage, "server_tool_use", None)) is not None:
        counts["server_tool_use"] = _plain(tools)
    if audio := _first(prompt, "audio_tokens"):
        counts["prompt_tokens_details"]["audio_tokens"] = audio
    counts["completion_tokens_details"] = {"reasoning_tokens": _first(completion, "reasoning_tokens")}
    return counts


def _first(holder: Any, *names: str) -> int:
    return next((int(value) for name in names if (value := getattr(holder, name, None))), 0)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    if isinstance(value, list):
        return [_plain(held) for held in value]
    if isinstance(value, dict):  # litellm puts objects into those of some providers
        return {key: _plain(held) for key, held in value.items()}
    return value
