"""What the inspector's page asks, for tests that ask it themselves."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from tests.next.processes.program import Server, soon

Json = dict[str, Any]
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class Looker:
    """Somebody with this key, or without one."""

    def __init__(self, server: Server, key: str = "") -> None:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self.http = httpx.Client(base_url=server.url.removesuffix("/v1"), headers=headers, timeout=30)

    def post(self, given: Any = "Hi", **body: Any) -> Json:
        """The answer to this input."""
        answer: Json = self.http.post("/v1/responses", json={"model": "demo", "input": given, **body}).json()
        return answer

    def get(self, path: str) -> Json:
        """What is there."""
        found: Json = self.http.get(f"/inspector/{path}").raise_for_status().json()
        return found

    def rows(self) -> list[Json]:
        """The list as it is."""
        with self.feed() as told:
            rows: list[Json] = next(told)["rows"]
        return rows

    def ended(self, number: int) -> list[Json]:
        """The list, when so many turns have ended."""
        assert soon(lambda: [row["state"] for row in self.rows()].count("ended") >= number)
        return self.rows()

    @contextmanager
    def feed(self) -> Iterator[Iterator[Json]]:
        """What the list tells as it changes."""
        with self.http.stream("GET", "/inspector/feed") as answer:
            assert answer.status_code == 200, answer.read()
            yield (json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: "))
