"""The usage of a response that took two asks."""

from msgspec.structs import replace

from app.protocol.response import InputTokensDetails, OutputTokensDetails, Usage


def used_together(one: Usage | None, other: Usage | None) -> Usage | None:
    """What two asks used. None where neither counted."""
    if one is None or other is None:
        return other if one is None else one
    both = replace(
        other,
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        total_tokens=one.total_tokens + other.total_tokens,
        input_tokens_details=InputTokensDetails(
            cached_tokens=one.input_tokens_details.cached_tokens + other.input_tokens_details.cached_tokens,
            cache_write_tokens=one.input_tokens_details.cache_write_tokens
            + other.input_tokens_details.cache_write_tokens,
        ),
        output_tokens_details=OutputTokensDetails(
            reasoning_tokens=one.output_tokens_details.reasoning_tokens + other.output_tokens_details.reasoning_tokens
        ),
    )
    return replace(both, estimated=True) if one.estimated is True else both
