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
        "server.keep_alive": "config.toml",
        "server.strict": "--strict",
        "keys[0].value": "env:ALICE_KEY",
        "upstreams.deepseek.api_key": "file:secrets/deepseek",
        'upstreams."my server".base_url': "config.toml",
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


@pytest.mark.parametrize(
    ("flags", "environ", "upstream"),
    [
        (
            {"upstream": "http://127.0.0.1:11434/v1/"},
            {},
            Upstream(via="chat", base_url="http://127.0.0.1:11434/v1"),
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
            Upstream(via="chat", base_url="https://y.test", api_key=Secret("literal")),
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
    assert (settings.server.port, settings.file, settings.origins["server.port"]) == (2, "two.toml", "two.toml")


def test_a_dollar_that_is_doubled_is_a_plain_one(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        '[upstreams.u]\nprovider = "x"\napi_key = "a$${B}${C}$d"\n[models.m]\nupstream = "u"'
    )
    settings = load({}, {"C": "c"}, tmp_path)
    assert settings.upstreams["u"].api_key == Secret("a${B}c$d")


def test_a_key_may_use_the_models_its_patterns_cover() -> None:
    key = Key("k", b"", ("gpt-*", "demo"))
    assert [key.may_use(name) for name in ("gpt-4.1", "demo", "demo2", "GPT-4.1")] == [True, True, False, False]


def test_a_secret_prints_nowhere(folder: Path) -> None:
    settings = load({}, ENVIRON, folder)
    key = settings.upstreams["deepseek"].api_key
    assert key is not None
    assert key.reveal() == "sk-deep"
    upstream = settings.upstreams["deepseek"]
    printed = f"{settings} {settings!r} {key} {upstream.model_dump_json()} {vars(upstream)}"
    assert "Secret(***)" in printed
    assert [word for word in ("sk-deep", "let-alice-in", "let-bob-in") if word in printed] == []
    with pytest.raises(TypeError, match="cannot be pickled"):
        key.__reduce__()
    assert len({key, Secret("sk-deep"), Secret("other")}) == 2
