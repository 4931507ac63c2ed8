"""The items of a request as they were posted: what another Responses server gets of them, where they were changed."""

from typing import Any

from ..protocol.request.create_response import CreateResponse
from .shortened_outputs import plain


class PostedItems:
    """The posted items of one expanded request.

    An item that is unchanged is sent as it was posted, so that the prompt cache of the server holds.
    """

    def __init__(self, request: CreateResponse) -> None:
        raw = request.raw["input"] if isinstance(request.raw["input"], list) else []
        self._request = request
        """Keeps the items in memory: their identities are the keys."""
        self._posted: dict[int, dict[str, Any]] = {
            id(item): posted for item, posted in zip(request.items, raw, strict=True)
        }

    def body_of(self, request: CreateResponse) -> CreateResponse:
        """A request with these items, or some of them, or others; its body now has the same."""
        if isinstance(request.input, str):
            return request
        items = [self._posted.get(id(item)) or plain(item) for item in request.items]
        return request.model_copy(update={"raw": {**request.raw, "input": items}})
