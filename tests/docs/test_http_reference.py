"""docs/http.md says of the API what the code does."""

import ast
import json
import re
from http import HTTPStatus
from pathlib import Path
from typing import Final

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.application import CurrentApplication
from app.main import build_app
from app.protocol.problems import ERROR_SHAPES
from app.protocol.request.create_response import KNOWN
from app.settings import load
from app.transports.openapi import document
from tests.docs import http_reference
from tests.docs.http_reference import WORDS
from tests.support.running import ROOT

PAGE: Final = ROOT / "docs" / "http.md"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return build_app(load({}, {}, tmp_path_factory.mktemp("folder"))).fastapi


def test_the_page_is_current(app: FastAPI, blessed: Path | None) -> None:
    if blessed == PAGE.parent:
        PAGE.write_text(http_reference.page(app))
    assert PAGE.read_text() == http_reference.page(app)


def test_every_endpoint_is_explained(app: FastAPI) -> None:
    assert http_reference.routes(app) == set(WORDS["endpoints"])
    assert set(WORDS["open"]) <= set(WORDS["endpoints"])


def test_the_endpoints_that_need_a_key_are_marked(tmp_path: Path) -> None:
    """The websocket is left out: without an offer it is a 426 for everyone."""
    keyed = build_app(load({}, {"AM_KEY": "secret", "AM_WATCH": "1"}, tmp_path))
    client = TestClient(CurrentApplication(keyed), base_url="http://127.0.0.1")
    for endpoint in set(WORDS["endpoints"]) - {"GET /v1/responses"}:
        methods, path = endpoint.rsplit(" ", 1)
        answer = client.request(methods.split(", ")[0], re.sub(r"{\w+}", "x", path))
        assert (answer.status_code != HTTPStatus.UNAUTHORIZED) == (endpoint in WORDS["open"]), endpoint


def test_every_parameter_and_every_error_is_explained() -> None:
    assert set(WORDS["parameters"]) == KNOWN
    assert set(WORDS["relayed"]) <= KNOWN
    assert set(WORDS["errors"]) == set(ERROR_SHAPES)


def test_every_event_of_the_api_is_listed() -> None:
    listed = set(re.findall(r"^\| `(response\.[a-z_.]+)` \|", PAGE.read_text(), re.MULTILINE))
    schemas = json.loads(document())["components"]["schemas"]
    shapes = [schema["properties"] for schema in schemas.values() if "sequence_number" in schema.get("properties", {})]
    named = {name for properties in shapes for name in properties["type"]["enum"]}
    assert listed == named


def strings(folder: Path) -> set[str]:
    """Every text in the code of a folder."""
    trees = [ast.parse(file.read_text()) for file in folder.rglob("*.py")]
    return {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_header_of_ours_is_explained() -> None:
    """A name that is a whole text in the code; the list for browsers is several in one."""
    used = {
        name
        for folder in ("transports", "turns")
        for text in strings(ROOT / "app" / folder)
        for name in re.findall(r"\b(?<!-)(?:x-|openai-)[a-z-]+|traceparent|originator|retry-after", text)
        if re.fullmatch(r"[a-z-]+(?:, [a-z-]+)*,? ?", text)
    }
    assert used >= {"x-am-warnings", "retry-after", "x-request-id", "traceparent"}
    used.discard("x-gzip")  # an encoding, no header
    assert used - set(WORDS["sent_headers"]) - set(WORDS["read_headers"]) == set()


def test_every_close_code_is_explained() -> None:
    """1009 is sent by the library of websockets, the others by constants of ours."""
    files = (ROOT / "app" / "transports").glob("*.py")
    used = {int(code) for file in files for code in re.findall(r"Final = (10[01]\d)\b", file.read_text())}
    assert used | {1009} == {int(code) for code in WORDS["close_codes"]}
