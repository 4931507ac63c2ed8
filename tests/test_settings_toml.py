"""Texts that are no TOML: what is said about the usual mistakes, and what of the line is marked."""

from pathlib import Path

import pytest

from app.settings import ConfigMistakesError, load
from app.settings.mistakes import Mistake

JSON = "is JSON, and the configuration is TOML: see config.example.toml"
YAML = "is YAML, and the configuration is TOML: see config.example.toml"
CURLY = 'needs straight quotation marks: "…"'
QUOTES = "a name with other characters than letters, digits, - and _ needs quotes: "
RETURN = "ends with a carriage return alone: save the file with line ends of Unix or Windows"
M = '[models.m]\nupstream = "u"\n'
DOT = "a name with a dot needs quotes: "
END = "a setting does not end with a comma or semicolon"


def mistake(folder: Path, text: str | bytes) -> Mistake:
    """The only mistake of this file."""
    (folder / "am-proxy.toml").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigMistakesError) as caught:
        load({}, {}, folder)
    assert len(caught.value.mistakes) == 1
    return caught.value.mistakes[0]


def shown(found: Mistake) -> tuple[str, str]:
    """The message, and the line with `>` and `<` around what is marked."""
    excerpt = found.excerpt
    assert excerpt is not None
    end = excerpt.start + excerpt.length
    return found.message, f"{excerpt.text[: excerpt.start]}>{excerpt.text[excerpt.start : end]}<{excerpt.text[end:]}"


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("host = 127.0.0.1", 'text needs quotes: host = "127.0.0.1"', "host = >127.0.0.1<"),
        ("host = localhost # here", 'text needs quotes: host = "localhost"', "host = >localhost< # here"),
        ("host = my host", "text needs quotes", "host = >my host<"),
        ("log_level = debug", 'text needs quotes: log_level = "debug"', "log_level = >debug<"),
        ("unknown = word", "text needs quotes", "unknown = >***<"),
        ("port =", "has no value", "port =><"),
        ("port = # none", "has no value", "port => <# none"),
        ("port == 1", "one = is enough", "port =>=< 1"),
        ("port := 1", "TOML has = here, not :", "port >:<= 1"),
        ("port: 1", "TOML has = here, not :", "port>:< 1"),
        ("port 1", "= is missing before the value", "port> <1"),
        ("port", "= and a value are missing", ">port<"),
        ("keep alive = 1", "a name with a space needs quotes", "keep> <***"),
        ("port = 080", "a number has no zero in front", "port = >080<"),
        ("port = 1,", END, "port = 1>,<"),
        ("port = 1;", END, "port = 1>;<"),
        ('host = "::1",', END, 'host = "::1">,<'),
        ("keep_alive = 30s", "a number has no unit, and text needs quotes", "keep_alive = >30s<"),
        ("keep_alive = 1.5 min", "a number has no unit, and text needs quotes", "keep_alive = >1.5 min<"),
        ("strict = True", "must be true or false, in small letters", "strict = >True<"),
        ("strict = yes", "TOML has true and false for this", "strict = >yes<"),
        ("traces = null", "TOML has no such value: leave the setting out", "traces = >null<"),
        ("traces = None", "TOML has no such value: leave the setting out", "traces = >None<"),
        ('host = "::1', "the closing quotation mark is missing", 'host = >"<::1'),
        ("host = '::1", "the closing quotation mark is missing", "host = >'<::1"),
        ('host = ::1"', "one = is enough", 'host = >:<:1"'),
        ('host = "a" b', "is not expected after the text", 'host = "a" >b<'),
        (r'host = "C:\path"', "a backslash must be doubled, or the text be in single quotes", r'host = "C:>\<path"'),
        ("host = “::1”", CURLY, "host = >“::1”<"),
        ("host = ‘::1’", CURLY, "host = >‘::1’<"),  # noqa: RUF001 — what editors write
        ("host = «::1»", CURLY, "host = >«::1»<"),
        ('host = “::1"', CURLY, 'host = >“::1"<'),
        ("host = `::1`", CURLY, "host = >`::1`<"),
        ("// a comment", "a comment starts with #", ">//< a comment"),
        ("; a comment", "a comment starts with #", ">;< a comment"),
        ("port = 1\nport = 2", "is set already, in line 2", ">port< = 2"),
        ("[server]", "there is [server] already, in line 1", ">[server]<"),
        ("[seal", "] is missing at the end", "[seal><"),
        ("[[keys]", "]] is missing at the end", "[[keys>]<"),
        ("[[keys", "]] is missing at the end", "[[keys><"),
        ("[keys]]", "must end with ]", "[keys>]]<"),
        ("[]", "the table has no name", ">[]<"),
        ("[seal] shared = true", "its settings start on the next line", "[seal] >***<"),
        ("[models.*]", f'{QUOTES}[models."*"]', "[models.>*<]"),
        ("[models.llama3.1:8b]", f'{QUOTES}[models."llama3.1:8b"]', "[models.>llama3.1:8b<]"),
        ("[models.qwen/qwen3] # it", f'{QUOTES}[models."qwen/qwen3"]', "[models.>qwen/qwen3<] # it"),
        ("[models.my model]", f'{QUOTES}[models."my model"]', "[models.>my model<]"),
        ("[[keys]]\nname = 'a'\n[keys]", "it is [[keys]] in line 2: use the same brackets", ">[keys]<"),
        ("allowed_hosts = [a, b]", "text needs quotes", "allowed_hosts = [>a<, b]"),
        ("allowed_hosts = ['a' 'b']", "a comma is missing before this", "allowed_hosts = ['a' >'<b']"),
        ("allowed_hosts = [\n  'a'\n  'b'\n]", "a comma is missing before this", "  >'<b'"),
        ("allowed_hosts = ['a'\nport = 1", "this list has no ] at its end", "allowed_hosts = >[<'a'"),
        ("allowed_hosts = ['a'", "this list has no ] at its end", "allowed_hosts = >[<'a'"),
        ("allowed_hosts = ['a'\n\n[seal]", "this list has no ] at its end", "allowed_hosts = >[<'a'"),
        ("allowed_hosts = ['a',, 'b']", "is not expected here", "allowed_hosts = ['a',>,< 'b']"),
        ("can = {\n vision = true }", "an inline table must be on one line, and end with }", "can = >{<"),
        ("can = { vision = true", "an inline table must be on one line, and end with }", "can = >{< vision = true"),
        ("can = { vision: true }", "TOML has = here, not :", "can = { vision>:< true }"),
        ("port = " + "1" * 5000, "holds a number that is too long", ">port = " + "1" * 5000 + "<"),
        ("port = 1\rui = true", RETURN, None),
    ],
)  # fmt: skip
def test_a_line_that_is_no_toml(text: str, message: str, marked: str | None, tmp_path: Path) -> None:
    said, line = shown(mistake(tmp_path, f"[server]\n{text}\n"))
    assert said == message
    assert marked in {None, line}
    with_marks_of_windows = f"\ufeff[server]\n{text}\n".replace("\n", "\r\n")
    assert "\r" in text or shown(mistake(tmp_path, with_marks_of_windows)) == (said, line)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"server": {"port": 1}}', JSON),
        ('\n  {\n  "server": {"port": 1}\n}', JSON),
        ("server:\n  port: 1\n", YAML),
        ("---\nserver:\n  port: 1\n", YAML),
        ("# ours\nkeys:\n  - name: a\n", YAML),
    ],
)
def test_another_format_is_recognized(text: str, message: str, tmp_path: Path) -> None:
    assert mistake(tmp_path, text).message == message


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_that_windows_saved_as_unicode(coding: str, tmp_path: Path) -> None:
    assert mistake(tmp_path, "[server]\nport = 1\n".encode(coding)).message == "is UTF-16 text: save it as UTF-8"


