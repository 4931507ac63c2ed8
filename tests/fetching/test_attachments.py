"""Requests that name pictures and files by address, and what the upstream is asked instead."""

import json
from base64 import b64encode
from typing import Any

import httpx
import pytest

from app.fetching.attachments import PIECE, data_uri
from app.fetching.fetcher import Fetched
from app.options import Can
from app.settings import Model, Secret, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import AnthropicUpstream, ChatUpstream, GeminiUpstream
from tests.wire.servers import anthropic as claude
from tests.wire.servers.gemini import answers as candidate
from tests.wire.servers.server import ScriptedUpstream
from tests.wire.web_site import PDF, PNG, Site, page

PICTURE = f"data:image/png;base64,{b64encode(PNG).decode()}"
DOCUMENT = f"data:application/pdf;base64,{b64encode(PDF).decode()}"


def image(url: str) -> dict[str, Any]:
    return {"type": "input_image", "image_url": url, "detail": "high"}


def file(url: str, **more: Any) -> dict[str, Any]:
    return {"type": "input_file", "file_url": url, **more}


def says(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look:"}, *content]}


def post(upstream: Upstream, *items: dict[str, Any], **server: Any) -> httpx.Response:
    settings = Settings(
        server=Server(**{"allow_private_urls": True, **server}),
        upstreams={"there": upstream},
        models={"m": Model(upstream="there", name="claude-sonnet-4-5" if upstream.provider == "anthropic" else None)},
    )
    with serving(settings) as url:
        return httpx.post(f"{url}/v1/responses", json={"model": "m", "input": list(items)}, timeout=20)


def chat(upstream: ScriptedUpstream, **settings: Any) -> Upstream:
    return Upstream(via="chat", base_url=upstream.url, **settings)


def test_a_chat_server_that_fetches_nothing_is_given_all_of_it() -> None:
    """Images and files, of messages and of outputs; each address is asked once."""
    with Site({"/a.png": page(PNG), "/the%20b.pdf": page(PDF)}) as site, ChatUpstream(text_turn("Hi")) as upstream:
        call = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
        found = [image(f"{site.url}/a.png"), {"type": "input_text", "text": "so"}]
        answer = post(
            chat(upstream, takes_image_urls=False),
            says(image(f"{site.url}/a.png"), image(PICTURE), file(f"{site.url}/the%20b.pdf")),
            call,
            {"type": "function_call_output", "call_id": "c1", "output": found},
            says(file(f"{site.url}/the%20b.pdf", filename="mine.pdf")),
        )
    assert answer.status_code == 200, answer.text
    assert "x-am-warnings" not in answer.headers
    shown = {"type": "image_url", "image_url": {"url": PICTURE, "detail": "high"}}
    given = {"type": "file", "file": {"filename": "the b.pdf", "file_data": DOCUMENT}}
    first, _, _, media, last = upstream.asks[0].body["messages"]
    assert first["content"] == [{"type": "text", "text": "Look:"}, shown, shown, given]
    assert media["content"][1:] == [shown]
    assert last["content"][1] == {"type": "file", "file": {"filename": "mine.pdf", "file_data": DOCUMENT}}
    assert sorted(site.paths) == ["/a.png", "/the%20b.pdf"]


def test_an_upstream_that_takes_addresses_is_given_those_of_images() -> None:
    with Site({"/b.txt": page(b"words", kind="text/markdown")}) as site, ChatUpstream(text_turn("Hi")) as upstream:
        answer = post(chat(upstream), says(image(f"{site.url}/a.png"), file(f"{site.url}/b.txt")))
    assert answer.status_code == 200, answer.text
    _, shown, given = upstream.asks[0].body["messages"][0]["content"]
    assert shown["image_url"]["url"] == f"{site.url}/a.png"
    assert given["file"] == {"filename": "b.txt", "file_data": "data:text/markdown;base64,d29yZHM="}
    assert site.paths == ["/b.txt"]


@pytest.mark.parametrize(
    ("kind", "provider", "script", "holds"),
    [
        (GeminiUpstream, "gemini", [candidate({"text": "Hi"}, finish="STOP")], "inline_data"),
        (AnthropicUpstream, "anthropic", [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()], "base64"),
    ],
)
def test_litellm_fetches_nothing_because_we_do(
    kind: type[ScriptedUpstream], provider: str, script: list[dict[str, Any]], holds: str
) -> None:
    """It would do so without these checks."""
    with Site({"/a.png": page(PNG)}) as site, kind(script) as upstream:
        there = Upstream(provider=provider, base_url=upstream.url, api_key=Secret("sk-upstream"))
        answer = post(there, says(image(f"{site.url}/a.png")))
    assert answer.status_code == 200, answer.text
    asked = str(upstream.asks[0].body)
    assert holds in asked
    assert b64encode(PNG).decode() in asked
    assert [head.split("\r\n")[1:] for head in site.asked if "am-proxy" not in head] == []


def test_never_means_never() -> None:
    with Site({"/a.pdf": page(PDF)}) as site, ChatUpstream(text_turn("Hi")) as upstream:
        answer = post(chat(upstream), says(file(f"{site.url}/a.pdf")), fetch_urls="never")
    assert "is sent to the model as a link only" in answer.headers["x-am-warnings"]
    assert site.asked == []


@pytest.mark.parametrize(
    ("items", "server", "param", "message"),
    [
        ([says(image("URL/none"))], {}, "input[0].content[1].image_url", "it could not be fetched"),
        ([says(), says(file("URL/zip"))], {}, "input[1].content[1].file_url", "its data is not a PDF"),
        ([says(file("URL/b"), image("URL/a"))], {"max_fetch_bytes": 1024}, "input[0].content[", "is too large"),
        (
            [says(image("URL/a"))],
            {"allow_private_urls": False},
            "input[0].content[1].image_url",
            "not point to a public",
        ),
        ([says(*[image(f"URL/{n}") for n in range(65)])], {}, "input", "contains 65 URLs to fetch; at most 64"),
    ],
    ids=["not there", "no file for models", "too large together", "private", "too many"],
)
def test_what_cannot_be_had_is_refused_by_its_path(
    items: list[dict[str, Any]], server: dict[str, Any], param: str, message: str
) -> None:
    """And no upstream is asked."""
    pages = {"/a": page(PNG + bytes(900)), "/b": page(PDF + bytes(900)), "/zip": page(b"PK\x03\x04\x00")}
    with Site(pages) as site, ChatUpstream() as upstream:
        result = json.loads(json.dumps(items).replace("URL", site.url))
        answer = post(chat(upstream, takes_image_urls=False), *result, **server)
    error = answer.json()["error"]
    assert (answer.status_code, error["type"], error["code"]) == (400, "invalid_request_error", "invalid_value")
    assert error["param"].startswith(param)
    assert message in error["message"]
    assert upstream.asks == []


@pytest.mark.parametrize(("times", "status"), [(8, 200), (9, 400)])
def test_an_address_counts_as_often_as_it_is_named(times: int, status: int) -> None:
    """It is fetched once, but sent at each of its places."""
    document = PDF + bytes(512 - len(PDF))
    with Site({"/a.pdf": page(document)}) as site, ChatUpstream(text_turn("Hi")) as upstream:
        parts = [file(f"{site.url}/a.pdf") for _ in range(times)]
        answer = post(chat(upstream), says(), says(*parts), max_fetch_bytes=8 * 512)
    assert (answer.status_code, site.paths) == (status, ["/a.pdf"])
    if status == 200:
        sent = upstream.asks[0].body["messages"][-1]["content"][1:]
        data = f"data:application/pdf;base64,{b64encode(document).decode()}"
        assert [part["file"]["file_data"] for part in sent] == [data] * times
        return
    path = "input[1].content[1].file_url"
    message = f"Invalid URL in '{path}': its data is too large to be sent {times} times."
    assert upstream.asks == []
    assert answer.json()["error"] == {
        "type": "invalid_request_error",
        "code": "invalid_value",
        "param": path,
        "message": message,
    }


@pytest.mark.parametrize("length", [1, 7, 3 * PIECE - 1, 3 * PIECE, 3 * PIECE + 1, 7 * PIECE])
def test_a_data_uri_is_made_of_pieces(length: int) -> None:
    data = bytes(number % 251 for number in range(length))
    assert data_uri(Fetched("image/png", data)) == f"data:image/png;base64,{b64encode(data).decode()}"


def test_several_are_fetched_side_by_side_but_not_all_at_once() -> None:
    pages = {f"/{number}": page(PNG, pause=0.05) for number in range(12)}
    with Site(pages) as site, ChatUpstream(text_turn("Hi")) as upstream:
        answer = post(chat(upstream, takes_image_urls=False), says(*[image(f"{site.url}{path}") for path in pages]))
    assert answer.status_code == 200, answer.text
    assert 1 < site.most_at_once <= 4


def test_what_a_model_cannot_take_is_not_fetched_for_it() -> None:
    with Site({"/a.png": page(PNG), "/b.pdf": page(PDF)}) as site, ChatUpstream(text_turn("Hi")) as upstream:
        settings = Settings(
            server=Server(allow_private_urls=True, lenient=True),
            upstreams={"there": chat(upstream, takes_image_urls=False)},
            models={"m": Model(upstream="there", can=Can(vision=False, files=False))},
        )
        with serving(settings) as url:
            items = [says(image(f"{site.url}/a.png"), file(f"{site.url}/b.pdf"))]
            answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items}, timeout=20)
        assert answer.status_code == 200
        assert len(json.loads(answer.headers["x-am-warnings"])) == 2
        assert site.asked == []


