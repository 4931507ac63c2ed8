"""The models that one server lists, remembered for a while, so that many clients cost the server one request."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from ..options import KeyHeader
from .model_list import ListedModel

WITHIN: Final = 1.5
"""Seconds that a server may take. Clients wait for it."""
FRESH: Final = 60
"""Seconds for which a list is remembered."""
EMPTY: Final = 10
"""The same if there is none: the server may be starting."""
MOST_LISTS: Final = 64
"""Lists that are remembered: one for each owner of a key that was sent. Anyone can invent keys."""

Admit: TypeAlias = Callable[[], Callable[[], None] | None]
"""Whether the server may be asked now: what to call when that is over, or None if it may not."""


class _Answer(NamedTuple):
    models: tuple[ListedModel, ...] = ()
    until: float = 0
    """When it is too old."""


class ListedModels:
    """The lists of one server. A server that cannot say what it has lists no models: that is no error."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        key_header: KeyHeader = "authorization",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._base_url = base_url
        self._key_header = key_header
        self._api_key = api_key
        self._clock = clock
        self._answers: OrderedDict[str, asyncio.Task[_Answer]] = OrderedDict()
        """By owner; the one that was used last is the last."""
        self._asking: set[asyncio.Task[_Answer]] = set()

    async def models(self, admit: Admit, *, owner: str = "", key: str | None = None) -> tuple[ListedModel, ...]:
        """The models for this owner, whose own `key` is sent; without one, the server's.

        Whoever comes while the server is asked waits for the same answer. An answer that is too old is used once more
        if the server may not be asked.
        """
        asking = self._answers.get(owner)
        if asking is None or (asking.done() and _answer_of(asking).until <= self._clock()):
            release = admit()
            if release is None:
                return () if asking is None else _answer_of(asking).models
            asking = self._ask(owner, self._api_key if key is None else key, release)
        self._answers.move_to_end(owner)
        await asyncio.wait({asking})  # a client that leaves does not end it for the others
        return _answer_of(asking).models

    async def close(self) -> None:
        """End what runs."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    def _ask(self, owner: str, key: str | None, release: Callable[[], None]) -> asyncio.Task[_Answer]:
        task = asyncio.get_running_loop().create_task(self._answer(key))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        task.add_done_callback(lambda _: release())
        self._answers[owner] = task
        if len(self._answers) > MOST_LISTS:
            self._answers.popitem(last=False)
        return task

    async def _answer(self, key: str | None) -> _Answer:
        from .survey import list_models  # noqa: PLC0415 — its library costs 0.15 s, and the demo needs none

        models = await list_models(self._base_url, key, within=WITHIN, key_header=self._key_header)
        return _Answer(models, self._clock() + (FRESH if models else EMPTY))


def _answer_of(asked: asyncio.Task[_Answer]) -> _Answer:
    return _Answer() if asked.cancelled() else asked.result()
