"""From what a person writes to `Settings`."""

from hashlib import sha256
from pathlib import Path

import pytest

from app.settings import Key, Model, Seal, Secret, Server, Settings, Upstream, load

FILE = """\
[server]
port = 9000
keep_alive = 2.5
host = "${HOST:-127.0.0.2}"

[[keys]]
name = "alice"
value = "env:ALICE_KEY"
models = ["gpt-*", "demo"]

[[keys]]
name = "bob"
sha256 = "${BOB}"

[upstreams.deepseek]
provider = "deepseek"
api_key = "file:secrets/deepseek"

[upstreams."my server"]
via = "chat"
base_url = "http://localhost:${PORT}/v1/"

[models."deepseek-chat"]
upstream = "deepseek"

[models."gpt-4.1"]
upstream = "my server"
name = "org/model:free"
system_messages = "merge_head"
think_tags = true
context_window = 8192
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a configuration and the secret it speaks of."""
    (tmp_path / "config.toml").write_text(FILE)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "deepseek").write_text("sk-deep\n")
    return tmp_path


ENVIRON = {"ALICE_KEY": "let-alice-in", "BOB": sha256(b"let-bob-in").hexdigest().upper(), "PORT": "11434"}


def test_a_file_becomes_settings_with_every_reference_filled_in(folder: Path) -> None:
    settings = load({}, ENVIRON, folder)
    assert settings == Settings(
        server=Server(port=9000, keep_alive=2.5, host="127.0.0.2"),
        keys=(
            Key("alice", sha256(b"let-alice-in").digest(), ("gpt-*", "demo")),
            Key("bob", sha256(b"let-bob-in").digest(), ("*",)),
        ),
        upstreams={
            "deepseek": Upstream(provider="deepseek", api_key=Secret("sk-deep")),
            "my server": Upstream(via="chat", base_url="http://localhost:11434/v1"),
        },
        models={
            "deepseek-chat": Model(upstream="deepseek"),
            "gpt-4.1": Model(
                upstream="my server",
                name="org/model:free",
                system_messages="merge_head",
                think_tags=True,
                context_window=8192,
            ),
        },
        file="config.toml",
        origins=settings.origins,
    )


def test_every_value_remembers_where_it_was_said(folder: Path) -> None:
    settings = load({"strict": True}, ENVIRON | {"AM_PORT": "9001"}, folder)
    wanted = {
        "server.port": "AM_PORT",
        "server.keep_alive": "config.toml:3",
        "server.strict": "--strict",
        "keys[0].value": "env:ALICE_KEY",
        "upstreams.deepseek.api_key": "file:secrets/deepseek",
        'upstreams."my server".base_url': "config.toml:21",
    }
    assert {path: settings.origins[path] for path in wanted} == wanted


def test_without_any_configuration_there_is_the_demo_on_loopback(tmp_path: Path) -> None:
    settings = load({}, {}, tmp_path)
    assert settings == Settings()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8080)
    assert settings.models == {"demo": Model(upstream="demo")}
    assert settings.upstreams == {"demo": Upstream(via="demo")}


