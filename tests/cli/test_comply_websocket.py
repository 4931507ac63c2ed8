"""`am-proxy comply --websocket` against servers whose answers break a rule only one after the other."""

import json

import pytest

from app.cli.comply import comply
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
