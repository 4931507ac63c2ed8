"""The client's body as it was received, for another server of the same kind.

It has been validated, and what would need a memory or steer the machinery has been refused. All else is passed on,
settings and tools that nobody here knows included: the upstream is the one to judge them. It is always asked for a
stream, because a whole answer is read from a stream's last event.

What this server itself sealed, for another model, is left out, and so is what another upstream sealed: this one could
not read it, and would refuse the request. What the upstream sealed itself goes back as it came. A conversation that
this server summed up is told in plain words.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from app.compaction.window import FOLDED, unfolded
from app.dialects.responses.marked_ids import original
from app.dialects.responses.marked_seals import original_seal, tag_of
from app.dialects.responses.relay_options import RelayOptions
from app.fetching.url_policy import check_url, is_data_uri
from app.protocol.request.create_response import CreateResponse
from app.protocol.seals import ENVELOPES
from app.protocol.warnings import ClientWarning

Json = dict[str, Any]

_IDS: Final = ("id", "approval_request_id")
"""Keys of an input item that hold an id which this server marked. Call ids are never marked."""
_PARTS: Final = ("content", "output")
"""Keys of an input item that may hold parts."""
_URLS: Final = ("image_url", "file_url")


UNREADABLE: Final = "only the server and the model that wrote this reasoning can read it."
UNREADABLE_SUMMARY: Final = "only the server that summed this conversation up can read it."


class RelayedBody(NamedTuple):
    """The body for the upstream, and what of the request it does not hold."""

    body: Json
    warnings: list[ClientWarning]


def to_responses(request: CreateResponse, *, model: str, options: RelayOptions) -> RelayedBody:
    """The ask. Raises `ProblemError` for an address that no upstream should be made to fetch."""
    body = {**request.raw, "model": model, "stream": True}
    warnings: list[ClientWarning] = []
    items = body["input"]
    if isinstance(items, list):
        found = unfolded(items, lambda item: item, options.sealer)
        for url, path in _urls(found.items, found.seats):
            if not is_data_uri(url):
                check_url(url, path, allow_private=options.allow_private_urls)
        tag = tag_of(options.origin)
        read = [
            _readable(item, f"input[{seat}]", tag, options) for item, seat in zip(found.items, found.seats, strict=True)
        ]
        warnings = [warning for _, warning in read if warning is not None]
        items = [item for item, _ in read if item is not None]
        body["input"] = [_restored(item) for item in items] if options.ids == "am" else items
    return RelayedBody(body, warnings)


def _readable(item: Json, path: str, tag: str, options: RelayOptions) -> tuple[Json | None, ClientWarning | None]:
    """The item as this upstream can read it; None if it can read nothing of it."""
    sealed = item.get("encrypted_content")
    if item.get("type") in FOLDED and str(sealed).startswith(ENVELOPES) and options.ids == "am":
        return None, ClientWarning(path, "compaction", f"{path} was left out: {UNREADABLE_SUMMARY}")
    if item.get("type") != "reasoning" or not isinstance(sealed, str):
        return item, None
    sealer = options.sealer
    opens = sealer is not None and sealer.open("reasoning", sealed, f"{path}.encrypted_content") is not None
    # where nothing is marked, what does not open here may be of an AM Proxy behind us
    strange = sealed.startswith(ENVELOPES) and not opens and options.ids == "am"
    theirs = None if opens or strange else original_seal(sealed, tag)
    if theirs is not None:
        return {**item, "encrypted_content": theirs}, None
    if not (item.get("summary") or item.get("content")):
        return None, None if opens else ClientWarning(path, "reasoning", f"{path} was left out: {UNREADABLE}")
    shown = {key: value for key, value in item.items() if key not in {"encrypted_content", "id"}}
    if opens:
        return shown, None
    details = f"{path}.encrypted_content was ignored: {UNREADABLE} Its text is sent instead."
    return shown, ClientWarning(f"{path}.encrypted_content", "reasoning", details)


def _restored(item: Json) -> Json:
    ids = {key: original(item[key]) for key in _IDS if isinstance(item.get(key), str)}
    return {**item, **ids} if ids else item


def _urls(items: list[Json], positions: list[int]) -> Iterator[tuple[str, str]]:
    for position, item in zip(positions, items, strict=True):
        for key in _PARTS:
            held = item.get(key)
            parts = held if isinstance(held, list) else [held]
            for seat, part in enumerate(parts):
                for name in _URLS if isinstance(part, dict) else ():
                    if isinstance(part.get(name), str):
                        spot = f"{key}[{seat}]" if isinstance(held, list) else key
                        yield part[name], f"input[{position}].{spot}.{name}"
