"""What the embedded model takes from a message for arguments and structured answers."""

import json
from typing import Any

import pytest

from app.upstreams.demo_json import sample
from app.upstreams.demo_words import READ, MessageWords
from tests.support.scan import assert_linear

TEXT = {"type": "string"}
INTEGER = {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}
UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"]}


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


FILLED: list[tuple[str, dict[str, Any], Any]] = [
    ("What is the weather in Paris?", record(city=TEXT), {"city": "Paris"}),
    ("How is the weather in New York today?", record(city=TEXT), {"city": "New York"}),
    ("What is the weather?", record(city=TEXT), {"city": "demo"}),
    ("Please call get_weather.", record(city=TEXT), {"city": "demo"}),
    ("Book a table for Alice and 3 people.", record(name=TEXT, people=INTEGER), {"name": "Alice", "people": 3}),
    ("Alice, three people", record(name=TEXT, people=INTEGER), {"name": "Alice", "people": 3}),
    ("At 7 for 3 people", record(people=INTEGER, hour=INTEGER), {"people": 3, "hour": 7}),
    ("Alice lives in Paris.", record(name=TEXT, city=TEXT), {"name": "Alice", "city": "Paris"}),
    ("Paris", record(name=TEXT, people=INTEGER), {"name": "Paris", "people": 1}),
    ("Fly from Oslo to Rome", record(destination=TEXT, origin=TEXT), {"destination": "Rome", "origin": "Oslo"}),
    ("From Oslo to Rome", record(**{"from": TEXT, "to": TEXT}), {"from": "Oslo", "to": "Rome"}),
    ("The weather in Paris, Rome and New York", record(cities=TEXTS), {"cities": ["Paris", "Rome", "New York"]}),
    ("In Paris and Rome", record(cities=TEXTS | {"maxItems": 1}), {"cities": ["Paris"]}),
    ("weather in fahrenheit", record(unit=UNIT), {"unit": "fahrenheit"}),
    ("weather", record(unit=UNIT), {"unit": "celsius"}),
    ("a dark theme", {"enum": ["light", "dark"], "default": "light"}, "dark"),
    (
        "My name is Bob and I am 42.",
        record(person=record(name=TEXT, age=INTEGER)),
        {"person": {"name": "Bob", "age": 42}},
    ),
    ("On 2026-12-24, please", record(start=TEXT | {"format": "date"}), {"start": "2026-12-24"}),
    ("On 2026-13-24, please", record(start=TEXT | {"format": "date"}), {"start": "2026-01-31"}),
    ("Meet Alice tomorrow", record(day=TEXT), {"day": "tomorrow"}),
    ("Write to Bob (bob@example.org).", record(to=TEXT | {"format": "email"}), {"to": "bob@example.org"}),
    ("It costs $3.50", record(price={"type": "number"}), {"price": 3.5}),
    ("It costs $3.50", record(price=INTEGER), {"price": 1}),
    ("Search for cats", record(query=TEXT), {"query": "Search for cats"}),
    ("In Paris", record(city=TEXT | {"maxLength": 4}), {"city": "demo"}),
    ("In Paris", record(city=TEXT | {"pattern": "^[a-z]+$"}), {"city": "demo"}),
    ("Give me 12", record(count=INTEGER | {"maximum": 10}), {"count": 1}),
    ("Give me 3 or 12", record(count=INTEGER | {"exclusiveMinimum": 3}), {"count": 12}),
    ("In Paris", record(city={"anyOf": [{"type": "null"}, TEXT]}), {"city": "Paris"}),
    ("Run `rm -r Paris` in Paris", record(command=TEXTS, cmd=TEXT), {"command": ["demo"], "cmd": "demo"}),
    ("In Paris", record(city=TEXT | {"const": "Rome"}), {"city": "Rome"}),
    ("weather in paris please", record(city=TEXT), {"city": "paris"}),
    ("weather in the morning", record(city=TEXT), {"city": "demo"}),
    ("Von Köln, nach São Paulo", record(cities=TEXTS), {"cities": ["Von Köln", "São Paulo"]}),
    ("Compare Paris and Rome", record(cities=TEXTS), {"cities": ["Paris", "Rome"]}),
    ("Write to bob@example.org, Carol", record(to=TEXT, name=TEXT), {"to": "bob@example.org", "name": "Carol"}),
    ("Fetch https://example.org/a.", record(url=TEXT), {"url": "https://example.org/a"}),
    ("open src/main.py, please", record(filePath=TEXT), {"filePath": "src/main.py"}),
    ("open it", record(path=TEXT), {"path": "demo"}),
    ("What is 12 * (3 + 4)?", record(expression=TEXT), {"expression": "12 * (3 + 4)"}),
    ("What is a sum?", record(expression=TEXT), {"expression": "demo"}),
]


@pytest.mark.parametrize(("message", "schema", "value"), FILLED)
def test_a_sample_takes_from_the_message_what_fits_and_only_that(message: str, schema: Any, value: Any) -> None:
    assert sample(schema, message) == value
    assert json.dumps(sample(schema, message)) == json.dumps(value)  # 3 is not 3.0


def test_a_message_is_read_up_to_a_bound() -> None:
    assert MessageWords("In Paris " + "x" * READ).string("city", lambda _: True) == "Paris"
    assert MessageWords("x" * READ + " In Paris").string("city", lambda _: True) is None


@pytest.mark.parametrize(
    "unit",
    ["Aa ", "Aa, ", "12 ", "in Aa and ", "`", "a_b-", ". ", "2026-01-31 ", "a@b.c ", "one ", "(", " /", "in a ", "1+"],
)
def test_reading_a_message_is_linear(unit: str) -> None:
    schema = record(**{f"name{number}": TEXT for number in range(20)}, count=INTEGER, unit=UNIT, all=TEXTS)
    schema["properties"] |= dict.fromkeys(("expression", "path", "to", "url", "city"), TEXT)
    schema["required"] = list(schema["properties"])
    assert_linear(unit, lambda n: (unit * n)[: 2 * n], lambda message: sample(schema, message), READ // 8)
