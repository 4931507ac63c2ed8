"""Every mistake of a configuration is said at once, with its place and with what may be meant."""

import re
from pathlib import Path

import pytest

from app.settings.faults import TABLES
from app.settings.gone import instead_of
from app.settings.load import SettingsError, load, unknown_variables
from app.settings.tables import Can

CASES = Path(__file__).with_name("mistakes.txt").read_text().split("\n\n")
"""A configuration each, and behind `> ` what is said of it."""
OPEN = "others can reach this address, and there is no key: add [[keys]] or set AM_KEY, "
OPEN += "listen on 127.0.0.1, or say insecure_no_auth = true (--insecure-no-auth) to let everyone in"
ENVIRON = {"PORT": "8000", "THEIR_KEY": "k", "EMPTY": ""}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mistakes(file: str | bytes, flags: dict[str, object] | None = None, environ: dict[str, str] | None = None) -> str:
    """What is wrong, without the name of the file."""
    if file:
        Path("am-proxy.toml").write_bytes(file if isinstance(file, bytes) else file.encode())
    with pytest.raises(SettingsError) as caught:
        load(None, flags or {}, ENVIRON | (environ or {}))
    return re.sub("^am-proxy.toml: ", "", str(caught.value), flags=re.MULTILINE)


def test_all_mistakes_are_said_at_once() -> None:
    """Also those between tables."""
    file = """\
port = 3
[server]
host = "0.0.0.0"
prot = 8080
strict = "maybe"
[seal]
when = "asked"
keys = ["short"]
[[keys]]
name = "a"
sha256 = "abc"
[[keys]]
name = "a"
value = "env:NOPE"
unknown = "env:NOPE"
[upstreams.deepseek]
via = "litelm"
provider = "deepseek"
api_key = "env:NOPE"
[models."gpt-4.1"]
upstream = "deepsek"
[models.x]
nme = "y"
[models.gpt-4.1]
upstream = "deepseek"
[models."gpt-*"]
upstreams = [1, "x"]
"""
    assert mistakes(file, {"port": "x"}, {"AM_KEEP_ALIVE": "long", "AM_UPSTREAM_VIA": "chat"}).splitlines() == [
        "--port: must be a whole number",
        "AM_KEEP_ALIVE: must be a number",
        "AM_UPSTREAM_VIA: means nothing without --upstream or --provider",
        "keys.a.name: is the name of another key, too",
        "keys.a.sha256: must be the SHA-256 of the key: 64 hexadecimal digits",
        "keys.a.unknown: is not a setting here",
        "keys.a.value: the environment variable NOPE is not set",
        'models."gpt-*".upstreams[0]: must be a text in quotes',
        'models."gpt-*": is no pattern: only "*" alone stands for other names',
        'models."gpt-4.1".upstream: there is no upstream "deepsek" (did you mean deepseek?)',
        'models.gpt-4.1: a name with a dot needs quotes: [models."gpt-4.1"]',
        "models.x.nme: is not a setting here (did you mean name?)",
        "models.x: needs an upstream: deepseek",
        "port: is not a setting here: port is one of [server]",
        "seal.keys[0]: must be at least 32 random characters: `openssl rand -hex 32`",
        "server.prot: is not a setting here (did you mean port?)",
        "server.strict: must be true or false",
        "upstreams.deepseek.api_key: the environment variable NOPE is not set",
        "upstreams.deepseek.via: must be one of chat, messages, responses, litellm, demo (did you mean litellm?)",
    ]


def test_a_server_that_is_open_to_all_is_said_beside_other_mistakes() -> None:
    said = mistakes('[server]\nhost = "::"\nport = "x"\ninsecure_no_auth = "off"').splitlines()
    assert said == ["server.host: " + OPEN, "server.port: must be a whole number"]
    assert mistakes('[server]\nhost = "env:NOPE"') == "server.host: the environment variable NOPE is not set"


@pytest.mark.parametrize("case", CASES)
def test_a_mistake_in_the_file_is_said_with_its_setting(case: str) -> None:
    lines = case.splitlines()
    said = [line.removeprefix("> ") for line in lines if line.startswith("> ")]
    assert mistakes("\n".join(lines[: -len(said)])).splitlines() == said


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (b"[server]\nhost = '\xff'", "is not TOML: 'utf-8' codec can't decode byte 0xff"),
        (b"a = " + b"[" * 5000 + b"]" * 5000, "is not TOML: "),
    ],
)
def test_a_file_that_is_no_text_or_no_configuration(file: bytes, said: str) -> None:
    assert mistakes(file).startswith(said)