@pytest.mark.parametrize(
    ("tables", "message", "marked"),
    [
        ('[models.gpt-4.1]\nupstream = "u"', DOT + '[models."gpt-4.1"]', ">[models.gpt-4.1]<"),
        (M + '[models.m.1]\nupstream = "u"', DOT + '[models."m.1"]', ">[models.m.1]<"),
        ("[models.a.b.c.can]\nvision = true", DOT + '[models."a.b.c"]', ">[models.a.b.c.can]<"),
        ('[models.m.1]\nupstream = "u"\n[models.m.1.can]\nvision = true', DOT + '[models."m.1"]', ">[models.m.1]<"),
        ('[models]\ngpt-4.1 = { upstream = "u" }', DOT + '[models."gpt-4.1"]', 'gpt-4.1 = >{ upstream = "u" }<'),
        (M + '[upstreams.my.server]\nvia = "demo"', DOT + '[upstreams."my.server"]', ">[upstreams.my.server]<"),
        ('[keys]\nname = "a"\n[models.m]\nupstream = "u"', "must be a list of tables: [[keys]]", ">[keys]<"),
        ('[[server]]\nport = 1\n[models.m]\nupstream = "u"', "must be a table: [server]", ">[[server]]<"),
        (M + 'upstreams = ["u"]', "needs either upstream or upstreams, and not both", ">[models.m]<"),
        (M + '[models.n]\nname = "n"', "is missing", ">[models.n]<"),
        (M + "can = { vision = 3 }", "must be true or false", "can = { vision = >3< }"),
        (M + "can.vison = true", "is not a setting here (did you mean vision?)", "can.>vison< = true"),
        ('[models.m]\nupstreams = [\n  "u",\n  "v",\n]', 'there is no upstream "v" (there is u)', '  >"v"<,'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_marked(tables: str, message: str, marked: str, tmp_path: Path) -> None:
    text = f'[upstreams.u]\nvia = "demo"\n{tables}\n'
    for ends in ("\n", "\r\n"):
        assert shown(mistake(tmp_path, text.replace("\n", ends))) == (message, marked)


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
        assert found.excerpt is not None
        assert "nobody" not in found.excerpt.text
        assert 0 <= found.excerpt.start <= len(found.excerpt.text)
        assert found.excerpt.start + found.excerpt.length <= max(len(found.excerpt.text), found.excerpt.start + 1)


def test_references_and_plain_settings_are_shown(tmp_path: Path) -> None:
    text = '[server]\nhost = "::1"\n[upstreams.u]\napi_key = "env:GONE"\nbase_url = "x"\nvia = "chat"\n'
    (tmp_path / "am-proxy.toml").write_text(text)
    with pytest.raises(ConfigMistakesError) as caught:
        load({}, {}, tmp_path)
    lines = [found.excerpt.text for found in caught.value.mistakes if found.excerpt]
    assert lines == ["[upstreams.u]", 'api_key = "env:GONE"', 'base_url = "x"']


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
