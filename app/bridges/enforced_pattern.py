r"""Regular expressions of custom tools as model servers enforce them: the `pattern` of a string in a JSON schema.

llama.cpp and xgrammar (vLLM) take a pattern as the text between the quotes of the string, and read only a part of the
syntax: what they do not know is ignored, makes broken JSON, or is refused with the whole request. So a pattern is only
sent if it consists of what both were seen to enforce: plain ASCII characters that JSON does not escape, lists of them,
groups, alternatives, and repetitions up to 100. Digits (`\d`) are those of ASCII.
"""

from typing import Final

LONGEST_PATTERN: Final = 300
MOST_REPETITIONS: Final = 100
"""Of one repetition, and of those inside of each other multiplied."""
DEEPEST: Final = 10
"""Groups inside of each other."""
_LETTERS: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_IN_LISTS: Final = _LETTERS | frozenset(" _.,:;/@#%=!'+")
_LITERAL: Final = _LETTERS | frozenset(" _-,:;/@#%=!'&~<>")
_ESCAPED: Final = frozenset(".+*?()|$")
"""Characters that stand for themselves behind a backslash, and are sent with it."""
_DIGITS: Final = "0-9"


class _NotEnforcedError(Exception):
    """It holds something that is not known to be enforced."""


def enforced_pattern(pattern: str) -> str | None:
    """The pattern for a JSON schema that allows no more than this regular expression; None if there is none."""
    if len(pattern) > LONGEST_PATTERN:
        return None
    reader = _Reader(pattern.removeprefix("^"))
    try:
        body, _ = reader.alternatives(DEEPEST)
        if reader.rest not in {"", "$"}:
            return None
    except _NotEnforcedError:
        return None
    return f"^({body})$"


class _Reader:
    """Reads one expression from its beginning to its end."""

    def __init__(self, rest: str) -> None:
        self.rest = rest

    def alternatives(self, deepest: int) -> tuple[str, int]:
        """Alternatives up to the end of their group, and their repetitions multiplied."""
        sequences = [self._sequence(deepest)]
        while self._takes("|"):
            sequences.append(self._sequence(deepest))
        return "|".join(text for text, _ in sequences), max(count for _, count in sequences)

    def _sequence(self, deepest: int) -> tuple[str, int]:
        written, most = "", 1
        while self.rest and self.rest[0] not in "|)" and self.rest != "$":
            atom, count = self._atom(deepest)
            repeated, times = self._repetition()
            if count * times > MOST_REPETITIONS:
                raise _NotEnforcedError
            written, most = written + atom + repeated, max(most, count * times)
        if not written:
            raise _NotEnforcedError
        return written, most

    def _atom(self, deepest: int) -> tuple[str, int]:
        first = self._next()
        if first == "(" and deepest:
            if self._takes("?") and not self._takes(":"):
                raise _NotEnforcedError
            body, most = self.alternatives(deepest - 1)
            if not self._takes(")"):
                raise _NotEnforcedError
            return f"({body})", most
        if first == "[":
            return f"[{self._list()}]", 1
        if first == "\\":
            return self._escape(), 1
        if first not in _LITERAL:
            raise _NotEnforcedError
        return first, 1

    def _escape(self) -> str:
        escaped = self._next()
        if escaped == "d":
            return f"[{_DIGITS}]"
        if escaped in _ESCAPED:
            return "\\" + escaped
        if escaped in _LETTERS or escaped not in _LITERAL:
            raise _NotEnforcedError
        return escaped

    def _list(self) -> str:
        """The characters of a list, and the end of it. A hyphen is written last."""
        written, hyphen = "", ""
        while not self._takes("]"):
            low = self._next()
            if low == "-" and (not written or self.rest.startswith("]")):
                hyphen = "\\-"
            elif low == "\\":
                escaped = self._next()
                if escaped == "-":
                    hyphen = "\\-"
                else:
                    written += _DIGITS if escaped == "d" else self._listed_escape(escaped)
            elif self.rest.startswith("-") and not self.rest.startswith("-]"):
                self._next()
                written += self._range(low, self._next())
            else:
                written += self._listed(low)
        if not written + hyphen:
            raise _NotEnforcedError
        return written + hyphen

    @staticmethod
    def _listed(character: str) -> str:
        if character not in _IN_LISTS:
            raise _NotEnforcedError
        return character

    def _listed_escape(self, escaped: str) -> str:
        if escaped in _LETTERS:
            raise _NotEnforcedError
        return self._listed(escaped)

    @staticmethod
    def _range(low: str, high: str) -> str:
        """A range of digits or letters of one case: others hold characters that JSON escapes."""
        if not ((low.isdigit() and high.isdigit()) or (low.islower() and high.islower()) or (low + high).isupper()):
            raise _NotEnforcedError
        if not {low, high} <= _LETTERS or low > high:
            raise _NotEnforcedError
        return f"{low}-{high}"

    def _repetition(self) -> tuple[str, int]:
        """The repetition behind an atom, and how often it repeats it at most; without an end it counts as once."""
        sign = self.rest[:1]
        if sign not in {"*", "+", "?", "{"}:
            return "", 1
        self._next()
        written, times = sign, 1
        if sign == "{":
            numbers, end, self.rest = self.rest.partition("}")
            low, comma, high = numbers.partition(",")
            if not end or not low.isascii() or not low.isdigit() or (high and not (high.isascii() and high.isdigit())):
                raise _NotEnforcedError
            least, times = int(low[:4]), int(high[:4] or low[:4])
            if not 0 <= least <= times or not times:
                raise _NotEnforcedError
            written = f"{{{low}{comma}{high}}}"
        if self.rest[:1] in {"*", "+", "?", "{"}:  # lazy, or repeated once more
            raise _NotEnforcedError
        return written, times

    def _takes(self, character: str) -> bool:
        taken = self.rest.startswith(character)
        self.rest = self.rest[1:] if taken else self.rest
        return taken

    def _next(self) -> str:
        if not self.rest:
            raise _NotEnforcedError
        first, self.rest = self.rest[0], self.rest[1:]
        return first
