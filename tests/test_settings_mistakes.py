"""All mistakes of a configuration are reported at once, each with its location."""

from pathlib import Path

import pytest

from app.settings import ConfigMistakesError, load

GOOD_UPSTREAM = '[upstreams.u]\nprovider = "x"\n'
GOOD = GOOD_UPSTREAM + '[models.m]\nupstream = "u"\n'


def mistakes(
    folder: Path, file: str | bytes | None = None, environ: dict[str, str] | None = None, **flags: object
) -> list[str]:
    """What `load` finds wrong."""
    if file is not None:
        (folder / "config.toml").write_bytes(file.encode() if isinstance(file, str) else file)
    with pytest.raises(ConfigMistakesError) as caught:
        load(flags, environ or {}, folder)
    assert str(caught.value) == "\n".join(map(str, caught.value.mistakes))
    return list(map(str, caught.value.mistakes))


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    file = """\
port = 3
[server]
prot = 8080
strict = "maybe"
[[keys]]
name = "a"
sha256 = "abc"
[[keys]]
name = "a"
value = "env:NOPE"
[upstreams.deepseek]
via = "litelm"
provider = "deepseek"
[upstreams.r]
via = "response"
base_url = "ftp://x"
[models."gpt-4.1"]
upstream = "deepsek"
[models.x]
nme = "y"
"""
    assert mistakes(tmp_path, file, {"AM_KEEP_ALIVE": "long", "AM_UPSTREAM_VIA": "chat"}, host="") == [
        "--host: must be a name without spaces around it and without control characters",
        "AM_KEEP_ALIVE: must be a number",
        "AM_UPSTREAM_VIA: means nothing without --upstream or --provider",
        "config.toml: keys[0].sha256: must be the SHA-256 of the key: 64 hexadecimal digits",
        "config.toml: keys[1].name: is the same as that of keys[0]",
        "config.toml: keys[1].value: the environment variable NOPE is not set",
        'config.toml: models."gpt-4.1".upstream: there is no upstream "deepsek" (did you mean deepseek?)',
        "config.toml: models.x.nme: is not a setting here (did you mean name?)",
        "config.toml: models.x.upstream: is missing",
        "config.toml: port: is not a setting here (did you mean server.port?)",
        "config.toml: server.prot: is not a setting here (did you mean port?)",
        "config.toml: server.strict: must be true or false",
        "config.toml: upstreams.deepseek.via: must be one of litellm, chat, messages, responses, demo (did you mean litellm?)",
        "config.toml: upstreams.r.base_url: must be an address that starts with http:// or https://",
        "config.toml: upstreams.r.via: must be one of litellm, chat, messages, responses, demo (did you mean responses?)",
    ]


