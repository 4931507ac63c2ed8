"""Texts that are no TOML, or not what they look like."""

from pathlib import Path

import pytest

from app.settings import ConfigMistakesError, load
from app.settings.mistakes import Mistake

M = '[models.m]\nupstream = "u"\n'
DOT = "a name with a dot needs quotes: "


def mistake(folder: Path, text: str | bytes) -> Mistake:
    """The only mistake of this file."""
    (folder / "am-proxy.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigMistakesError) as caught:
        load({}, {}, folder)
    assert len(caught.value.mistakes) == 1
    return caught.value.mistakes[0]


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_that_windows_saved_as_unicode(coding: str, tmp_path: Path) -> None:
    assert mistake(tmp_path, "[server]\nport = 1\n".encode(coding)).message.startswith(
        ("is not UTF-8", "is not TOML: ")
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ('[models.gpt-4.1]\nupstream = "u"', DOT + '[models."gpt-4.1"]'),
        (M + '[models.m.1]\nupstream = "u"', DOT + '[models."m.1"]'),
        ("[models.a.b.c.can]\nvision = true", DOT + '[models."a.b.c"]'),
        ('[models.m.1]\nupstream = "u"\n[models.m.1.can]\nvision = true', DOT + '[models."m.1"]'),
        ('[models]\ngpt-4.1 = { upstream = "u" }', DOT + '[models."gpt-4.1"]'),
        (M + '[upstreams.my.server]\nvia = "demo"', DOT + '[upstreams."my.server"]'),
        ('[keys]\nname = "a"\n[models.m]\nupstream = "u"', "must be a list of tables: [[keys]]"),
        ('[[server]]\nport = 1\n[models.m]\nupstream = "u"', "must be a table: [server]"),
        (M + 'upstreams = ["u"]', "needs either upstream or upstreams, and not both"),
        (M + '[models.n]\nname = "n"', "is missing"),
        (M + "can = { vision = 3 }", "must be true or false"),
        (M + "can.vison = true", "is not a setting here (did you mean vision?)"),
        ('[models.m]\nupstreams = [\n  "u",\n  "v",\n]', 'there is no upstream "v" (there is u)'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tables: str, message: str, tmp_path: Path) -> None:
    text = f'[upstreams.u]\nvia = "demo"\n{tables}\n'
    for ends in ("\n", "\r\n"):
        assert mistake(tmp_path, text.replace("\n", ends)).message == message


SECRET = "sk-let-nobody-see-this-5"


@pytest.mark.parametrize(
    "text",
    [
        '[upstreams.u]\napi_key = "{}" x',
        "[upstreams.u]\napi_key = {}",
        "[upstreams.u]\napi_key {}",
        "[upstreams.u]\napi_key: {}",
        "[upstreams.u]\napi_key = “{}”",
        '[upstreams.u]\napi_key = "{}',
        '[upstreams.u]\napi_key = """\n{}',
        '[upstreams.u]\napi_kye = "{}"',
        '[upstreams.u]\n"api key" = "{}"',
        '[upstreams.u]\nbase_url = "http://me:{}@x/v1"',
        '[upstreams.u]\nbase_url = "http://x/v1?key={}"',
        "[upstreams.u]\nbase_url = http://me:{}@x/v1",
        '[upstreams.u] api_key = "{}"',
        '[upstreams.u]\nhost = 1 api_key = "{}"',
        'upstreams.u = {{ api_key = "{}", vai = "chat" }}',
        'upstreams.u = {{ api_key = "{}" vai = "chat" }}',
        '[upstreams]\nu = {{ via = chat, api_key = "{}" }}',
        '[seal]\nkeys = ["{}"]',
        '[seal]\nkeys = ["env:A" "{}"]',
        '[seal]\nkeys = [\n  "x",\n  "{}\n]',
        "[seal]\nkeys = [\n  x,\n  {}]",
        '[seal]\nkeys = [\n  "c2VjcmV0==" "{}"\n]',
        '[[keys]]\nname = "a"\nvalue = "{} x"',
        '[[keys]]\nname = "a"\nvalue = 5{}',
        '[[keys]]\nname = "a"\nsha256 = "{}"',
        "{}",
        "{}\n{}",
        '["{}", 1',
    ],
)
def test_no_secret_is_shown(text: str, tmp_path: Path) -> None:
    (tmp_path / "am-proxy.toml").write_text(text.replace("{}", SECRET).replace("{{", "{").replace("}}", "}"))
    with pytest.raises(ConfigMistakesError) as caught:
        load({}, {"A": "x" * 40}, tmp_path)
    for found in caught.value.mistakes:
        assert "nobody" not in str(found)


def test_a_file_with_many_mistakes_takes_little_time(tmp_path: Path) -> None:
    (tmp_path / "am-proxy.toml").write_text("[server]\n" + "".join(f"x{n} = 1\n" for n in range(5_000)))
    with pytest.raises(ConfigMistakesError) as caught:
        load({}, {}, tmp_path)
    assert len(caught.value.mistakes) == 5_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "a = " + '"' * 200_000,
        " " * 200_000 + "x",
        "a=[" + "'x' " * 100_000,
        "a" * 200_000 + " b",
        '"\\' * 100_000,
        "x = " + "a " * 100_000,
        "“" * 200_000,
        "[server]\n" + "x\n" * 200_000,
        "a = [\n" + '"\n' * 100_000,
        'a = 1\n"' + '""\\"' * 100_000,
        "a = '" + "''" * 100_000,
    ],
)
def test_a_broken_file_takes_little_time(text: str, tmp_path: Path) -> None:
    assert mistake(tmp_path, text).message
