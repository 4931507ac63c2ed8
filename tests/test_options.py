"""Options of servers and models are declared once, and reach those who use them as they are."""

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.responses.relay_options import RelayOptions
from app.new_upstreams import upstream_of
from app.options import Can, ChatCompat, ModelOptions, RelayedTools, ServerOptions, Table
from app.providers.capabilities import Capabilities
from app.settings import Model, Seal, Server, Settings, Upstream
from app.settings.server import KeyTable
from app.transports.auth import ANYONE
from app.wiring import build_catalogue

SHARED: list[tuple[type[Table], type[Table]]] = [
    (ChatCompat, Upstream),
    (ModelOptions, Model),
    (RelayedTools, Model),
    (RelayedTools, Upstream),
    (Can, Capabilities),
    (ServerOptions, Server),
]


@pytest.mark.parametrize(("shared", "used"), SHARED)
def test_an_inherited_option_is_declared_nowhere_else(shared: type[Table], used: type[Table]) -> None:
    for name in shared.model_fields:
        declared = [kind for kind in used.__mro__ if name in vars(kind).get("__annotations__", {})]
        assert declared == [shared]


def test_every_option_is_a_setting_of_one_table() -> None:
    tables = (Server, Seal, KeyTable, Upstream, Model)
    for shared in (ChatCompat, ModelOptions, RelayedTools, ServerOptions):
        for name in shared.model_fields:
            assert [table for table in tables if name in table.model_fields] == [
                table for table in tables if issubclass(table, shared)
            ]


async def test_the_objects_that_were_configured_are_those_that_are_used() -> None:
    chat = Upstream(via="chat", base_url="http://127.0.0.1:1/v1", max_tokens_field="max_completion_tokens")
    relayed = Upstream(via="responses", base_url="http://127.0.0.1:1/v1")
    settings = Settings(
        server=Server(lenient=True),
        upstreams={"chat": chat, "relayed": relayed},
        models={"a": Model(upstream="chat", think_tags=True), "b": Model(upstream="relayed")},
    )
    upstreams = {name: upstream_of(upstream) for name, upstream in settings.upstreams.items()}
    catalogue = build_catalogue(settings, upstreams)
    asked = catalogue.look_up("a", ANYONE).options
    relay = catalogue.look_up("b", ANYONE).options
    for upstream in upstreams.values():
        await upstream.close()
    assert isinstance(asked, ChatOptions)
    assert isinstance(relay, RelayOptions)
    assert (asked.model, asked.server) == (settings.models["a"], settings.server)
    assert asked.model is settings.models["a"]
    assert asked.server is relay.server is settings.server
