"""From what a person writes to `Settings`."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from app.settings.faults import TABLES
from app.settings.gone import instead_of
from app.settings.load import GIVEN, load
from app.settings.tables import Can, Table
from tests.docs.configuration_page import page

SETTINGS = {
    "server": """
        host port workers keep_alive first_payload_wait strict lenient max_body_bytes max_answer_bytes websocket
        max_websockets max_turns guest_requests_per_minute guest_concurrency fetch_urls allow_private_urls allowed_hosts
        cors_origins shutdown_grace log_format log_level metrics traces watch record insecure_no_auth""",
    "keys": "name sha256 value models requests_per_minute concurrency",
    "seal": "when keys max_age_days",
    "search": "backend base_url api_key results",
    "upstreams": """
        via provider api_key auth base_url connect_timeout timeout turn_timeout retries breaker_failures
        max_tokens_field system_role strict_tools reasoning_field hints named_tool_choice takes_image_urls key_header
        betas""",
    "models": """
        upstream upstreams name names system_messages alternating_roles reasoning give_back_reasoning think_tags
        web_search cache_control cache_ttl image_output context_window input_price cached_input_price output_price
        reasoning_efforts codex can""",
    "can": "vision files audio tools parallel_calls strict_tools reasoning structured_output verbosity",
}
"""The names that configurations use, and no others."""
ENVIRON = {
    "AM_HOST": ("localhost", "localhost"),
    "AM_PORT": ("1", 1),
    "AM_WORKERS": ("3", 3),
    "AM_KEEP_ALIVE": ("2.5", 2.5),
    "AM_STRICT": ("yes", True),
    "AM_WEBSOCKET": ("off", False),
    "AM_INSECURE_NO_AUTH": ("1", True),
    "AM_FETCH_URLS": ("never", "never"),
    "AM_ALLOWED_HOSTS": ("proxy.example.com, [fd00::1]", ("proxy.example.com", "fd00::1")),
    "AM_CORS_ORIGINS": ("https://A.example,http://b.example:3000", ("https://a.example", "http://b.example:3000")),
    "AM_WATCH": ("7", 7),
    "AM_RECORD": ("2026", "2026"),
    "AM_TRACES": ("http://127.0.0.1:4318/v1/traces/", "http://127.0.0.1:4318/v1/traces"),
    "AM_LOG_LEVEL": ("", "info"),
}
KEYS = {"GROQ_API_KEY": "g", "OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "DEEPSEEK_API_KEY": "d"}
ELSEWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_settings_are_those_that_others_depend_on() -> None:
    tables: dict[str, type[Table]] = {**TABLES, "can": Can}
    assert {name: set(table.model_fields) for name, table in tables.items()} == {
        name: set(words.split()) for name, words in SETTINGS.items()
    }
    shown = page()
    assert [name for words in SETTINGS.values() for name in words.split() if f"\n| `{name}` | " not in shown] == []
    kept = [f"{kind}.{name}" for kind, table in tables.items() for name in table.model_fields]
    assert [name for name in kept if instead_of(name)] == []


def test_a_file_becomes_settings_with_every_reference_filled_in(folder: Path) -> None:
    (folder / "third").write_text("of-the-third\n")
    (folder / "there").mkdir()
    (folder / "there" / "key").write_text("sk-deep\n")
    (folder / "there" / "it.toml").write_text("""\ufeff\
