"""What is wrong with a text that is no TOML, in the words of someone who helps. The standard reader says little."""

import re
import tomllib
from typing import Final

from .excerpts import SHOWN, NumberedLines
from .toml_places import STRING, Span

_LONGEST: Final = 2000
"""Characters of a line that is explained."""
_OPEN_STRING: Final = (
    r'"{3}(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?'
    r"|'{3}(?:[^']|'(?!''))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
)
"""A text that may lack its end."""
_NAME: Final = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_PAIR: Final = re.compile(rf"[ \t]*(?P<name>{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*=[ \t]*(?P<value>.*)")
_HEADER: Final = re.compile(r"[ \t]*(?P<open>\[{1,2})[ \t]*(?P<name>[^\[\]\n]*[^\[\]\s])[ \t]*(?P<close>\]{1,2})[ \t]*")
_COLON: Final = re.compile(r"[ \t]*(?:-[ \t]+)?[A-Za-z0-9_\"'-]+[ \t]*(?P<mark>:)(?:[= \t].*)?")
_TEXTS: Final = re.compile(_OPEN_STRING, re.DOTALL)
_TOKENS: Final = re.compile(rf"#[^\n]*|{_OPEN_STRING}|[\[\]{{}}=\n]", re.DOTALL)
_CODE: Final = re.compile(rf"(?:{_OPEN_STRING}|[^#\n])*+", re.DOTALL)
_MARKS: Final = "\u201c\u201d\u201e\u201f\xab\xbb\u2018\u2019\u201a\u201b`\xb4"
"""Quotation marks that editors and languages use, and TOML does not."""
_CURLY: Final = re.compile(rf"[{_MARKS}][^{_MARKS}\"'\n]*[{_MARKS}]?")
_BARE: Final = re.compile(r"""[^\s,\]}#"']+""")
_COMMENT: Final = re.compile(r"[ \t]*(?P<mark>//|;|--|/\*)")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:*-]+")

_TEXT_AND_END: Final = re.compile(rf"(?:{STRING})[ \t]*(?P<mark>[,;])", re.DOTALL)
_TEXT_AND_MORE: Final = re.compile(rf"(?:{STRING})[ \t]*(?P<mark>\S.*)", re.DOTALL)
_END: Final = "a setting does not end with a comma or semicolon"
_VALUES: Final = (
    (re.compile(r"(?P<mark>)"), "has no value"),
    (re.compile(r"(?P<mark>[=:]).*"), "one = is enough"),
    (
        re.compile(r'"(?:[^"\\]|\\[btnfr"\\uU])*+(?P<mark>\\).*'),
        "a backslash must be doubled, or the text be in single quotes",
    ),
    (_TEXT_AND_END, _END),
    (_TEXT_AND_MORE, "is not expected after the text"),
    (re.compile(r"(?P<mark>[\"']).*"), "the closing quotation mark is missing"),
    (re.compile(r"(?P<mark>[\[{]).*"), "is not a valid list or table"),
    (re.compile(r"[^ ]*(?P<mark>[,;])"), _END),
    (re.compile(r"(?i:(?P<mark>true|false))"), "must be true or false, in small letters"),
    (re.compile(r"(?i:(?P<mark>yes|no|on|off))"), "TOML has true and false for this"),
    (re.compile(r"(?i:(?P<mark>null|none|nil|undefined))"), "TOML has no such value: leave the setting out"),
    (re.compile(r"(?P<mark>[+-]?0[0-9_]+)"), "a number has no zero in front"),
    (re.compile(r"(?P<mark>[+-]?[0-9][0-9_.]*[ \t]*[A-Za-z%]{1,12})"), "a number has no unit, and text needs quotes"),
)
"""What may be wrong with a value, the first match first."""
_LINES: Final = (
    (_COMMENT, "a comment starts with #"),
    (re.compile(r"[ \t]*\[\[[^\]]*+(?P<mark>\]?)[ \t]*"), "]] is missing at the end"),
    (re.compile(r"[ \t]*\[[^\]]*+(?P<mark>)"), "] is missing at the end"),
    (re.compile(r"[ \t]*(?P<mark>\[{1,2}[ \t]*\]{1,2})[ \t]*"), "the table has no name"),
    (re.compile(r"[ \t]*\[[^\[\]]*+(?P<mark>\]\]+)[ \t]*"), "must end with ]"),
    (re.compile(r"[ \t]*\[{1,2}[^\[\]]*+\]{1,2}[ \t]*(?P<mark>[^\s\]].*)"), "its settings start on the next line"),
    (_COLON, "TOML has = here, not :"),
    (re.compile(r"[ \t]*[A-Za-z0-9_-]+(?P<mark>[ \t]++)[^=]*=.*"), "a name with a space needs quotes"),
    (re.compile(r"[ \t]*[A-Za-z0-9_-]+(?P<mark>[ \t]++)[^=]+"), "= is missing before the value"),
    (re.compile(r"[ \t]*(?P<mark>[A-Za-z0-9_.\"'-]+)[ \t]*"), "= and a value are missing"),
)
"""What may be wrong with a line that is not `name = value`."""

Explained = tuple[Span, str]


