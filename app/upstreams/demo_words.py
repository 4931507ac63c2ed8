"""The places, names, numbers and dates in a message, from which the demo fills the arguments of its calls."""

import re
from collections.abc import Callable, Iterable
from datetime import date, time
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

READ: Final = 10_000
"""Characters of a message that are read; a longer one is cut."""


def word_set(words: str) -> frozenset[str]:
    """Each of the words, which spaces separate."""
    return frozenset(words.split())


PLACES: Final = frozenset({"in", "at", "near", "from", "to"})
"""Words before the name of a place."""
AROUND: Final = "\"'`()[]{}<>*,.;:!?\u201c\u201d\u2018\u2019\u2026"
"""Signs around a word that do not belong to it."""
LISTS: Final = frozenset({"and", "or"})
NOT_NAMES: Final = word_set(
    "in at from to for of on with by near about i i'm i'd i'll i've a an the my your our it is are was "
    "do does did can could would will please hi hello hey thanks yes no ok "
    "what what's who where when which why how if and or but not so "
    "then now call use tell ask find show give send get see visit meet fly go come try make book buy "
    "order plan put write read run search look check list add set let think say describe translate "
    "calculate cancel close compare convert count create delete email explain fetch mail open play remind remove "
    "schedule sort start stop summarize update "
    "monday tuesday wednesday thursday friday saturday sunday"
)
"""Words that are no names although they may have a capital letter."""
AFTER_NAMES: Final = frozenset({"and", "is", "was", "has", "lives", "wants", "needs", "likes"})
DAYS: Final = word_set("today tomorrow yesterday tonight monday tuesday wednesday thursday friday saturday sunday")
NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve"

PLACE_NAMES: Final = word_set(
    "city town place location country region address where from to destination arrival origin departure"
)
DIRECTIONS: Final = {"to": {"destination", "arrival"}, "from": {"origin", "departure", "source"}}
WHOLE_NAMES: Final = word_set("query question message text prompt content body task topic q")
MAIL_NAMES: Final = word_set("to cc bcc email mail recipient recipients")
LINK_NAMES: Final = word_set("url uri link href")
FILE_NAMES: Final = word_set("file filename filepath path")
SUM_NAMES: Final = word_set("calculation equation expression formula")
DAY_NAMES: Final = frozenset({"date", "day", "when"})
COMMAND_NAMES: Final = word_set("command cmd code script patch sql shell args argv")
"""Arguments that a client might execute. They are never filled from the message."""

_SUM: Final = re.compile(r"[\d\s.+*/()^%-]+")
_FILE: Final = re.compile(r"[\w.~-]*/[\w./~-]*|[\w-]+\.[A-Za-z]\w{0,7}")
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class Word(NamedTuple):
    """A word without the signs around it, and where it stands."""

    text: str
    starts: bool
    """Whether it is the first of a sentence."""
    ends: bool
    """Whether a comma or the end of a sentence follows."""


class Name(NamedTuple):
    """Words with capital letters that follow each other, and the word that leads to them."""

    text: str
    before: str
    certain: bool
    """Whether the capital letters are not only those of the beginning of a sentence."""


