"""Recorded answers in which anything may be of the wrong type: none makes this program fail.

`EXAMPLES=20000` tries more, `SEED` others.
"""

import json
import os
import random
from typing import Any, Final

from app.api.sse import data_of
from app.catalog import Catalog
from app.dialects.exchange import new_exchange
from app.dialects.frames import NotAnAnswerError
from app.emitter.response import Lifecycle
from app.emitter.rules import CUT
from app.history.sealing import Sealer, Seals
from app.settings.load import Settings
from app.settings.tables import Caller
from app.tools.table import SHAPES
from app.types.events import Event, LastEvent
from app.types.json import as_object
from app.types.parse import parse
from app.upstreams.errors import Ask
from app.upstreams.port import UpstreamError
from tests.wire.cases import ERRORS
from tests.wire.comparison import lines
from tests.wire.grammar import check

VIAS: Final = {"choices": "chat", "message": "messages", "response": "responses"}
"""The dialect of an answer, by a member of its first payload."""
WRONG: Final = 'null 0 -1 1.5 1e400 NaN "" "x" [] [null] ["x"] [{}] {} {"":"x"} {"type":"x"}'
REQUEST: Final = parse({"model": "m", "input": "Hi", "include": ["reasoning.encrypted_content"]}, SHAPES)[0]
HOSTS: Final = {via: {"via": via, "base_url": "http://a.example/v1"} for via in VIAS.values()}
MODELS: Final = {via: {"upstream": via, "web_search": True} for via in HOSTS}
CATALOG: Final = Catalog(Settings.model_validate({"upstreams": HOSTS, "models": MODELS}))


def recorded() -> dict[str, list[str]]:
    """All answers of the tests of the wire as JSON, by their dialects."""
    answers: list[list[Any]] = []
    for file in sorted([*ERRORS.parent.glob("*/*/upstream.jsonl"), *ERRORS.parent.glob("*/*/exchange.jsonl")]):
        answers.append([])
        for line in lines(file):
            payload = line if "choices" in line else as_object(line).get("payload")
            if isinstance(payload, dict):
                answers[-1].append(payload)
            else:
                answers.append([])
    return {via: [json.dumps(each) for each in answers if each and name in each[0]] for name, via in VIAS.items()}


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every member and entry in this value, by what holds it."""
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [(value, key) for key, _ in pairs] + [place for _, held in pairs for place in places(held)]


def events(via: str, answer: list[Any], chance: random.Random) -> list[Event]:
    """What a client is told of this answer."""
    route, lifecycle = CATALOG.routes(via, Caller())[0], Lifecycle(REQUEST)
    exchange = new_exchange(REQUEST, route.model, route.dialect, lifecycle, Sealer(Seals(["key"]), ""))
    reading, made = route.dialect.frames(exchange.body), [] if route.dialect.relays else lifecycle.begin()
    try:
        for payload in [*answer, None]:
            piece = f"data: {json.dumps(payload)}\n\n".encode()
            for read in reading.feed(piece) if payload is not None else reading.end():
                if (error := route.dialect.failure(read)) is not None:
                    raise Ask("m", "", "http://a.example").reported(error)
                made += exchange.receive(read)
                if exchange.emitter.over:
                    return made
                made += exchange.emitter.sign_of_life() if chance.random() < 0.1 else ()
    except (NotAnAnswerError, UpstreamError):
        return made + exchange.emitter.fail(CUT)
    reading.go_on()
    return made + exchange.end()


def test_a_malformed_answer_is_no_fault_of_ours() -> None:
    answers = recorded()
    for seed in range(first := int(os.environ.get("SEED", "0")), first + int(os.environ.get("EXAMPLES", "3000"))):
        chance = random.Random(seed)
        via = chance.choice([*answers])
        answer = json.loads(chance.choice(answers[via]))
        for _ in range(chance.randrange(1, 9)):
            holder, key = chance.choice(places(answer))
            holder[key] = json.loads(chance.choice(WRONG.split()))
        try:
            made = events(via, answer, chance)
            last = made[-1]
            assert isinstance(last, LastEvent)
            if (used := last.response.usage) is not None:  # it is counted
                assert min(used.input_tokens, used.output_tokens, used.input_tokens_details.cached_tokens) >= 0
            told = [json.loads(data_of(event)) for event in made]
            if via != "responses":  # whose events are passed on
                check(told)
        except Exception as error:
            raise AssertionError(f"SEED={seed}: {json.dumps(answer)}") from error
