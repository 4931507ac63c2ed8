"""Requests of many shapes, each of which can be made as long as one likes."""

import base64
import json
from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]
Shape = Callable[[int], Json]
"""The fields of a request of about so many bytes."""

PNG: Final = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(25)).decode()
SMALL_ITEMS: Final = 16_000
SMALL_PARTS: Final = 32_000


def user(content: Any) -> Json:
    return {"role": "user", "content": content}


def call(number: int, arguments: str = "{}", name: str = "f") -> Json:
    return {"type": "function_call", "call_id": f"c{number}", "name": name, "arguments": arguments}


def output(number: int, text: Any = "done") -> Json:
    return {"type": "function_call_output", "call_id": f"c{number}", "output": text}


def tool(number: int, **properties: Any) -> Json:
    parameters = {"type": "object", "properties": properties or {"a": {"type": "string"}}}
    return {"type": "function", "name": f"f{number}", "description": "It does it.", "parameters": parameters}


def many(entry: Callable[[int], Any], size: int, most: int) -> list[Any]:
    """As many entries as come to this size, but not more than `most`; if they would be, they are padded elsewhere."""
    each = len(json.dumps(entry(10_000)))
    return [entry(number) for number in range(max(1, min(size // each, most)))]


def items(entry: Callable[[int], Json], *, at_a_time: int = 1) -> Shape:
    def shape(size: int) -> Json:
        return {"input": [*many(entry, size, SMALL_ITEMS // at_a_time), user("Hi")]}

    return shape


def pairs(first: Callable[[int], Json], second: Callable[[int], Json]) -> Shape:
    def shape(size: int) -> Json:
        held = many(lambda number: [first(number), second(number)], size, SMALL_ITEMS // 2 - 1)
        return {"input": [user("Hi"), *(item for pair in held for item in pair)]}

    return shape


def parts(entry: Callable[[int], Json]) -> Shape:
    return lambda size: {"input": [user(many(entry, size, SMALL_PARTS))]}


def deep(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = [value]
    return value


def _text(size: int) -> str:
    return 'The quick brown fox jumps over the lazy dog, {and [so] on}: "yes".\n' * (size // 70)


SHAPES: Final[dict[str, Shape]] = {
    "one text": lambda size: {"input": _text(size)},
    "a text of escapes": lambda size: {"input": '\x01\n"\\' * (size // 12)},
    "a non-ASCII text": lambda size: {"input": "é\N{GRINNING FACE}" * (size // 6)},
    "one non-ASCII character": lambda size: {"input": "\N{GRINNING FACE}" + "a" * size},
    "instructions": lambda size: {"instructions": _text(size), "input": "Hi"},
    "messages": items(lambda number: user(f"Say {number}.")),
    "user and assistant messages": pairs(
        lambda number: user(f"Say {number}."), lambda _: {"role": "assistant", "content": "No."}
    ),
    "system messages": items(lambda number: {"role": "developer", "content": f"Be {number}."}),
    "empty messages": items(lambda _: user("")),
    "parts": parts(lambda number: {"type": "input_text", "text": f"Part {number}."}),
    "refusals": lambda size: {
        "input": [
            {
                "role": "assistant",
                "content": parts(lambda _: {"type": "refusal", "refusal": "No."})(size)["input"][0]["content"],
            },
            user("Hi"),
        ]
    },
    "pictures": parts(lambda _: {"type": "input_image", "image_url": "data:image/png;base64," + PNG}),
    "one picture": lambda size: {
        "input": [user([{"type": "input_image", "image_url": "data:image/png;base64," + PNG + "A" * (size // 4 * 4)}])]
    },
    "one file": lambda size: {"input": [user([{"type": "input_file", "filename": "a.pdf", "file_data": "A" * size}])]},
    "addresses": parts(lambda number: {"type": "input_image", "image_url": f"https://example.com/{number}.png"}),
    "calls and outputs": pairs(call, output),
    "calls without outputs": items(call),
    "outputs without calls": items(output),
    "the same call again": items(lambda _: call(1)),
    "one id for all": pairs(lambda number: call(1, f'{{"a":{number}}}'), lambda number: output(1, f"done {number}")),
    "outputs before their calls": lambda size: {
        "input": [
            user("Hi"),
            *(item for make in (output, call) for item in many(make, size // 2, SMALL_ITEMS // 2 - 1)),
        ]
    },
    "calls with many names": pairs(lambda number: call(number, name=f"g{number}"), output),
    "long arguments": lambda size: {"input": [user("Hi"), call(1, json.dumps({"a": "b" * size})), output(1)]},
    "arguments of many values": lambda size: {
        "input": [user("Hi"), call(1, json.dumps({"a": [{}] * (size // 4)})), output(1)]
    },
    "arguments that are not JSON": lambda size: {"input": [user("Hi"), call(1, "{" * size), output(1)]},
    "a long output": lambda size: {"input": [user("Hi"), call(1), output(1, _text(size))]},
    "thoughts": pairs(
        lambda number: {"type": "reasoning", "summary": [{"type": "summary_text", "text": f"Hm {number}."}]},
        lambda _: {"role": "assistant", "content": "No."},
    ),
    "thoughts in a row": items(
        lambda number: {"type": "reasoning", "summary": [{"type": "summary_text", "text": f"Hm {number}."}]}
    ),
    "thoughts in many parts": lambda size: {
        "input": [
            user("Hi"),
            {
                "type": "reasoning",
                "summary": many(lambda _: {"type": "summary_text", "text": "Hm."}, size, SMALL_PARTS),
            },
            {"role": "assistant", "content": "No."},
        ]
    },
    "shell commands": pairs(
        lambda number: {"type": "shell_call", "call_id": f"c{number}", "action": {"commands": ["ls"]}},
        lambda number: {
            "type": "shell_call_output",
            "call_id": f"c{number}",
            "output": [{"stdout": "a", "stderr": ""}],
        },
    ),
    "one long shell call": lambda size: {
        "input": [
            user("Hi"),
            {"type": "shell_call", "call_id": "c", "action": {"commands": many(lambda _: "ls", size, SMALL_PARTS)}},
        ]
    },
    "searches": items(lambda number: {"type": "web_search_call", "id": f"ws_{number}", "action": {"query": "x"}}),
    "unknown keys of items": items(lambda number: user("Hi") | {f"key{number}": 1}),
    "unknown keys": lambda size: {
        "input": "Hi",
        **{f"key{number:06}": 1 for number in range(min(size // 16, 200_000))},
    },
    "metadata": lambda size: {
        "input": "Hi",
        "metadata": {f"key{n}": "v" * 500 for n in range(min(16, size // 512 + 1))},
    },
    "tools": lambda size: {"input": "Hi", "tools": many(tool, size, 1_000)},
    "one long schema": lambda size: {
        "input": "Hi",
        "tools": [tool(1, **{f"p{n}": {"type": "string", "enum": ["a"]} for n in range(min(size // 48, 60_000))})],
    },
    "deep schemas": lambda size: {
        "input": "Hi",
        "tools": [tool(n, a={"default": deep(100)}) for n in range(min(size // 350, 1_000))],
    },
    "tools found repeatedly": items(lambda _: {"type": "tool_search_output", "tools": [tool(1)]}),
    "a format": lambda size: {
        "input": "Hi",
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {"description": _text(size)}}},
    },
    "allowed tools": lambda size: {
        "input": "Hi",
        "tools": [tool(1)],
        "tool_choice": {
            "type": "allowed_tools",
            "tools": [{"type": "function", "name": "f1"}] * min(size // 40, 1_000),
        },
    },
}


def body(name: str, size: int) -> bytes:
    """The request of this shape, of about so many bytes."""
    return json.dumps({"model": "m", **SHAPES[name](size)}, ensure_ascii=False, separators=(",", ":")).encode()
