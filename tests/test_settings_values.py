"""Values of the wrong type or size: what is said about them, whatever the setting."""

import re
from pathlib import Path

import pytest

from app.options import Can, Table
from app.settings import ConfigMistakesError, load
from app.settings.configuration import ROWS

REST = '[upstreams.u]\nvia = "demo"\n[models.m]\nupstream = "u"\n'
VALUES = (
    *('"yes"', '"true"', '"80"', '""', '"ä"', f'"{"n" * 300}"', "true", "0", "1", "-1", "1.0", "1.5", "1e300"),
    *("nan", "inf", "9" * 30, "[]", "[1]", "[[]]", "{}", "{ x = 1 }", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z"),
)
NUMBER = r"-?[0-9]+"
SAID = re.compile(
    "|".join(
        (
            r"must be (?:true or false|a whole number|a number)(?:, without quotes)?",
            rf"must be (?:more than|at least|at most) {NUMBER}",
            rf"must have at most {NUMBER} characters",
            r"must be a smaller number",
            r"must be 1 to 64 small letters, digits, _ and -",
            r"must be a text in quotes",
            r"must be the name of a header: letters, digits and -",
            r"must be a list",
            r'must be a number from 1 to 64, or "auto"',
            r"must be a table: \[.*\]",
            r"must be one of [a-z0-9_-]+(?:, [a-z0-9_-]+)*(?: \(did you mean [a-z0-9_-]+\?\))?",
            r"is missing",
            r"must be a name without spaces around it and without control characters",
            r"must be an address that starts with http:// or https://(?: \(did you mean .*\?\))?",
            r'must be an origin such as "https://example.com", without a path, or "\*"',
            r'must be a host name or address without a port, or "\*"',
            r"must be an address or a network, such as 10\.0\.0\.0/8",
            r"must be the SHA-256 of the key: 64 hexadecimal digits",
            r"must not be empty",
            r"must not hold spaces, line breaks or anything but printable ASCII",
            r"must be at least 32 random characters: `openssl rand -hex 32`",
            r"is not a setting here",
            # of a whole table
            r"needs .*",
            r".* means nothing here: .*",
            r"takes either api_key or auth = .*",
            r'via = "[a-z]+" (?:needs a base_url|takes no provider, api_key or base_url: it runs inside this server)',
            r".* is not known to speak chat completions.*",
            r'there is no upstream ".*" \(.*\)',
            r'no model leads here: add \[models."\*"\] or \[models.<name>\] with upstream = …',
            r"others can reach this address, and there is no key: .*",
        )
    )
)
FIELDS = [
    (title, name)
    for kind, table in ROWS.items()
    for title in (
        [f"[{kind}]"] if kind in {"server", "seal", "search"} else ["[[keys]]"] if kind == "keys" else [f"[{kind}.x]"]
    )
    for name in table.model_fields
] + [("[models.x.can]", name) for name in Can.model_fields]


def mistakes(folder: Path, text: str, environ: dict[str, str] | None = None, **flags: object) -> list[str]:
    """The messages alone."""
    file = folder / "am-proxy.toml"
    file.unlink(missing_ok=True)  # common file systems wait for the disk when a file gets other contents
    file.write_text(text)
    try:
        load(flags, environ or {}, folder)
    except ConfigMistakesError as error:
        return [mistake.message for mistake in error.mistakes]
    return []


@pytest.mark.parametrize(("title", "name"), FIELDS)
def test_every_value_is_accepted_or_refused_in_plain_words(title: str, name: str, tmp_path: Path) -> None:
    for value in VALUES:
        found = mistakes(tmp_path, f"{title}\n{name} = {value}\n{REST}")
        assert [message for message in found if not SAID.fullmatch(message)] == [], value


@pytest.mark.parametrize("table", [*ROWS.values(), Can])
def test_booleans_and_numbers_of_the_file_have_no_quotes(table: type[Table], tmp_path: Path) -> None:
    title = next(
        (title for title, name in FIELDS if set(table.model_fields) == {each for of, each in FIELDS if of == title}), ""
    )
    looked = 0
    for name, field in table.model_fields.items():
        wanted = {"bool": '"true"', "int": '"2000"', "float": '"5"'}
        for kind, value in wanted.items():
            if re.search(rf"\b{kind}\b", repr(field.annotation)) and "Literal" not in repr(field.annotation):
                looked += 1
                found = mistakes(tmp_path, f"{title}\n{name} = {value}\n{REST}")
                assert [message for message in found if message.endswith(", without quotes")], (name, value, found)
    assert looked or not any(word in repr(table.model_fields) for word in ("bool", "int", "float"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("strict = true", None),
        ('strict = "yes"', "must be true or false"),
        ('strict = "true"', "must be true or false, without quotes"),
        ("strict = 1", "must be true or false"),
        ("strict = 1.0", "must be true or false"),
        ('strict = "${YES}"', None),
        ('strict = "env:YES"', None),
        ("port = 80", None),
        ("port = 80.0", "must be a whole number"),
        ("port = true", "must be a whole number"),
        ('port = "80"', "must be a whole number, without quotes"),
        ('port = "http"', "must be a whole number"),
        ('port = "${PORT}"', None),
        ('port = "${GONE:-81}"', None),
        ('port = "env:PORT"', None),
        ('port = "env:YES"', "must be a whole number"),
        ("port = 65536", "must be at most 65535"),
        ("keep_alive = 5", None),
        ("keep_alive = 5.5", None),
        ('keep_alive = "5.5"', "must be a number, without quotes"),
        ("keep_alive = false", "must be a number"),
        ("keep_alive = 0", "must be more than 0"),
        ("keep_alive = 1e9", "must be at most 86400"),
    ],
)
def test_the_type_of_a_value_in_the_file(value: str, message: str | None, tmp_path: Path) -> None:
    environ = {"YES": "yes", "PORT": "8000"}
    assert mistakes(tmp_path, f"[server]\n{value}\n{REST}", environ) == [message] * (message is not None)


@pytest.mark.parametrize(
    ("environ", "flags", "found"),
    [
        ({}, {"port": "99999"}, ["--port: must be at most 65535"]),
        ({}, {"port": "-1"}, ["--port: must be at least 0"]),
        ({}, {"port": "80.5"}, ["--port: must be a whole number"]),
        ({}, {"port": "9" * 5000}, ["--port: must be a smaller number"]),
        ({}, {"port": ""}, ["--port: must be a whole number"]),
        ({}, {"watch": "many"}, ["--watch: must be a whole number"]),
        ({}, {"watch": "99999"}, ["--watch: must be at most 10000"]),
        ({}, {"log_format": "yaml"}, ["--log-format: must be one of auto, text, json"]),
        ({}, {"host": " "}, ["--host: must be a name without spaces around it and without control characters"]),
        ({"AM_STRICT": "maybe"}, {}, ["AM_STRICT: must be true or false"]),
        ({"AM_STRICT": "yes", "AM_PORT": "80", "AM_KEEP_ALIVE": "1.5"}, {}, []),
        ({"AM_METRICS": "no"}, {}, ["AM_METRICS: must be one of key, open, off"]),
    ],
)
def test_flags_and_variables_are_named_without_the_setting(
    environ: dict[str, str], flags: dict[str, str], found: list[str], tmp_path: Path
) -> None:
    if not found:
        assert load(flags, environ, tmp_path).server.port == int(environ["AM_PORT"])
        return
    with pytest.raises(ConfigMistakesError) as caught:
        load(flags, environ, tmp_path)
    assert [str(mistake) for mistake in caught.value.mistakes] == found


def test_a_flag_takes_the_place_of_a_wrong_value(tmp_path: Path) -> None:
    assert mistakes(tmp_path, f'[server]\nport = "80"\n{REST}', port="81") == []