[server]
port = "env:PORT"
workers = "auto"
[[keys]]
name = "alice"
value = "env:ALICE_KEY"
[[keys]]
name = "bob"
sha256 = "env:BOB"
models = ["gpt-*"]
[upstreams.deepseek]
provider = "deepseek"
api_key = "file:key"
[upstreams."my server"]
base_url = "localhost:11434/v1/chat/completions"
[models."gpt-4.1"]
upstreams = ["my server", "deepseek"]
names.deepseek = "deepseek-chat"
context_window = 8192
""")
    environ = {"PORT": "11434", "ALICE_KEY": "let-alice-in", "BOB": sha256(b"let-bob-in").hexdigest().upper()}
    settings = load(Path("there/it.toml"), {}, environ | {"AM_KEY": "file:third", "AM_SEAL_KEY": "s" * 32})
    assert (settings.server.port, settings.server.workers >= 1) == (11434, True)
    assert [(key.name, key.sha256, key.models) for key in settings.keys] == [
        ("alice", sha256(b"let-alice-in").hexdigest(), ()),
        ("bob", sha256(b"let-bob-in").hexdigest(), ("gpt-*",)),
        ("AM_KEY", sha256(b"of-the-third").hexdigest(), ()),
    ]
    deepseek, local = settings.upstreams["deepseek"], settings.upstreams["my server"]
    assert deepseek.api_key.get_secret_value() == "sk-deep"
    assert (local.via, local.base_url) == ("chat", "http://localhost:11434/v1")
    assert settings.models["gpt-4.1"].asked == ("my server", "deepseek")
    shown = f"{settings!r} {settings.model_dump_json()}"
    assert [word for word in ("sk-deep", "let-alice-in", "of-the-third", "s" * 32) if word in shown] == []


def test_without_any_configuration_there_is_the_demo_on_loopback() -> None:
    settings = load(None, {}, {})
    assert (settings.server.host, settings.server.port, settings.server.kept_turns) == ("127.0.0.1", 8080, 200)
    assert (settings.models["*"].upstream, settings.upstreams["demo"].via) == ("demo", "demo")
    assert load(None, {"host": "0.0.0.0", "insecure_no_auth": True}, {}).server.kept_turns == 0


@pytest.mark.parametrize("name", ENVIRON)
def test_a_variable_has_the_type_of_its_setting(name: str) -> None:
    text, value = ENVIRON[name]
    assert getattr(load(None, {}, {name: text}).server, name[3:].lower()) == value


@pytest.mark.parametrize(
    ("flags", "environ", "port"),
    [({}, {}, 1), ({}, {"AM_PORT": "2"}, 2), ({"port": 3}, {"AM_PORT": "x"}, 3), ({"port": None}, {"AM_PORT": ""}, 1)],
)
def test_a_flag_beats_the_environment_beats_the_file(
    flags: dict[str, Any], environ: dict[str, str], port: int, folder: Path
) -> None:
    (folder / "am-proxy.toml").write_text("[server]\nport = 1")
    assert load(None, flags, environ).server.port == port


@pytest.mark.parametrize(
    ("given", "via", "base_url", "key"),
    [
        ({"base_url": ELSEWHERE}, "chat", ELSEWHERE, None),
        ({"base_url": ELSEWHERE, "api_key": "k"}, "chat", ELSEWHERE, "k"),
        ({"base_url": ELSEWHERE, "via": "responses"}, "responses", ELSEWHERE, None),
        ({"base_url": f"{ELSEWHERE}/messages"}, "messages", ELSEWHERE, None),
        ({"provider": "groq"}, "chat", "https://api.groq.com/openai/v1", "g"),
        ({"provider": "groq", "api_key": "mine"}, "chat", "https://api.groq.com/openai/v1", "mine"),
        ({"provider": "groq", "base_url": ELSEWHERE}, "chat", ELSEWHERE, None),
        ({"provider": "ollama"}, "chat", "http://127.0.0.1:11434/v1", None),
        ({"provider": "openai"}, "responses", "https://api.openai.com/v1", "o"),
        ({"provider": "openai", "via": "chat"}, "chat", "https://api.openai.com/v1", "o"),
        ({"provider": "anthropic"}, "messages", "https://api.anthropic.com", "a"),
        ({"provider": "anthropic", "via": "litellm"}, "litellm", None, "a"),
        ({"provider": "deepseek", "via": "messages"}, "messages", "https://api.deepseek.com/anthropic", "d"),
        ({"provider": "bedrock"}, "litellm", None, None),
        ({"provider": "gemini"}, "litellm", None, None),
        ({"provider": "veniceai"}, "litellm", None, None),
        ({"provider": "replicate", "api_key": "r"}, "litellm", None, "r"),
    ],
)
def test_file_flags_and_environment_give_the_same_upstream(
    given: dict[str, str], via: str, base_url: str | None, key: str | None, folder: Path
) -> None:
    """A key in a provider's variable is sent to no address but the provider's."""
    flags = {"base_url": "upstream", "api_key": "upstream_key"}
    variables = {"base_url": "AM_UPSTREAM", "api_key": "AM_UPSTREAM_KEY", "via": "AM_UPSTREAM_VIA"}
    ways = [
        load(None, {flags.get(name, name): value for name, value in given.items()}, KEYS),
        load(None, {}, KEYS | {variables.get(name, "AM_PROVIDER"): value for name, value in given.items()}),
    ]
    (folder / "am-proxy.toml").write_text(
        "\n".join(["[upstreams.upstream]", *(f'{name} = "{value}"' for name, value in given.items())])
        + '\n[models."*"]\nupstream = "upstream"'
    )
    ways.append(load(None, {}, KEYS))
    for settings in ways:
        upstream = settings.upstreams[GIVEN]
        found = upstream.api_key.get_secret_value() or None
        assert (upstream.via, upstream.base_url, found) == (via, base_url, key)
        assert {name: model.upstream for name, model in settings.models.items()} == {"*": GIVEN}


def test_a_given_upstream_takes_the_names_that_the_file_does_not_have(folder: Path) -> None:
    (folder / "am-proxy.toml").write_text(
        '[upstreams.u]\nprovider = "groq"\napi_key = "of-the-file"\n'
        '[models.m]\nupstream = "u"\n[models."*"]\nupstream = "u"'
    )
    settings = load(None, {"upstream": ELSEWHERE}, KEYS)
    assert {name: model.upstream for name, model in settings.models.items()} == {"m": "u", "*": GIVEN}
    assert not settings.upstreams[GIVEN].api_key
