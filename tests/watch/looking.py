"""What the inspector's page asks, for tests that ask it themselves."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.deploy.program import Server, soon

Json = dict[str, Any]
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


DEMO = '[upstreams.demo]\nvia = "demo"\n[models.demo]\nupstream = "demo"\n'
QUESTION = {"role": "user", "content": "Please think, then use get_weather: is it warm in Paris?"}

STRANGE: list[Json] = [
    {
        "input": [
            {"type": {"a": 1}, "content": 5},
            {"role": ["x"], "content": [5, None, {"type": [], "text": 7}]},
            5,
            None,
        ]
    },
    {"input": [{"type": "function_call_output", "call_id": {}, "output": 7}], "tools": {"a": 1}, "instructions": [{}]},
    {"input": 7, "model": ["x"], "prompt_cache_key": 5, "previous_response_id": [1]},
    {"input": [{"type": "message", "role": "user", "content": json.loads("[" * 600 + "]" * 600)}]},
]
"""Requests that are refused, and shown all the same."""


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


def talk(looker: Looker) -> None:
    """A conversation of three turns."""
    first = looker.post([QUESTION], tools=[WEATHER], instructions="Be brief.")["output"]
    output = {"type": "function_call_output", "call_id": first[-1]["call_id"], "output": "It is 21 degrees in Paris."}
    history = [QUESTION, *first, output]
    second = looker.post(history, tools=[WEATHER], instructions="Be brief.")["output"]
    looker.post([*history, *second, {"role": "user", "content": "Thanks!"}], instructions="Be very brief.")