@pytest.mark.parametrize(
    ("file", "printed"),
    [
        ("a = ", "config.toml: is not TOML: Invalid value (at end of document)"),
        ("[server]\nport = 1\n[server]\n", "config.toml: is not TOML: Cannot declare ('server',) twice (at line 3, column 8)"),
        ("[server]\nport = [1,\n2\n\n", "config.toml: is not TOML: Unclosed array (at end of document)"),
        (b"[server]\nhost = '\xff'", "config.toml: is not UTF-8 text"),
        (b"#" * (4 * 1024 * 1024 + 1), "config.toml: is too large for a configuration"),
        ("a = " + "[" * 5000 + "]" * 5000, "config.toml: is nested too deeply"),
        ("server = 1", "config.toml: server: must be a table: [server]"),
        ("models = 1", "config.toml: models: must be a table: [models]"),
        ("keys = 1", "config.toml: keys: must be a list of tables: [[keys]]"),
        ("keys = [1]", "config.toml: keys[0]: must be a table: [[keys]]"),
        ("[server]\nport = 65536", "config.toml: server.port: must be at most 65535"),
        ("[server]\nport = 1.5", "config.toml: server.port: must be a whole number"),
        ("[server]\nkeep_alive = 0", "config.toml: server.keep_alive: must be more than 0"),
        ("[server]\nkeep_alive = nan", "config.toml: server.keep_alive: must be a number"),
        ("[server]\nhost = 1", "config.toml: server.host: must be a text in quotes"),
        ('[server]\nhost = "${}"', "config.toml: server.host: ${} is not ${NAME} or ${NAME:-otherwise}"),
        ('[server]\nhost = "${A"', "config.toml: server.host: ${A is not ${NAME} or ${NAME:-otherwise}"),
        ('[server]\nlog_format = "jsn"', "config.toml: server.log_format: must be one of auto, text, json (did you mean json?)"),
        ('[[keys]]\nname = "a"', "config.toml: keys[0]: needs either sha256 or value, and not both"),
        ('[[keys]]\nname = "guest"\nvalue = "b"', "config.toml: keys[0].name: is reserved for callers without a key of this server: choose another name"),
        ('[[keys]]\nname = "Anyone"\nvalue = "b"', "config.toml: keys[0].name: is reserved for callers without a key of this server: choose another name"),
        ('[[keys]]\nname = "a"\nvalue = "b c"', "config.toml: keys[0].value: must not hold spaces, line breaks or anything but printable ASCII"),
        ('[[keys]]\nname = "a"\nvalue = ""', "config.toml: keys[0].value: must not be empty"),
        ('[[keys]]\nname = "a"\nvalue = "b"\nmodels = "m"', "config.toml: keys[0].models: must be a list"),
        ('[[keys]]\nname = "a"\nvalue = "b"\n[[keys]]\nname = "c"\nvalue = "b"', "config.toml: keys[1].value: is the same as that of keys[0]"),
        ('[seal]\nkeys = ["short"]', "config.toml: seal.keys[0]: must be at least 32 random characters: `openssl rand -hex 32`"),
        ('[seal]\nkeys = "env:K"', "config.toml: seal.keys: the environment variable K is not set"),
        ('[seal]\nkeys = "k"', "config.toml: seal.keys: must be a list"),
        ("[seal]\nmax_age_days = 0", "config.toml: seal.max_age_days: must be more than 0"),
        ("seal = 1", "config.toml: seal: must be a table: [seal]"),
        (GOOD + '[upstream.x]\nvia = "demo"', "config.toml: upstream: is not a setting here (did you mean upstreams?)"),
        ('[upstreams.u]\nprovider = "x"\n', 'config.toml: upstreams: no model leads here: add [models."*"] or [models.<name>] with upstream = …'),
        ('[models.m]\nupstream = "u"', 'config.toml: models.m.upstream: there is no upstream "u"'),
        (GOOD_UPSTREAM + '[models.m]\nupstream = "local"', 'config.toml: models.m.upstream: there is no upstream "local" (there is u)'),
        (GOOD + '[models."gpt-*"]\nupstream = "u"', 'config.toml: models."gpt-*": is no pattern: only "*" alone stands for other names'),
        ('[search]\nbackend = "searxng"', 'config.toml: search: backend = "searxng" needs a base_url'),
        ('[search]\nbackend = "brave"', 'config.toml: search: backend = "brave" needs an api_key'),
        ('[search]\nbase_url = "http://x"', "config.toml: search: needs a backend: the server that searches"),
        (GOOD + '[models.o]\nupstream = "u"\ncontext_window = 0', "config.toml: models.o.context_window: must be at least 1"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_reported_with_its_setting(tmp_path: Path, file: str | bytes, printed: str) -> None:
    assert mistakes(tmp_path, file) == [printed]


@pytest.mark.parametrize(
    ("upstream", "printed"),
    [
        ("", "config.toml: upstreams.u: needs a provider (litellm's prefix, such as \"deepseek\") or a base_url"),
        ('via = "chat"', 'config.toml: upstreams.u: via = "chat" needs a base_url'),
        ('via = "chat"\nprovider = "x"\nbase_url = "http://x"', 'config.toml: upstreams.u: x is not known to speak chat completions: leave provider out and say base_url, or say via = "litellm"'),
        ('via = "responses"', 'config.toml: upstreams.u: via = "responses" needs a base_url'),
        ('via = "responses"\nprovider = "x"\nbase_url = "http://x"', 'config.toml: upstreams.u: x is not a known provider: leave provider out and say base_url, or say via = "litellm"'),
        ('via = "chat"\nbase_url = "http://x"\nstream_option = false', "config.toml: upstreams.u.stream_option: is not a setting here (did you mean stream_options?)"),
        ('via = "chat"\nbase_url = "http://x"\nmax_token_field = "max_tokens"', "config.toml: upstreams.u.max_token_field: is not a setting here (did you mean max_tokens_field?)"),
        ('via = "chat"\nbase_url = "http://x"\nmax_tokens_field = "max_completion_token"', "config.toml: upstreams.u.max_tokens_field: must be one of max_tokens, max_completion_tokens (did you mean max_completion_tokens?)"),
        ('via = "chat"\nbase_url = "http://x"\nsystem_role = "develop"', "config.toml: upstreams.u.system_role: must be one of system, developer (did you mean developer?)"),
        ('via = "chat"\nbase_url = "http://x"\nstrict_tools = "strip"', "config.toml: upstreams.u.strict_tools: must be true or false"),
        ('via = "chat"\nbase_url = "http://x"\nreasoning_field = "reason"', "config.toml: upstreams.u.reasoning_field: must be one of reasoning_content, reasoning, none (did you mean reasoning?)"),
        ('via = "responses"\nbase_url = "http://x"\nids = "keeps"', "config.toml: upstreams.u.ids: must be one of am, keep (did you mean keep?)"),
        ('via = "chat"\nbase_url = "http://x"\nids = "keep"', 'config.toml: upstreams.u: ids means nothing here: it is a setting of via = "responses"'),
        ('provider = "x"\nstream_options = false', 'config.toml: upstreams.u: stream_options means nothing here: it is a setting of via = "chat"'),
        ('via = "demo"\napi_key = "k"', 'config.toml: upstreams.u: via = "demo" takes no provider, api_key or base_url: it runs inside this server'),
        ('provider = "Deep Seek"', "config.toml: upstreams.u.provider: must be 1 to 64 small letters, digits, _ and -"),
        ('base_url = "localhost:11434"', "config.toml: upstreams.u.base_url: must be an address that starts with http:// or https:// (did you mean http://localhost:11434/v1?)"),
        ('base_url = "http://x:0"', "config.toml: upstreams.u.base_url: must be an address that starts with http:// or https://"),
        ('base_url = "http://x:port"', "config.toml: upstreams.u.base_url: must be an address that starts with http:// or https://"),
        ('base_url = "http://me:pw@x"', "config.toml: upstreams.u.base_url: must not hold a user name or password: use api_key"),
        ('base_url = "http://x?key=1"', "config.toml: upstreams.u.base_url: must end with its path, without ? or #"),
        ('provider = "x"\ntimeout = inf', "config.toml: upstreams.u.timeout: must be a number"),
    ],
)  # fmt: skip
def test_an_upstream_must_fit_together(tmp_path: Path, upstream: str, printed: str) -> None:
    assert mistakes(tmp_path, f'[upstreams.u]\n{upstream}\n[models.m]\nupstream = "u"') == [printed]


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("env:GONE", "the environment variable GONE is not set"),
        ("env:THEIR_KE", "the environment variable THEIR_KE is not set (did you mean THEIR_KEY?)"),
        ("env:EMPTY", "the environment variable EMPTY is empty"),
        ("${GONE}", "the environment variable GONE is not set"),
        ("file:gone", "the file gone cannot be read: there is no such file"),
        ("file:", "the file  cannot be read: it is a folder"),
        ("file:a\\u0000b", "the file a\0b cannot be read: it is not a path"),
        ("file:blank", "the file blank is empty"),
        ("file:huge", "the file huge is too large to hold a setting"),
        ("file:config.toml/x", "the file config.toml/x cannot be read: Not a directory"),
    ],
)
def test_a_reference_that_leads_nowhere_is_reported_and_nothing_else(tmp_path: Path, value: str, printed: str) -> None:
    (tmp_path / "blank").write_text(" \n")
    (tmp_path / "huge").write_text("x" * 70_000)
    file = f'[upstreams.u]\nprovider = "x"\napi_key = "{value}"\n[models.m]\nupstream = "u"'
    assert mistakes(tmp_path, file, {"EMPTY": "", "THEIR_KEY": "k"}) == [f"config.toml: upstreams.u.api_key: {printed}"]


@pytest.mark.parametrize(
    ("environ", "flags", "printed"),
    [
        ({}, {"config": "gone.toml"}, ["gone.toml: cannot be read: there is no such file"]),
        ({"AM_CONFIG": "gone.toml"}, {"port": "x"}, ["gone.toml: cannot be read: there is no such file"]),
        ({}, {"port": "x"}, ["--port: must be a whole number"]),
        ({}, {"via": "chat", "upstream_key": "k"}, [
            "--upstream-key: means nothing without --upstream or --provider",
            "--via: means nothing without --upstream or --provider",
        ]),
        ({}, {"upstream": "nowhere"}, ["--upstream: must be an address that starts with http:// or https://"]),
        ({"AM_KEY": "env:GONE"}, {}, ["AM_KEY: the environment variable GONE is not set"]),
    ],
)  # fmt: skip
def test_mistakes_in_flags_and_environment_are_reported_by_their_names(
    tmp_path: Path, environ: dict[str, str], flags: dict[str, str], printed: list[str]
) -> None:
    assert mistakes(tmp_path, None, environ, **flags) == printed


def test_a_given_upstream_never_merges_with_one_of_the_file(tmp_path: Path) -> None:
    """Else the file's key would go to the address on the command line."""
    file = '[upstreams.upstream]\nprovider = "x"\napi_key = "k"\n[models.m]\nupstream = "upstream"'
    assert mistakes(tmp_path, file, upstream="http://other.test") == [
        '--upstream: the file has an upstream named "upstream" of its own: rename that one'
    ]


@pytest.mark.parametrize("name", ["server", "models", "upstreams", "keys"])
def test_other_sources_do_not_hide_that_the_file_has_no_table_there(tmp_path: Path, name: str) -> None:
    printed = mistakes(tmp_path, f"{name} = 1", {"AM_KEY": "k"}, port="1", upstream="http://x")
    assert [word.partition(" must be a ")[0] for word in printed] == [f"config.toml: {name}:"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "example.test", "[::]"])  # noqa: S104 — nothing listens
