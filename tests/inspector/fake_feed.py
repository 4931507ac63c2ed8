"""What the page gets from the server, made by a test: any number of turns, as the server describes them."""

import json
from typing import Any, Final

from playwright.sync_api import Page

SCRIPT: Final = """
(() => {
  const real = window.fetch.bind(window);
  const encoder = new TextEncoder();
  window.kept = { turns: {}, sessions: {}, found: {} };
  window.streams = {};
  window.tell = (path, frames) => window.streams[path].enqueue(encoder.encode(frames));
  window.fetch = (address, options) => {
    const url = new URL(address, location.origin);
    const path = url.pathname.replace("/inspector/", "");
    const json = (value, status = 200) => Promise.resolve(new Response(JSON.stringify(value), { status }));
    if (path === "rows" || path.endsWith("/live")) {
      const body = new ReadableStream({ start(stream) { window.streams[path] = stream; } });
      return Promise.resolve(new Response(body));
    }
    const [kind, number, part] = path.split("/");
    if (kind === "found") return json({ numbers: window.kept.found[url.searchParams.get("text")] ?? [] });
    if (part || !(kind in window.kept)) return real(address, options);
    const value = window.kept[kind][number];
    return value ? json(value) : json({ error: { code: "not_found", message: "It is not kept." } }, 404);
  };
})();
"""


def row(number: int, **more: Any) -> dict[str, Any]:
    """A turn of the list, as `app/inspector/__init__.py` describes it."""
    return {
        "number": number,
        "id": f"req_{number}",
        "began": 1_763_562_718.0 + number,
        "when": f"18:{number // 60 % 60:02}:{number % 60:02}",
        "session": number // 10,
        "place": number % 10,
        "model": "small",
        "upstream": "local",
        "key": "anyone",
        "client": "",
        "websocket": False,
        "state": "ended",
        "finish": "completed",
        "status": 200,
        "error": "",
        "problem": "",
        "said": f"Question {number}",
        "answered": f"Answer {number}",
        "calls": [],
        "more_calls": 0,
        "tokens": {"input": 1000, "cached": 400, "written": 0, "output": 30, "reasoning": 0},
        "first_ms": 120,
        "total_ms": 900,
        "cost": None,
        "asks": 1,
        "summarized": False,
        "prepared": False,
        "bytes": 4000,
    } | more


def answer(*output: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of an answer with these items."""
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 3}
    response: dict[str, Any] = {"id": "resp_1", "object": "response", "status": "completed", "output": list(output)}
    response["usage"] = usage
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**response, "status": "in_progress"}}]
    for seat, item in enumerate(output):
        events += [
            {"type": f"response.output_item.{end}", "output_index": seat, "item": item} for end in ("added", "done")
        ]
    events.append({"type": "response.completed", "response": response})
    return [{"at": float(at), "event": {**event, "sequence_number": at}} for at, event in enumerate(events)]


def detail(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    """All about a turn."""
    return {
        "row": of,
        "request": {"model": of["model"], "input": of["said"]},
        "events_left_out": 0,
        "asks": [],
        "events": [],
        "refused": None,
        "response": None,
        "fields": {"finish": of["finish"], "duration_ms": of["total_ms"]},
        "timeline": [],
        "changes": None,
    } | more


def frames(*events: tuple[str, Any]) -> str:
    """Server-sent events."""
    return "".join(f"event: {name}\ndata: {json.dumps(value)}\n\n" for name, value in events)


CALL: Final = {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": '{"cmd": "pytest -q"}'}
OUTPUT: Final = {"type": "function_call_output", "call_id": "c1", "output": "3 failed, 12 passed"}
THOUGHT: Final = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "The **tests** first."}]}


def said(text: str) -> dict[str, Any]:
    """A message of the model."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def ask(number: int = 1, **more: Any) -> dict[str, Any]:
    """A request to an upstream."""
    return {
        "number": number,
        "upstream": "local",
        "model": "small-7b",
        "body": {"messages": []},
        "prompt": {"instructions": "Be brief."},
        "warnings": [],
        "goes_on": False,
        "error": None,
        "started_ms": 4.1,
        "first_ms": 400.2,
        "ended_ms": 890.0,
        "outcome": "answered",
        "raw": None,
        "chunks": None,
        "failed_tries": [],
    } | more


def changes(since: int, **more: Any) -> dict[str, Any]:
    """What changed since another turn."""
    return {
        "since": since,
        "since_id": f"req_{since}",
        "new_items": [0, 0],
        "is_continued": True,
        "tools": {"added": [], "removed": [], "changed": [], "is_reordered": False},
        "instructions": "same",
        "settings": [],
    } | more


class FakeFeed:
    """The server's side of the feed, in the page itself."""

    def __init__(self, page: Page) -> None:
        self._page = page

    @classmethod
    def at(cls, page: Page, url: str) -> "FakeFeed":
        """Opens the page with a feed that a test makes."""
        page.add_init_script(SCRIPT)
        page.goto(url)
        return cls(page)

    def keep(self, **kinds: dict[Any, Any]) -> None:
        """What is there to be asked for: `turns` and `sessions` by number, `found` by text."""
        self._page.evaluate(
            "kinds => Object.entries(kinds).forEach(([kind, all]) => Object.assign(kept[kind], all))", kinds
        )

    def tell(self, *events: tuple[str, Any], path: str = "rows") -> None:
        """Sends events to the page."""
        self._page.wait_for_function("path => path in window.streams", arg=path)
        self._page.evaluate("([path, frames]) => window.tell(path, frames)", [path, frames(*events)])

    def rows(self, *rows: dict[str, Any]) -> None:
        """Sends these rows as all that are kept."""
        self.tell(*(("row", each) for each in rows), ("ready", {"turns": len(rows)}))
