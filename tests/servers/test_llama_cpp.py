"""A small part of `make servers`, with the quickest server. `make servers` installs it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.servers.bench import Bench
from tests.servers.install import write_models
from tests.servers.lanes import LANES, settings_of
from tests.servers.launch import LLAMA_CPP, started
from tests.servers.run import check
from tests.support.serving import serving

pytestmark = [pytest.mark.needs("llama.cpp"), pytest.mark.xdist_group("llama_cpp")]

LANE = next(lane for lane in LANES[LLAMA_CPP.title] if lane.slug == "chat")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """AM Proxy in front of llama.cpp."""
    write_models()
    folder: Path = tmp_path_factory.mktemp("llama_cpp")
    with (
        started(LLAMA_CPP, folder) as server_url,
        serving(settings_of([LANE], server_url)) as url,
        httpx.Client(timeout=60) as client,
    ):
        yield Bench(LANE, url, server_url, client, folder)


@pytest.mark.parametrize(
    "slug", ["text", "thought_call", "parallel", "named", "structured", "limit", "counted", "cancelled"]
)
def test_clients_receive_what_llama_cpp_says(bench: Bench, slug: str) -> None:
    assert check(bench, slug) == []