def explained(lines: NumberedLines, position: int, reported: str) -> Explained:
    """What is wrong at this position, and the part of the text that is meant. `reported` is what the reader says."""
    number = lines.line(position)
    start, end = lines.span(number)
    line = lines.text[start:end]
    whole, message = (start, end), ""
    if end - start > _LONGEST and "digits" not in reported:
        return (position, position + 1), f"is not TOML: {reported}"
    if message := _another_format(lines.text):
        pass
    elif "digits" in reported:
        message = "holds a number that is too long"
    elif "\r" in line:
        message = "ends with a carriage return alone: save the file with line ends of Unix or Windows"
    elif curly := _CURLY.search(_without_strings(line)):
        whole, message = (start + curly.start(), start + curly.end()), 'needs straight quotation marks: "…"'
    elif (opened := _open_bracket(lines.text, position)) is not None:
        whole, message = _in_brackets(lines.text, opened, position, end)
    else:
        code = _CODE.match(line)
        line = code[0].rstrip() if code else ""
        found = _repeated(lines, number, line) or _header(line) or _pair(line) or _no_pair(line)
        whole, message = ((position, position), f"is not TOML: {reported}")
        if found:
            whole, message = (start + found[0][0], start + found[0][1]), found[1]
    return (whole[0], max(whole[1], whole[0] + 1)), message


def _another_format(text: str) -> str:
    """Whether the whole text is in another format."""
    settings = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    first = next(settings, "").strip()[:_LONGEST]
    if first.startswith("{"):
        return "is JSON, and the configuration is TOML: see config.example.toml"
    if first == "---" or (_COLON.fullmatch(first) and not any("=" in line for line in text.splitlines())):
        return "is YAML, and the configuration is TOML: see config.example.toml"
    return ""


def _without_strings(line: str) -> str:
    """The line with blanks in place of its texts and its comment."""
    return _TEXTS.sub(lambda found: " " * len(found[0]), line).partition("#")[0]


def _open_bracket(text: str, position: int) -> int | None:
    """Where the list or inline table starts that this position is in."""
    stack: list[int] = []
    after_equals = False
    for token in _TOKENS.finditer(text, 0, position):
        match token[0][0]:
            case "=":
                after_equals = True
            case "[" | "{" if after_equals or stack:
                stack.append(token.start())
            case "]" | "}" if stack:
                stack.pop()
            case "\n" if not stack:
                after_equals = False
    return stack[-1] if stack else None


def _in_brackets(text: str, opened: int, position: int, end: int) -> Explained:
    """What is wrong between the brackets of a list or an inline table."""
    found = text[position : position + 1]
    is_list = text[opened] == "["
    inside = text[opened:position]
    is_later = "\n" in inside
    line = text[text.rfind("\n", 0, position) + 1 : end]
    bare = _BARE.match(text, position)
    span = (position, bare.end() if bare else position + 1)
    if not is_list and (is_later or found == "\n"):
        span, message = (opened, opened + 1), "an inline table must be on one line, and end with }"
    elif not text[position:].strip() or (is_later and (_PAIR.match(line) or _HEADER.fullmatch(line))):
        span, message = (opened, opened + 1), "this list has no ] at its end"
    elif found == ":" and not is_list:
        span, message = (position, position + 1), "TOML has = here, not :"
    elif found in "\"'{" or (bare and is_list and not inside.rstrip().endswith(("[", ","))):
        message = "a comma is missing before this"
    else:
        message = "text needs quotes" if bare else "is not expected here"
    return span, message


def _repeated(lines: NumberedLines, number: int, line: str) -> Explained | None:
    """A table or a key that the file has already."""
    try:
        tomllib.loads(line)
    except ValueError:
        return None
    header, pair = _HEADER.match(line), _PAIR.match(line)
    for earlier in range(number - 1, 0, -1):
        start, end = lines.span(earlier)
        other = lines.text[start:end]
        if header and (found := _HEADER.match(other)) and found["name"] == header["name"]:
            title = f"{found['open']}{found['name']}{found['close']}"
            same = found["open"] == header["open"]
            message = f"there is {title} already, in line {earlier}"
            message = message if same else f"it is {title} in line {earlier}: use the same brackets"
            return (header.start("open"), header.end("close")), message
        if pair and _HEADER.match(other):
            break
        if pair and (found := _PAIR.match(other)) and found["name"] == pair["name"]:
            return pair.span("name"), f"is set already, in line {earlier}"
    return None


def _header(line: str) -> Explained | None:
    """A table whose name needs quotes."""
    header = _HEADER.fullmatch(line)
    if header is None or len(header["open"]) != len(header["close"]):
        return None
    first, dot, name = header["name"].partition(".")
    if not dot or re.fullmatch(r"[A-Za-z0-9_.-]*", name) or re.search("[\"']", name):
        return None
    right = f'{header["open"]}{first}."{name}"{header["close"]}'
    message = f"a name with other characters than letters, digits, - and _ needs quotes: {right}"
    return (header.start("name") + len(first) + 1, header.end("name")), message


def _pair(line: str) -> Explained | None:
    """What is wrong with the value of `name = value`."""
    pair = _PAIR.match(line)
    if pair is None:
        return None
    name, value, start = pair["name"], pair["value"].rstrip(), pair.start("value")
    for pattern, message in _VALUES:
        if found := pattern.fullmatch(value):
            return (start + found.start("mark"), start + found.end("mark")), message
    is_shown = name in SHOWN and _PLAIN.fullmatch(value)
    return (start, start + len(value)), f'text needs quotes: {name} = "{value}"' if is_shown else "text needs quotes"


def _no_pair(line: str) -> Explained | None:
    """What is wrong with a line that is neither a table nor `name = value`."""
    for pattern, message in _LINES:
        if found := pattern.match(line) if pattern is _COMMENT else pattern.fullmatch(line):
            return found.span("mark"), message
    return None
