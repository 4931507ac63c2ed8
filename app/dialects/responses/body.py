"""Request -> the body for another server with the Responses API: as it was posted, also what only that server knows.

Sealed content goes back only to the upstream that sealed it, as it came: another one could not read it, and would
refuse the request. What this server sealed for another model is left out, and its text is sent.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from ...fetching.policy import check_url, is_data_uri
from ...history.compaction import SUMMARIES
from ...history.sealing import VERSION, Sealer
from ...prompt.build import effort
from ...prompt.items import REFUSED, SEALED_SUMMARY, UNREADABLE
from ...prompt.nouns import Model
from ...types.json import Json, without
from ...types.problems import Warnings
from ...types.request import Request

_SEAL = "AMR1."
"""Before sealed content, a mark tells which upstream wrote it."""
_BOUND = frozenset({"message", "function_call", "custom_tool_call"})
"""Items that lose their ids without reasoning: OpenAI refuses one that it wrote without the reasoning before it."""
_OURS = re.compile(r"(^|_)AM-")
"""In ids that this server made, or marked in version 0.1: others look ids up."""


def body_of(request: Request, model: Model, sealer: Sealer | None) -> tuple[Json, Warnings]:
    """What is posted, and warnings about what was left out. Raises `ProblemError` for an address that is private."""
    warnings = Warnings()
    body = {**request.posted, "model": model.upstream_name, "stream": True}
    body.pop("generate", None)
    if isinstance(posted := body["input"], list):
        reader = _Items(model, sealer, warnings)
        read = [reader.item(item, request.path_of(at)) for at, item in enumerate(posted)]
        body["input"] = [item for item in read if item is not None]
    asked = body.get("reasoning")
    if isinstance(asked, dict) and asked.get("effort") is not None:
        known = effort(request, model, warnings)
        others = without(asked, "effort")
        body["reasoning"] = {**others, "effort": known} if known else others
    return body, warnings


def marked(item: Json, model: Model) -> Json:
    """The item with a mark before what its server sealed."""
    sealed = item.get("encrypted_content")
    if str(item.get("type")) not in {"reasoning", *SUMMARIES} or not isinstance(sealed, str) or not sealed:
        return item
    return {**item, "encrypted_content": f"{_SEAL}{_tag(model)}.{sealed}"}


def _tag(model: Model) -> str:
    return sha256(model.origin.encode()).hexdigest()[:10]


class _Items:
    """Reads items as one upstream takes them."""

    def __init__(self, model: Model, sealer: Sealer | None, warnings: Warnings) -> None:
        self._model = model
        self._sealer = sealer
        self._warnings = warnings
        self._tag = f"{_SEAL}{_tag(model)}."

    def item(self, item: Json, path: str) -> Json | None:
        """The item; None if nothing of it is sent."""
        for url, where in _urls(item):
            if not is_data_uri(url):
                check_url(url, f"{path}.{where}", allow_private=self._model.server.allow_private_urls)
        kind, sealed = item.get("type") or "message", item.get("encrypted_content")
        if self._model.state_refused and kind in _BOUND:
            item = without(item, "id")
        elif isinstance(sealed, str) and kind == "reasoning":
            item = self._reasoning(item, sealed, path)
        elif isinstance(sealed, str) and kind in SUMMARIES:
            if (own := self._own(sealed)) is None:
                self._left_out(path, SEALED_SUMMARY)
                return None
            item = {**item, "encrypted_content": own}
        ids = {name: item[name] for name in ("id", "approval_request_id") if isinstance(item.get(name), str)}
        return {**item, **{name: _OURS.sub(r"\1", value, count=1) for name, value in ids.items()}} if item else None

    def _own(self, sealed: str) -> str | None:
        """The sealed content as this upstream gave it; None if another one did. A client may have it from itself."""
        if sealed.startswith(self._tag):
            return sealed.removeprefix(self._tag)
        return None if sealed.startswith((_SEAL, VERSION)) else sealed

    def _reasoning(self, item: Json, sealed: str, path: str) -> Json:
        """The reasoning as this upstream can read it; nothing if it cannot."""
        sealed_path = f"{path}.encrypted_content"
        if self._model.state_refused:
            return self._left_out(path, REFUSED)
        if (own := self._own(sealed)) is not None:
            return {**item, "encrypted_content": own}
        opens = self._sealer is not None and self._sealer.open("reasoning", sealed, sealed_path) is not None
        if not (item.get("summary") or item.get("content")):
            return {} if opens else self._left_out(path, UNREADABLE)
        if not opens:
            self._warnings.append(f"{sealed_path} was ignored: {UNREADABLE} Its text is sent instead.")
        return without(item, "encrypted_content", "id")

    def _left_out(self, path: str, why: str) -> Json:
        """Nothing, and a warning."""
        self._warnings.append(f"{path} was left out: {why}")
        return {}


def _urls(item: Json) -> Iterator[tuple[str, str]]:
    """The addresses in an item, and where they are in it."""
    for key in ("content", "output"):
        held: Any = item.get(key)
        for at, part in enumerate(held) if isinstance(held, list) else [("", held)]:
            within = f"{key}[{at}]" if at != "" else key
            for name in ("image_url", "file_url") if isinstance(part, dict) else ():
                if isinstance(part.get(name), str):
                    yield part[name], f"{within}.{name}"
