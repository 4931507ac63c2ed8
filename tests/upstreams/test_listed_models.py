"""The list of one server: asked for seldom, once for all who wait, and never for longer than a moment."""

import asyncio
import time
from collections.abc import Callable

import pytest

from app.upstreams.listed_models import EMPTY, FRESH, MOST_LISTS, WITHIN, ListedModels
from app.upstreams.model_list import ListedModel
from tests.support.surveyed_server import Page, SurveyedServer, chats, listing
from tests.wire.servers import Ask, Cut, Hang, Reset, Status

SMALL = (ListedModel("small", 8192),)
LIST = listing({"id": "small", "context_window": 8192})


class Admission:
    """Lets the server be asked, or not, and counts what runs."""

    def __init__(self) -> None:
        self.allowed = True
        self.taken = 0
        self.running = 0

    def __call__(self) -> Callable[[], None] | None:
        if not self.allowed:
            return None
        self.taken += 1
        self.running += 1
        return self._release

    def _release(self) -> None:
        self.running -= 1


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_ten_thousand_callers_at_once_cost_the_server_one_request() -> None:
    admission = Admission()
    with SurveyedServer(chats(models=LIST)) as server:
        lists = ListedModels(server.url, None)
        found = await asyncio.gather(*(lists.models(admission) for _ in range(10_000)))
        assert server.paths == ["/v1/models"]
    assert set(found) == {SMALL}
    assert (admission.taken, admission.running) == (1, 0)


@pytest.mark.parametrize(
    ("page", "models", "lasts"), [(LIST, SMALL, FRESH), (Status(500), (), EMPTY), (listing(), (), EMPTY)]
)
async def test_an_answer_is_remembered_for_a_while(page: Page, models: tuple[ListedModel, ...], lasts: int) -> None:
    clock = Clock()
    with SurveyedServer(chats(models=page)) as server:
        lists = ListedModels(server.url, None, clock=clock)
        for _ in range(3):
            assert await lists.models(Admission()) == models
        clock.now += lasts - 0.1
        assert await lists.models(Admission()) == models
        assert len(server.paths) == 1
        clock.now += 0.2
        assert await lists.models(Admission()) == models
        assert len(server.paths) == 2


@pytest.mark.parametrize(
    "page", [Hang(), Reset(), Cut(), Status(200, b"["), Status(200, b"x" * 3_000_000), Status(401)]
)
async def test_a_server_that_cannot_say_lists_nothing_after_a_moment(page: Page) -> None:
    admission = Admission()
    with SurveyedServer(chats(models=page)) as server:
        server.may_violate = True
        began = time.monotonic()
        assert await ListedModels(server.url, None).models(admission) == ()
    assert time.monotonic() - began < WITHIN + 1
    assert admission.running == 0


async def test_who_may_not_have_the_server_asked_gets_the_last_answer() -> None:
    clock, admission = Clock(), Admission()
    with SurveyedServer(chats(models=LIST)) as server:
        lists = ListedModels(server.url, None, clock=clock)
        admission.allowed = False
        assert await lists.models(admission) == ()
        assert server.paths == []
        assert await lists.models(Admission()) == SMALL
        clock.now += FRESH + 1
        assert await lists.models(admission) == SMALL
        assert len(server.paths) == 1


async def test_each_owner_has_a_list_of_its_own() -> None:
    def own(ask: Ask) -> Status:
        return listing(f"model of {ask.headers['authorization'].removeprefix('Bearer ')}")

    with SurveyedServer(chats(models=own)) as server:
        lists = ListedModels(server.url, None)
        for _ in range(2):
            for name in ("ann", "ben"):
                models = await lists.models(Admission(), owner=f"guest:{name}", key=f"key-{name}")
                assert models == (ListedModel(f"model of key-{name}"),)
        assert len(server.paths) == 2


async def test_the_lists_of_invented_keys_are_bounded() -> None:
    with SurveyedServer(chats(models=LIST)) as server:
        lists = ListedModels(server.url, None)
        for number in range(MOST_LISTS + 6):
            await lists.models(Admission(), owner="guest:first", key="first")
            await lists.models(Admission(), owner=f"guest:{number}", key="k")
        assert len(lists._answers) == MOST_LISTS
        assert len(server.paths) == MOST_LISTS + 7  # the one that is used all the time was asked once


async def test_a_caller_that_leaves_does_not_end_it_for_the_others() -> None:
    admission = Admission()
    with SurveyedServer(chats(models=LIST)) as server:
        lists = ListedModels(server.url, None)
        first = asyncio.create_task(lists.models(admission))
        second = asyncio.create_task(lists.models(admission))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == SMALL
        assert len(server.paths) == 1
    assert admission.running == 0


async def test_closing_ends_what_runs_and_frees_who_waits() -> None:
    admission = Admission()
    with SurveyedServer(chats(models=Hang())) as server:
        lists = ListedModels(server.url, None)
        waiting = asyncio.create_task(lists.models(admission))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        await lists.close()
        assert await waiting == ()
        assert time.monotonic() - began < 0.5
    assert admission.running == 0
    admission.allowed = False
    assert await lists.models(admission) == ()