def test_a_file_that_only_tunes_the_server_still_serves_the_demo(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[server]\nstrict = true\n")
    settings = load({}, {}, tmp_path)
    assert (settings.server.strict, list(settings.models)) == (True, ["demo"])


@pytest.mark.parametrize(
    ("flags", "environ", "file", "port"),
    [
        ({}, {}, "", 8080),
        ({}, {}, "[server]\nport = 1", 1),
        ({}, {"AM_PORT": "2"}, "[server]\nport = 1", 2),
        ({"port": "3"}, {"AM_PORT": "2"}, "[server]\nport = 1", 3),
        ({"port": None}, {"AM_PORT": ""}, "[server]\nport = 1", 1),
        ({"port": "3"}, {"AM_PORT": "no number"}, '[server]\nport = "${UNSET}"', 3),
    ],
)
def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(
    tmp_path: Path, flags: dict[str, str], environ: dict[str, str], file: str, port: int
) -> None:
    (tmp_path / "config.toml").write_text(file)
    assert load(flags, environ, tmp_path).server.port == port


def test_every_setting_of_the_server_has_an_environment_variable(tmp_path: Path) -> None:
    environ = {
        "AM_HOST": "localhost",
        "AM_PORT": "1",
        "AM_KEEP_ALIVE": "2",
        "AM_FIRST_PAYLOAD_WAIT": "3",
        "AM_STRICT": "true",
        "AM_LENIENT": "true",
        "AM_MAX_BODY_BYTES": "4096",
        "AM_UPSTREAM_IDLE": "20",
        "AM_UPSTREAM_IDLE_CONNECTIONS": "21",
        "AM_BODY_TIMEOUT": "7",
        "AM_BODY_CALLER_BYTES": "11",
        "AM_BODY_TOTAL_BYTES": "12",
        "AM_MAX_HEADER_BYTES": "2048",
        "AM_HEADER_TIMEOUT": "8",
        "AM_MAX_ITEMS": "5",
        "AM_MAX_PARTS": "7",
        "AM_MAX_TOOLS": "6",
        "AM_MAX_JSON_VALUES": "5000",
        "AM_MAX_ANSWER_BYTES": "2000000",
        "AM_WEBSOCKET": "false",
        "AM_WEBSOCKET_MEMORY_BYTES": "0",
        "AM_WEBSOCKET_CALLER_BYTES": "1",
        "AM_WEBSOCKET_TOTAL_BYTES": "2",
        "AM_MAX_WEBSOCKETS": "3",
        "AM_MAX_CALLER_WEBSOCKETS": "4",
        "AM_WEBSOCKET_IDLE": "7",
        "AM_WEBSOCKET_LIFETIME": "8",
        "AM_ALLOW_PRIVATE_URLS": "yes",
        "AM_FETCH_URLS": "never",
        "AM_FETCH_TIMEOUT": "9",
        "AM_MAX_FETCH_BYTES": "8192",
        "AM_ALLOWED_HOSTS": "proxy.example.com, [fd00::1]",
        "AM_CORS_ORIGINS": "https://a.example,http://b.example:3000",
        "AM_MAX_TURNS": "7",
        "AM_GUEST_REQUESTS_PER_MINUTE": "9",
        "AM_GUEST_CONCURRENCY": "10",
        "AM_SEND_TIMEOUT": "8",
        "AM_DRAIN_DELAY": "9",
        "AM_SHUTDOWN_GRACE": "10",
        "AM_LOG_FORMAT": "json",
        "AM_LOG_LEVEL": "warning",
        "AM_LOG_BODIES": "yes",
        "AM_METRICS": "open",
        "AM_TRACES": "http://127.0.0.1:4318/v1/traces",
        "AM_UI": "off",
        "AM_WATCH": "7",
        "AM_WATCH_BYTES": "8",
        "AM_INSECURE_NO_AUTH": "1",
    }
    assert {name.removeprefix("AM_").lower() for name in environ} == set(Server.model_fields)
    assert load({}, environ, tmp_path).server == Server(
        host="localhost",
        port=1,
        keep_alive=2,
        first_payload_wait=3,
        strict=True,
        lenient=True,
        max_body_bytes=4096,
        body_timeout=7,
        body_caller_bytes=11,
        body_total_bytes=12,
        max_header_bytes=2048,
        header_timeout=8,
        max_items=5,
        max_parts=7,
        max_tools=6,
        max_json_values=5000,
        max_answer_bytes=2000000,
        websocket=False,
        websocket_memory_bytes=0,
        websocket_caller_bytes=1,
        websocket_total_bytes=2,
        max_websockets=3,
        max_caller_websockets=4,
        websocket_idle=7,
        websocket_lifetime=8,
        allow_private_urls=True,
        fetch_urls="never",
        fetch_timeout=9,
        max_fetch_bytes=8192,
        upstream_idle=20,
        upstream_idle_connections=21,
        allowed_hosts=("proxy.example.com", "fd00::1"),
        cors_origins=("https://a.example", "http://b.example:3000"),
        max_turns=7,
        guest_requests_per_minute=9,
        guest_concurrency=10,
        send_timeout=8,
        drain_delay=9,
        shutdown_grace=10,
        log_format="json",
        log_level="warning",
        log_bodies=True,
        metrics="open",
        traces="http://127.0.0.1:4318/v1/traces",
        ui=False,
        watch=7,
        watch_bytes=8,
        insecure_no_auth=True,
    )


@pytest.mark.parametrize(
    ("flags", "environ", "upstream"),
    [
        (
            {"upstream": "http://127.0.0.1:11434/v1/"},
            {},
            Upstream(base_url="http://127.0.0.1:11434/v1"),
        ),
        (
            {},
            {
                "AM_UPSTREAM": "https://x.test",
                "AM_UPSTREAM_KEY": "env:THEIRS",
                "AM_UPSTREAM_VIA": "chat",
                "THEIRS": "k",
            },
            Upstream(via="chat", base_url="https://x.test", api_key=Secret("k")),
        ),
        (
            {"upstream": "https://y.test", "upstream_key": "literal"},
            {"AM_UPSTREAM": "https://x.test"},
            Upstream(base_url="https://y.test", api_key=Secret("literal")),
        ),
    ],
)
def test_an_upstream_can_be_given_without_a_file_and_gets_every_name(
    tmp_path: Path, flags: dict[str, str], environ: dict[str, str], upstream: Upstream
) -> None:
    settings = load(flags, environ, tmp_path)
    assert (settings.upstreams, settings.models) == ({"upstream": upstream}, {"*": Model(upstream="upstream")})


def test_a_given_upstream_takes_the_names_the_file_does_not_know(folder: Path) -> None:
    settings = load({"upstream": "http://x.test"}, ENVIRON, folder)
    assert {name: model.upstream for name, model in settings.models.items()} == {
        "deepseek-chat": "deepseek",
        "gpt-4.1": "my server",
        "*": "upstream",
    }


@pytest.mark.parametrize(
    ("file", "environ", "keys"),
    [
        ("", {}, ()),
        ("", {"AM_SEAL_KEY": "e" * 32}, ("e" * 32,)),
        ("", {"AM_SEAL_KEY": "env:THEIRS", "THEIRS": "t" * 32}, ("t" * 32,)),
        ('[seal]\nkeys = ["env:NEW", "file:old"]', {"NEW": "n" * 32, "AM_SEAL_KEY": "e" * 32}, ("n" * 32, "o" * 32)),
    ],
)
def test_the_environment_gives_the_key_that_seals_where_the_file_names_none(
    tmp_path: Path, file: str, environ: dict[str, str], keys: tuple[str, ...]
) -> None:
    (tmp_path / "config.toml").write_text(file)
    (tmp_path / "old").write_text("o" * 32 + "\n")
    assert load({}, environ, tmp_path).seal == Seal(keys=tuple(map(Secret, keys)))


def test_a_client_key_of_the_environment_joins_those_of_the_file(folder: Path) -> None:
    (folder / "key").write_text("from-a-file")
    settings = load({}, ENVIRON | {"AM_KEY": "file:key"}, folder)
    assert [key.name for key in settings.keys] == ["alice", "bob", "AM_KEY"]
    assert settings.keys[2] == Key("AM_KEY", sha256(b"from-a-file").digest())


def test_the_file_can_be_named_by_a_flag_or_the_environment(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text("[server]\nport = 1")
    (tmp_path / "two.toml").write_text("\ufeff[server]\r\nport = 2\r\n")
    assert load({}, {"AM_CONFIG": "one.toml"}, tmp_path).server.port == 1
    settings = load({"config": "two.toml"}, {"AM_CONFIG": "one.toml"}, tmp_path)
    assert (settings.server.port, settings.file, settings.origins["server.port"]) == (2, "two.toml", "two.toml:2")


def test_a_dollar_that_is_doubled_is_a_plain_one(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[upstreams.u]\nprovider = "x"\napi_key = "a$${B}${C}$d"\n[models.m]\nupstream = "u"'
    )
    settings = load({}, {"C": "c"}, tmp_path)
    assert settings.upstreams["u"].api_key == Secret("a${B}c$d")


def test_a_key_may_use_the_models_its_patterns_cover() -> None:
    key = Key("k", b"", ("gpt-*", "demo"))
    assert [key.may_use(name) for name in ("gpt-4.1", "demo", "demo2", "GPT-4.1")] == [True, True, False, False]


def test_a_variable_that_is_nearly_a_setting_is_noted_and_no_mistake(tmp_path: Path) -> None:
    settings = load({}, {"AM_PROT": "1", "AM_SOMETHING_QUITE_DIFFERENT": "1"}, tmp_path)
    assert settings.notes == ("AM_PROT is not a setting (did you mean AM_PORT?)",)


def test_a_secret_prints_nowhere(folder: Path) -> None:
    settings = load({}, ENVIRON, folder)
    key = settings.upstreams["deepseek"].api_key
    assert key is not None
    assert key.reveal() == "sk-deep"
    upstream = settings.upstreams["deepseek"]
    told = f"{settings} {settings!r} {key} {upstream.model_dump_json()} {vars(upstream)}"
    assert "Secret(***)" in told
    assert [word for word in ("sk-deep", "let-alice-in", "let-bob-in") if word in told] == []
    with pytest.raises(TypeError, match="does not let itself be copied"):
        key.__reduce__()
    assert len({key, Secret("sk-deep"), Secret("other")}) == 2
