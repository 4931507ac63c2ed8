"""What a recording says of a request besides its body."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ..protocol.request.create_response import CreateResponse


class RequestOrigin(NamedTuple):
    """Where a request came from, and the settings under which it was answered."""

    model: str
    for_codex: bool
    sees_causes: bool
    summary_only: bool
    previous_response_id: str | None
    settings: Callable[[], dict[str, Any]]


def origin_of(
    request: CreateResponse, settings_for: Callable[[str], dict[str, Any]], *, for_codex: bool, sees_causes: bool
) -> RequestOrigin:
    """The origin of this request. `settings_for` is called only if somebody wants a recording."""
    return RequestOrigin(
        request.model,
        for_codex,
        sees_causes,
        request.summary_only,
        request.previous_response_id,
        partial(settings_for, request.model),
    )
