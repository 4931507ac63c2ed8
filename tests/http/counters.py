"""What a server counts."""

import time
from collections.abc import Callable

import httpx

from tests.support.metrics import samples

ENDS = "am_proxy_requests_total"


def over(found: dict[str, float]) -> bool:
    """Whether a turn has been counted, and none runs."""
    return found["am_proxy_turns_in_flight"] == 0 and any(name.startswith(ENDS) for name in found)


def counted(url: str, seen: Callable[[dict[str, float]], bool] = over) -> dict[str, float]:
    """The samples, once `seen` holds of them: a turn is counted behind its last byte."""
    deadline = time.monotonic() + 20
    while not seen(found := samples(httpx.get(f"{url}/metrics").text)):
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found
