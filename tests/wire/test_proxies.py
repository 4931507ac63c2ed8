"""The proxy that the environment names is used for model servers elsewhere, and never for those of this machine."""

import pytest

from tests.wire.cases import Stage
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import Program
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream


@pytest.mark.parametrize(("host", "excluded"), [("model.example", ""), ("model.example", "other.example")])
def test_a_server_elsewhere_is_asked_by_the_proxy(stage: Stage, host: str, excluded: str) -> None:
    assert asked(stage, f"http://{host}/v1", excluded) == f"http://{host}/v1/chat/completions"


def test_a_server_of_this_machine_is_asked_itself(stage: Stage) -> None:
    assert asked(stage, "", "") == "/v1/chat/completions"


def test_what_is_excluded_is_not_asked_by_the_proxy(stage: Stage) -> None:
    assert asked(stage, "http://nowhere.invalid/v1", "nowhere.invalid") == ""


def asked(stage: Stage, base_url: str, excluded: str) -> str:
    """The path in the ask that a scripted server gets, which is also the proxy."""
    with ChatUpstream(text_turn("Hi")) as upstream:
        upstream.faults = lambda _: []  # type: ignore[method-assign,assignment]
        there = Upstream(via="chat", base_url=base_url or upstream.url, retries=0)
        environ = {"HTTP_PROXY": upstream.url.removesuffix("/v1"), "NO_PROXY": excluded}
        program = Program(Settings(upstreams={"u": there}, models={"m": Model(upstream="u")}), environ)
        try:
            stage.client.post(f"{program.url}/v1/responses", json={"model": "m", "input": "Hi"})
        finally:
            program.kill()
        return upstream.asks[0].path if upstream.asks else ""