def test_what_a_compaction_item_names_by_address_is_fetched_as_well() -> None:
    """The item was made where the upstream fetched pictures itself; the conversation goes on where it does not."""
    talks = [text_turn("A summary."), text_turn("A cat."), text_turn("Still a cat.")]
    with Site({"/a.png": page(PNG)}) as site, ChatUpstream(*talks) as upstream:
        settings = Settings(
            server=Server(allow_private_urls=True),
            upstreams={"there": chat(upstream), "blind": chat(upstream, takes_image_urls=False)},
            models={"m": Model(upstream="there"), "blind": Model(upstream="blind")},
        )
        history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "word " * 200}]
        managed = {"context_management": [{"type": "compaction", "compact_threshold": 10}]}
        with serving(settings) as url:

            def asked(model: str, items: list[Any], **fields: Any) -> httpx.Response:
                body = {"model": model, "input": items, **fields}
                return httpx.post(f"{url}/v1/responses", json=body, timeout=20)

            first = asked("m", [*history, says(image(f"{site.url}/a.png"))], **managed)
            window = first.json()["output"][0]
            assert (window["type"], site.paths) == ("compaction", [])
            answer = asked("blind", [history[0], window, says()])
            site.pages.clear()
            missed = asked("blind", [history[0], window, says()])
    assert (answer.status_code, site.paths) == (200, ["/a.png", "/a.png"])
    pictures = [
        part["image_url"]["url"]
        for message in upstream.asks[2].body["messages"]
        for part in message["content"]
        if isinstance(part, dict) and part["type"] == "image_url"
    ]
    assert pictures == [PICTURE]
    assert (missed.status_code, missed.json()["error"]["param"]) == (400, "input[1].content[1].image_url")