class MessageWords:
    """What is left to take from one message: each name and number is given once."""

    def __init__(self, message: str) -> None:
        self.message = message[:READ].strip()
        self._words = _words(self.message)
        self._spaced = _spaced(word.text for word in self._words)
        self._names = _names(self._words)
        self._formatted: dict[str, str | None] = {}
        self._numbers = [(_number(word.text), index) for index, word in enumerate(self._words)]

    def mentions(self, value: object) -> bool:
        """Whether these words are in the message, in this order."""
        return _spaced([str(value)]) in self._spaced

    def number(self, name: str, fits: Callable[[float], bool]) -> float | None:
        """A number that belongs to an argument of this name, or else the first one."""
        found = [(value, index) for value, index in self._numbers if value is not None and fits(value)]
        if not found:
            return None
        wanted = {part.rstrip("s") for part in name_parts(name)}
        chosen = next((each for each in found if wanted & self._beside(each[1])), found[0])
        self._numbers.remove(chosen)
        return chosen[0]

    def string(self, name: str, fits: Callable[[str], bool], *, in_order: bool = False) -> str | None:
        """A text that belongs to an argument of this name: the last name, or the first one if `in_order`."""
        parts = name_parts(name)
        if parts & COMMAND_NAMES:
            return None
        if parts & WHOLE_NAMES and self.message and fits(self.message):
            return self.message
        if parts & DAY_NAMES:
            days = (word.text for word in self._words if _is_date(word.text) or word.text.lower() in DAYS)
            return next(filter(fits, days), None)
        plain = self._plain(parts)
        if plain is not None:
            return plain if fits(plain) else None
        names = [each for each in self._names if fits(each.text)]
        if not in_order:
            names.reverse()
        if not names:
            return next(filter(fits, self._small_places), None) if parts & PLACE_NAMES else None
        chosen = min(names, key=lambda each: _rank(each, parts))  # the first of equal rank
        self._names.remove(chosen)
        return chosen.text

    def of_format(self, form: str) -> str | None:
        """A word of the message that has a format of JSON schema."""
        test = FORMATS.get(form)
        if form not in self._formatted and test is not None:
            self._formatted[form] = next((word.text for word in self._words if test(word.text)), None)
        return self._formatted.get(form)

    def _plain(self, parts: set[str]) -> str | None:
        """What can be known by its form alone: an address, a file or a calculation."""
        if parts & MAIL_NAMES and (address := self.of_format("email")):
            return address
        if parts & LINK_NAMES and (link := self.of_format("uri")):
            return link
        return self._file if parts & FILE_NAMES else self._sum if parts & SUM_NAMES else None

    @cached_property
    def _file(self) -> str | None:
        return next((word.text for word in self._words if _FILE.fullmatch(word.text)), None)

    @cached_property
    def _sum(self) -> str | None:
        sums = [found.strip(" \t\n.") for found in _SUM.findall(self.message)]
        return max((each for each in sums if each.strip("+*/()^%-")), key=len, default=None)

    @cached_property
    def _small_places(self) -> list[str]:
        """Words after `in`, `from` and the like, for those who write no capital letters."""
        return [
            word.text
            for before, word in pairwise(self._words)
            if before.text.lower() in PLACES and not before.ends and word.text.isalpha()
            if word.text.lower() not in NOT_NAMES | DAYS
        ]

    def _beside(self, index: int) -> set[str]:
        around = self._words[max(index - 1, 0) : index + 2]
        return {word.text.lower().rstrip("s") for word in around}


def name_parts(name: str) -> set[str]:
    """The words of an argument's name: `departureCity` and `departure_city` are both {departure, city}."""
    return {part.lower() for part in _PART.findall(name[:100])}


def _spaced(words: Iterable[str]) -> str:
    """In small letters, with one space around each word."""
    return f" {' '.join(' '.join(words).lower().replace('_', ' ').replace('-', ' ').split())} "


def _words(text: str) -> list[Word]:
    words: list[Word] = []
    starts = True
    for token in text.split():
        bare = token.strip(AROUND)
        if bare:
            words.append(Word(bare, starts, token[-1] in ",.;:!?"))
        starts = token[-1] in ".!?:" or (starts and not bare)
    return words


def _names(words: list[Word]) -> list[Name]:
    names: list[Name] = []
    before, run = "", list[Word]()
    for word in [*words, Word("", starts=True, ends=True)]:
        is_name = word.text[:1].isupper() and word.text.lower() not in NOT_NAMES
        if run and (not is_name or run[-1].ends):
            sure = len(run) > 1 or not run[0].starts
            if sure or run[0].ends or word.text.lower() in AFTER_NAMES | {""}:
                names.append(Name(" ".join(each.text for each in run), before, sure))
            listed = run[-1].ends or word.text.lower() in LISTS
            run = []
            if not listed:
                before = ""
        if is_name:
            run.append(word)
        elif word.text.lower() not in LISTS:
            before = word.text.lower()
    return names


def _rank(name: Name, parts: set[str]) -> tuple[bool, bool, bool]:
    """How badly a name fits an argument: names of places go to places, and others to the rest."""
    direct = name.before in parts or bool(parts & DIRECTIONS.get(name.before, set()))
    return not direct, (name.before in PLACES) != bool(parts & PLACE_NAMES), not name.certain


def _number(text: str) -> float | None:
    bare = text.lower().strip("$€£%°#")
    if bare.isalpha() and f" {bare} " in f" {NUMBERS} ":
        return NUMBERS.split().index(bare)
    if len(bare) > len("-1000000000.00") or not bare.removeprefix("-").replace(".", "", 1).isdecimal():
        return None
    return float(bare) if "." in bare else int(bare)


def _is_date(text: str) -> bool:
    return _is(date.fromisoformat, text) and len(text) == len("2026-01-31")


def _is(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "date": _is_date,
    "time": lambda text: text.count(":") == len("::") and _is(time.fromisoformat, text),
    "email": lambda text: "." in text.partition("@")[2] and text.isascii() and text.count("@") == 1 and text[0] != "@",
    "uri": lambda text: text.startswith(("https://", "http://")),
}
