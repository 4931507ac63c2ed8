"""Reads recorded answers of Responses servers from source packages: exchanges in the format of vcrpy, and quotes."""

import ast
import gzip
import json
import tarfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import yaml


class Recorded(NamedTuple):
    """An answer to a request for a response."""

    name: str
    """The file in the folder of tests, and which of its exchanges it is."""
    status: int
    content: bytes
    request: bytes = b""
    """What was asked; empty if it is not known."""

    @property
    def kind(self) -> str:
        """How the server answered."""
        if self.status >= HTTPStatus.BAD_REQUEST:
            return "error"
        return "whole" if self.content[:1] == b"{" else "stream"


def recorded(package: Path) -> Iterator[Recorded]:
    """The recorded answers in a source package."""
    with tarfile.open(package) as files:
        for member in files:
            name = member.name.partition("/tests/")[2]
            file = files.extractfile(member) if "/tests/" in member.name else None
            data = file.read() if file is not None else b""
            if name.endswith((".yaml", ".yaml.gz")):
                text = gzip.decompress(data) if name.endswith(".gz") else data
                yield from _answers(name.partition(".yaml")[0], yaml.load(text, yaml.CSafeLoader))
            elif name.endswith(".py") and b'"object": "response"' in data:
                yield from _quoted(name, ast.parse(data))


def _answers(name: str, cassette: Any) -> Iterator[Recorded]:
    for number, (request, response) in enumerate(_exchanges(cassette)):
        if _asks_for_a_response(request):
            status, content = response["status"]["code"], _content(response["body"])
            yield Recorded(f"{name} {number}", status, content, _content(request["body"]))


def _quoted(name: str, module: ast.Module) -> Iterator[Recorded]:
    """Whole responses, which tests of the `openai` package quote as JSON."""
    texts = [node.value for node in ast.walk(module) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for number, text in enumerate(each for each in texts if each.startswith('{"id": "resp_')):
        yield Recorded(f"{name} {number}", HTTPStatus.OK, text.encode())


def _exchanges(cassette: Any) -> Iterator[tuple[Any, Any]]:
    """The requests with their responses, which some packages keep in two lists."""
    if isinstance(cassette, dict) and isinstance(cassette.get("interactions"), list):
        for each in cassette["interactions"]:
            yield each["request"], each["response"]
    elif isinstance(cassette, dict) and {"requests", "responses"} <= cassette.keys():
        yield from zip(cassette["requests"], cassette["responses"], strict=True)


def _content(body: Any) -> bytes:
    content = body.get("string") if isinstance(body, dict) else body
    encoded: bytes = content.encode() if isinstance(content, str) else content or b""
    return gzip.decompress(encoded) if encoded[:2] == b"\x1f\x8b" else encoded


def _asks_for_a_response(request: Any) -> bool:
    """By its address, or by its body if the address was removed."""
    address = request["uri"].partition("?")[0]
    if address.endswith("/responses"):
        return True
    try:
        body = json.loads(_content(request["body"]))
    except ValueError:
        return False
    asks = isinstance(body, dict) and "input" in body and "embedding" not in body["model"]
    return "://" not in address and asks
