"""A turn that `--record` has written, as a case of tests/wire: `python -m tests.support.case FILE [NAME]`.

It writes a folder of tests/wire/exchanges in which the same is asked, answered and told, without the keys and the data
that a record leaves out. What a record does not hold is added by hand: settings of the upstream and the model to
case.toml. `--bless` writes what is told anew, such as warnings and sealed content.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.wire.cases import HERE
from tests.wire.comparison import write_lines
from tests.wire.configuration import Settings
from tests.wire.exchange_names import StableNames

Json = dict[str, Any]

_PATHS: Final = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
_ADDRESS: Final = re.compile(r"https?://[^\s'\"]*\w")


def make_case(file: Path, folder: Path) -> None:
    """Write the case of this turn into a new folder."""
    turn = json.loads(file.read_text(encoding="utf-8"))
    asks, names = turn["asks"], StableNames({})
    lines = [{"post": "/v1/responses", "body": _to_m(turn["request"])}]
    for ask in asks:
        lines += [{"ask": {"path": _PATHS[_via(ask["body"])], "body": names.named(_to_m(ask["body"]))}}, *_replies(ask)]
    folder.mkdir(parents=True)
    write_lines(folder / "exchange.jsonl", [*lines, *_anywhere(names.named(_told(turn)))])
    asked = Counter((ask["upstream"], _via(ask["body"])) for ask in asks)
    upstreams = {name: {"via": via, "retries": count - 1} for (name, via), count in asked.items()}
    tables = {"upstreams": upstreams, "models": {"m": {"upstreams": [*upstreams]}}}
    if len(upstreams) < 2:
        tables = {"upstream": next(iter(upstreams.values()), {})}
    (folder / "case.toml").write_text(Settings(**tables), encoding="utf-8")


def _via(body: Json) -> str:
    """The kind of server that is asked this."""
    if "input" in body:
        return "responses"
    return "messages" if "max_tokens" in body and "stream_options" not in body else "chat"


def _to_m(value: Json) -> Json:
    """What names a model, with the name that it has in every case."""
    return {**value, "model": "m"}


def _anywhere(value: Any) -> Any:
    """What was told, with any words in place of the addresses in messages."""
    match value:
        case dict():
            told = {name: _anywhere(held) for name, held in value.items()}
            return told | ({"message": _ADDRESS.sub("…", text)} if isinstance(text := told.get("message"), str) else {})
        case list():
            return [_anywhere(held) for held in value]
        case _:
            return value


def _replies(ask: Json) -> list[Json]:
    """What the upstream sent."""
    if ask["status"]:
        return [{"status": ask["status"], "body": json.loads(ask["text"])}]
    sent = [line.removeprefix("data: ") for line in ask["text"].splitlines()]
    payloads: list[Json] = [{"payload": json.loads(line)} for line in sent if line.startswith("{")]
    return [*payloads, {"cut": True}] if ask["error"] and payloads else payloads or [{"reset": True}]


def _told(turn: Json) -> list[Json]:
    """What the client was told: a stream, a refusal, or a whole response."""
    head: Json = {"status": 200, "headers": {"content-type": "application/json"}}
    if turn["events"]:
        head["headers"] = {"content-type": "text/event-stream; charset=utf-8"}
        events = [told["event"] for told in turn["events"]]
        named = [each | {"response": _to_m(each["response"])} if "response" in each else each for each in events]
        return [{"response": head}, *({"event": event} for event in named)]
    if problem := turn["problem"]:
        return [{"response": {**head, "status": problem["status"], "body": {"error": problem["error"]}}}]
    return [{"response": {**head, "body": _to_m(turn["response"])}}]


if __name__ == "__main__":
    recorded = Path(sys.argv[1])
    made = HERE / "exchanges" / (sys.argv[2] if len(sys.argv) > 2 else recorded.stem)
    make_case(recorded, made)
    print(f"{made.relative_to(Path.cwd())}: play it with python -m pytest tests/wire -k {made.name}")
