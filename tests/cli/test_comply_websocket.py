"""`am-proxy comply --websocket` against servers whose answers break a rule only one after the other."""

import json
from copy import deepcopy

import pytest
from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer

from app.cli.comply import comply
from app.cli.comply_client import BrokenError, ComplyClient
from app.cli.comply_questions import OVER_WEBSOCKET
from app.judges import TypesJudge
from tests.support.openai_streams import TEXT
from tests.support.servers import ResponsesUpstream
from tests.support.servers.responses import answer, message
from tests.support.serving import serving
from tests.support.websocket_server import settings_of


def test_two_responses_with_one_id_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    """A relay passes on what the server says, which here is the same twice."""
    with ResponsesUpstream(answer(message("msg_1", "Hi"))) as upstream, serving(settings_of(upstream)) as url:
        upstream.may_violate = True  # it has no /responses/compact
        code = comply(url, model="m", key=None, websocket=True, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert code == 1
    [question] = [each for each in printed["questions"] if each["name"] == "websocket-sequential-responses"]
    assert [finding["rule"] for finding in question["findings"]] == ["response-id-reused"]


async def _say_without_an_id(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for frame in socket:
        if frame.type is WSMsgType.TEXT:
            for event in deepcopy(TEXT):
                if "response" in event:
                    event["response"]["id"] = ""
                await socket.send_json(event)
    return socket


@pytest.mark.parametrize(
    "name",
    ["sequential-responses", "continuation", "reconnect-store-false-recovery", "failed-continuation-evicts-cache"],
)
async def test_an_empty_id_means_that_responses_cannot_be_continued(name: str) -> None:
    """Opencodex sends it over a websocket. No client is known to break on it."""
    app = web.Application()
    app.router.add_get("/v1/responses", _say_without_an_id)
    async with TestServer(app) as server:
        client = ComplyClient(str(server.make_url("/v1")), "m", "", TypesJudge())
        with pytest.raises(BrokenError) as caught:
            await OVER_WEBSOCKET[f"websocket-{name}"](client)
    assert caught.value.finding.rule.name == "not-offered"
    assert client.found == []