def test_an_address_that_others_can_reach_needs_a_key_or_a_clear_word(tmp_path: Path, host: str) -> None:
    assert mistakes(tmp_path, None, host=host) == [
        "--host: others can reach this address, and there is no key: add [[keys]] or set AM_KEY, listen on 127.0.0.1, or give --insecure-no-auth to let everyone in"
    ]
    assert load({"host": host, "insecure_no_auth": True}, {}, tmp_path).server.host == host
    assert load({"host": host}, {"AM_KEY": "k"}, tmp_path).server.host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"])
def test_this_machine_alone_needs_no_key(tmp_path: Path, host: str) -> None:
    assert load({"host": host}, {}, tmp_path).server.host == host


def test_no_mistake_holds_a_secret(tmp_path: Path) -> None:
    file = """\
[[keys]]
name = "a"
value = "se cret"
[[keys]]
name = "b"
sha256 = "secret"
value = "secret"
[upstreams.u]
via = "demo"
api_key = "secret"
[models.m]
upstream = "u"
"""
    assert [word for word in mistakes(tmp_path, file) if "cret" in word] == []


@pytest.mark.parametrize(
    "origin", ["example.com", "https://a.example/", "https://a.example/x", "null", "https://u@a", "a b"]
)
def test_an_origin_is_written_as_browsers_write_it(tmp_path: Path, origin: str) -> None:
    assert mistakes(tmp_path, f'[server]\ncors_origins = ["https://b.example", "{origin}"]\n') == [
        'config.toml: server.cors_origins[1]: must be an origin such as "https://example.com", without a path, or "*"'
    ]


@pytest.mark.parametrize("host", ["https://a.example", "a.example:80", "*.a.example", "a/b"])
def test_an_allowed_host_is_a_bare_name(tmp_path: Path, host: str) -> None:
    assert mistakes(tmp_path, f'[server]\nallowed_hosts = ["{host}"]\n') == [
        'config.toml: server.allowed_hosts[0]: must be a host name or address without a port, or "*"'
    ]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('provider = "openai"\napi_key = "k"\nauth = "passthrough"', 'takes either api_key or auth = "passthrough"'),
        ('via = "demo"\nauth = "passthrough"', 'via = "demo" asks for no key: leave auth out'),
        (
            'provider = "bedrock"\nauth = "passthrough"',
            'litellm finds keys of its own for bedrock: auth = "passthrough" is not safe there',
        ),
        ('provider = "openai"\nauth = "passthru"', "must be one of key, passthrough (did you mean passthrough?)"),
    ],
)
def test_callers_keys_are_passed_on_only_where_no_other_key_is_accepted(tmp_path: Path, table: str, words: str) -> None:
    printed = mistakes(tmp_path, f'[upstreams.u]\n{table}\n[models.m]\nupstream = "u"\n')
    assert len(printed) == 1
    assert printed[0].endswith(words)
