"""`am-proxy check`."""

import tomllib
from pathlib import Path

import pytest

from app.__main__ import main

FILE = """\
[server]
port = 9000
keep_alive = 2.5
first_payload_wait = 3

[[keys]]
name = "alice"
value = "env:ALICE_KEY"

[upstreams.deepseek]
provider = "deepseek"
api_key = "file:secret"

[upstreams.local]
base_url = "http://localhost:11434/v1"

[models."gpt-4.1"]
upstream = "local"
"""

CHECKED = """\
[server]
host = "127.0.0.1"                          # default
port = 9000                                 # config.toml
workers = 1                                 # default
keep_alive = 2.5                            # config.toml
first_payload_wait = 3                      # config.toml
strict = true                               # --strict
max_body_bytes = 33554432                   # default
body_timeout = 30                           # default
body_caller_bytes = 134217728               # default
body_total_bytes = 536870912                # default
max_header_bytes = 65536                    # default
header_timeout = 15                         # default
max_items = 7                               # AM_MAX_ITEMS
max_parts = 32768                           # default
max_tools = 1024                            # default
max_json_values = 250000                    # default
websocket = true                            # default
websocket_memory_bytes = 16777216           # default
websocket_caller_bytes = 67108864           # default
websocket_total_bytes = 268435456           # default
max_connections = 0                         # default
max_address_connections = 0                 # default
proxies = []                                # default
max_websockets = 1000                       # default
max_caller_websockets = 250                 # default
websocket_idle = 600                        # default
websocket_lifetime = 3600                   # default
fetch_urls = "when_needed"                  # default
fetch_timeout = 10                          # default
max_fetch_bytes = 33554432                  # default
allowed_hosts = []                          # default
cors_origins = []                           # default
upstream_idle = 60                          # default
upstream_idle_connections = 32              # default
max_turns = 1000                            # default
guest_requests_per_minute = 0               # default
guest_concurrency = 0                       # default
send_timeout = 60                           # default
drain_delay = 2                             # default
shutdown_grace = 6                          # default
log_format = "auto"                         # default
log_level = "info"                          # default
metrics = "key"                             # default
traces = ""                                 # default
ui = true                                   # default
watch_bytes = 134217728                     # default
record = ""                                 # default
record_bytes = 1073741824                   # default
record_turn_bytes = 16777216                # default
insecure_no_auth = false                    # default
lenient = false                             # default
max_answer_bytes = 67108864                 # default
allow_private_urls = false                  # default

[seal]
when = "asked"                              # default
keys = ["***"]                              # set, from AM_SEAL_KEY
shared = false                              # default

[search]
backend = "none"                            # default
base_url = ""                               # default
results = 5                                 # default
timeout = 10                                # default

[[keys]]
name = "alice"                              # config.toml
sha256 = "980bebcd…"                        # set, from env:ALICE_KEY
models = ["*"]                              # default

[upstreams.deepseek]
via = "litellm"                             # default
provider = "deepseek"                       # config.toml
api_key = "***"                             # set, from file:secret
auth = "key"                                # default
connect_timeout = 5                         # default
timeout = 120                               # default
turn_timeout = 1800                         # default
retries = 1                                 # default
breaker_failures = 10                       # default
breaker_pause = 30                          # default

[upstreams.local]
via = "litellm"                             # default
auth = "key"                                # default
base_url = "http://localhost:11434/v1"      # config.toml
connect_timeout = 5                         # default
timeout = 120                               # default
turn_timeout = 1800                         # default
retries = 1                                 # default
breaker_failures = 10                       # default
breaker_pause = 30                          # default

[models."gpt-4.1"]
upstream = "local"                          # config.toml
tools = "auto"                              # default
system_messages = "keep"                    # default
reasoning = "summary"                       # default
give_back_reasoning = true                  # default
think_tags = false                          # default
call_ids = "auto"                           # default
web_search = false                          # default
cache_ttl = "5m"                            # default
image_output = false                        # default
reasoning_efforts = []                      # default
apply_patch = true                          # default
tool_search = false                         # default
use_responses_lite = false                  # default

# upstreams.local: no api_key is set
"""


GIVEN = """\
[server]
port = 9000                                 # config.toml
keep_alive = 2.5                            # config.toml
first_payload_wait = 3                      # config.toml
strict = true                               # --strict
max_items = 7                               # AM_MAX_ITEMS

[seal]
keys = ["***"]                              # set, from AM_SEAL_KEY

[[keys]]
name = "alice"                              # config.toml
sha256 = "980bebcd…"                        # set, from env:ALICE_KEY

[upstreams.deepseek]
provider = "deepseek"                       # config.toml
api_key = "***"                             # set, from file:secret

[upstreams.local]
base_url = "http://localhost:11434/v1"      # config.toml

[models."gpt-4.1"]
upstream = "local"                          # config.toml

# upstreams.local: no api_key is set
# {hidden} settings have their default values: am-proxy check --all shows them
"""
VALID = "config.toml is valid: 2 upstreams, 1 model, 1 key\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, and no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_right_configuration_is_printed_whole_with_origins_and_without_secrets(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "config.toml").write_text(FILE)
    (folder / "secret").write_text("sk-deep")
    monkeypatch.setenv("ALICE_KEY", "let-alice-in")
    monkeypatch.setenv("AM_SEAL_KEY", "s" * 32)
    monkeypatch.setenv("AM_MAX_ITEMS", "7")
    assert main(["check", "--all", "--strict"]) == 0
    printed = capsys.readouterr()
    assert printed.out == CHECKED
    assert printed.err == VALID
    assert main(["check", "--strict"]) == 0
    printed = capsys.readouterr()
    assert printed.out == GIVEN.format(hidden=CHECKED.count("# default\n"))
    assert printed.err == VALID


@pytest.mark.parametrize(("flags", "tables"), [([], []), (["--all"], ["server", "seal", "search"])])
def test_what_it_prints_is_a_configuration_again(
    flags: list[str], tables: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *flags]) == 0
    out, err = capsys.readouterr()
    printed = tomllib.loads(out)
    assert (list(printed), printed["models"]["demo"]["upstream"]) == ([*tables, "upstreams", "models"], "demo")
    assert err == "the configuration is valid: 1 upstream, 1 model, no keys\n"
    assert ("have their default values: am-proxy check --all shows them" in out) is not bool(flags)


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ("can = { vision = true }", "can.vision = true                           # config.toml\n"),
        ("can.tools = false", "can.tools = false                           # config.toml\n"),
        ('reasoning = "summary"', 'reasoning = "summary"                       # config.toml\n'),
        ('names = { u = "v" }', 'names.u = "v"                               # config.toml\n'),
    ],
)
def test_what_the_file_says_is_shown_even_if_it_is_the_default(
    table: str, shown: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "config.toml").write_text(f'[upstreams.u]\nvia = "demo"\n[models.m]\nupstream = "u"\n{table}\n')
    assert main(["check"]) == 0
    assert capsys.readouterr().out.partition("[models.m]\n")[2].splitlines(keepends=True)[1] == shown


def test_no_keys_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check"])
    assert "\n# no keys: everyone who can reach the address may use the server\n" in capsys.readouterr().out
