"""Citations and the searches of a provider's own, from the provider's wire through litellm to the client."""

from collections.abc import Sequence

from app.upstreams.litellm_chat import LitellmChat
from tests.support.chat_answers import client_events, turn
from tests.support.upstream_asks import KEY, answers, asks, server
from tests.wire.servers import Step
from tests.wire.servers import anthropic as claude
from tests.wire.servers.gemini import answers as candidate

PAGE = {
    "type": "web_search_result_location",
    "url": "https://a.example",
    "title": "A",
    "cited_text": "x",
    "encrypted_index": "abc",
}


async def output(provider: str, script: Sequence[Step]) -> list[dict[str, object]]:
    with server(provider, script) as upstream:
        chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url)
        chunks, problem = await answers(chat, asks(provider))
    assert problem is None
    events: list[dict[str, object]] = client_events(turn(), *chunks)[-1]["response"]["output"]
    return events


def message(text: str, *cited: tuple[int, int]) -> dict[str, object]:
    annotations = [
        {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": start, "end_index": end}
        for start, end in cited
    ]
    part = {"type": "output_text", "text": text, "annotations": annotations}
    return {"type": "message", "id": "msg_AM-2", "status": "completed", "role": "assistant", "content": [part]}


async def test_claude_cites_what_its_own_search_found_and_nobody_is_asked_to_run_it() -> None:
    script = [
        *claude.begins(),
        *claude.block(
            0,
            "server_tool_use",
            {"type": "input_json_delta", "partial_json": '{"query":"sky"}'},
            id="srvtoolu_1",
            name="web_search",
            input={},
        ),
        *claude.block(1, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[]),
        *claude.text(2, "I found: "),
        *claude.block(
            3,
            "text",
            {"type": "citations_delta", "citation": PAGE},
            {"type": "text_delta", "text": "the sky "},
            {"type": "text_delta", "text": "is blue"},
            text="",
        ),
        *claude.text(4, "."),
        *claude.ends(),
    ]
    assert await output("anthropic", script) == [message("I found: the sky is blue.", (9, 24))]


async def test_gemini_cites_by_bytes() -> None:
    metadata = {
        "groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}],
        "groundingSupports": [
            {"segment": {"endIndex": 5, "text": "Öl ü"}, "groundingChunkIndices": [0]},
            {"segment": {"startIndex": 4, "endIndex": 6, "text": "ü"}, "groundingChunkIndices": [0]},
        ],
    }
    last = candidate({"text": "ü."}, finish="STOP")
    last["candidates"][0]["groundingMetadata"] = metadata
    assert await output("gemini", [candidate({"text": "Öl "}), last]) == [message("Öl ü.", (0, 4), (3, 4))]