@pytest.mark.parametrize(
    ("flags", "environ", "said"),
    [
        ({}, {"AM_CONFIG": "gone.toml"}, "gone.toml: cannot be read: No such file or directory"),
        ({"host": "::"}, {}, "--host: " + OPEN),
        ({"via": "chat"}, {}, "--via: means nothing without --upstream or --provider"),
        ({"upstream": "nowhere"}, {}, "--upstream: must be an address that starts with http:// or https://"),
        ({"provider": "groq"}, {}, "--provider: the environment variable GROQ_API_KEY is not set"),
        ({}, {"AM_PROVIDER": "deepsek"}, 'AM_PROVIDER: there is no provider "deepsek" (did you mean deepseek?)'),
        ({}, {"AM_KEY": "env:GONE"}, "AM_KEY: the environment variable GONE is not set"),
        ({}, {"AM_STRICT": "maybe"}, "AM_STRICT: must be true or false"),
        ({}, {"AM_UI": "0"}, "AM_UI: is gone; use watch = 0, with which no turns are kept and listed"),
    ],
)
def test_a_flag_or_a_variable_is_named_without_the_setting(
    flags: dict[str, object], environ: dict[str, str], said: str
) -> None:
    assert mistakes("", flags, environ) == said


def test_a_file_under_its_former_name_is_named() -> None:
    Path("config.toml").write_text('[upstreams.u]\nvia = "demo"')
    assert mistakes("") == "config.toml is not read any more: rename it to am-proxy.toml"


def test_a_variable_that_is_nearly_a_setting_is_no_mistake() -> None:
    """It may be another program's."""
    environ = {"AM_PROT": "1", "AM_SOMETHING_ELSE": "1", "AM_PORT": "2"}
    assert load(None, {}, environ).server.port == 2
    assert unknown_variables(environ) == ["AM_PROT is not a setting (did you mean AM_PORT?)"]


@pytest.mark.parametrize(
    "file",
    [
        '[upstreams.u]\napi_key = "{}" x',
        "[upstreams.u]\napi_key = {}",
        '[upstreams.u]\napi_key = "{}\n',
        '[upstreams.u]\nbase_url = "http://me:{}@x/v1"',
        '[upstreams.u]\nvia = "{}"',
        '[seal]\nkeys = ["{}"]',
        '[[keys]]\nname = "a"\nvalue = "{} x"',
        '[[keys]]\nname = "a"\nsha256 = "{}"',
        '[[keys]]\nname = "a"\nvalue = "{}"\n[[keys]]\nname = "a"\nvalue = "{}"',
    ],
)
def test_no_mistake_holds_a_secret(file: str) -> None:
    assert "nobody" not in mistakes(file.replace("{}", "sk-let-nobody-see"))


def test_gone_names_are_looked_up_by_what_was_written() -> None:
    assert instead_of("keys --name") == "use the name itself: am-proxy keys create NAME"
    assert instead_of("response.steer")
    assert instead_of("server.port") == ""


@pytest.mark.parametrize("kind", [*TABLES, "can"])
def test_every_value_is_taken_or_refused_in_plain_words(kind: str) -> None:
    table = Can if kind == "can" else TABLES[kind]
    titles = {"keys": "[[keys]]", "upstreams": "[upstreams.x]", "models": "[models.x]", "can": "[models.x.can]"}
    values = (
        '"yes"',
        '""',
        '"ä b"',
        "true",
        "-1",
        "1.5",
        "nan",
        "9" * 30,
        "[1]",
        "[[]]",
        "{ x = { y = 1 } }",
        "07:32:00",
    )
    said = ""
    for name in [*table.model_fields, "oops"]:
        for value in values:
            Path("am-proxy.toml").write_text(f"{titles.get(kind, f'[{kind}]')}\n{name} = {value}")
            try:
                load(None, {}, {})
            except SettingsError as error:
                said += f"{error}\n"
    assert said.count(": ") > len(table.model_fields)
    assert [line for line in said.splitlines() if "is not valid" in line] == []
    Path("am-proxy.toml").write_text(f"{kind} = 1")
    with pytest.raises(SettingsError, match=f"{kind}: "):
        load(None, {"upstream": "http://x"}, {"AM_KEY": "k", "AM_SEAL_KEY": "s" * 32, "AM_PORT": "1"})
