"""What the demo answers to a question about the conversation, such as "What is my name?"."""

import re
from collections.abc import Iterator
from itertools import dropwhile, islice, pairwise
from typing import Final

from .demo_words import READ, word_set

SEARCHED: Final = 200_000
"""Characters of the user's messages that are searched, the newest first."""
QUOTED: Final = 300
"""Characters of one sentence in an answer."""
SENTENCES: Final = 20
"""Sentences in the answer to "What did I say?"."""
QUESTION: Final = word_set(
    "what whats who where when which whose how do did does is am are was can say tell remind remember repeat"
)
"""Words with which a question about the conversation begins."""
OPENING: Final = word_set("hi hello hey ok okay well so and but now then please")
ABOUT_THINGS: Final = word_set("what whats who where when which whose")
SELF: Final = word_set("i i'm my me mine myself")
COMMON: Final = (
    QUESTION
    | SELF
    | word_set(
        "a an and at be been by for from has have i've in it its just now of on or please so that the "
        "there this to us we with you your about again ago know say said told mention mentioned tell "
        "write wrote ask asked earlier before first last message messages you've i'd should could would "
        "will shall may might must help want need"
    )
)
"""Words that say nothing about the subject of a sentence."""
OF_A_SUMMARY: Final = "The user said: "
"""Precedes the user's earlier messages in the summaries that the demo writes."""
SAYING: Final = word_set("say said tell told mention mentioned write wrote ask asked")
_INTRODUCTION: Final = re.compile(r"\b(?:[Ii] am|[Ii]['\u2019]m|[Cc]all me) [A-ZÀ-ÖØ-Þ][^\W\d_]")
"""How people give their names without the word `name`."""

_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s|\n| / ")


def recalled(question: str, earlier: list[str]) -> str | None:
    """The answer from the user's `earlier` messages, if this is a question about them."""
    asked = list(dropwhile(OPENING.__contains__, _words(question[:READ])))
    own = bool(SELF & set(asked))
    if not (set(asked[:2]) & QUESTION or (asked[:1] == ["my"] and question.strip().endswith("?"))):
        return None
    subject = (
        {"name"} if asked[:3] == ["who", "am", "i"] or asked[1:4] == ["am", "i", "called"] else set(asked) - COMMON
    )
    if not subject:
        said = list(islice(dict.fromkeys(_sentences(earlier)), SENTENCES)) if own and SAYING & set(asked) else []
        return f"You told me: {' / '.join(reversed(said))}" if said else None
    if not own:
        if not set(asked[:2]) & ABOUT_THINGS or "your" in asked:
            return None
        return next((f"You told me: {each}" for each in _sentences(earlier) if _says_more(each, subject)), None)
    best = max(_sentences(earlier), key=lambda sentence: _closeness(sentence, subject), default="")
    if _closeness(best, subject) > 0:
        return f"You told me: {best}"
    return "You have not told me that in this conversation." if "my" in asked and asked[0] in ABOUT_THINGS else None


def _says_more(sentence: str, subject: set[str]) -> bool:
    """Whether a sentence has all words of a question, and others."""
    words = set(_words(sentence))
    return subject <= words and bool(words - subject - COMMON)


def _closeness(sentence: str, subject: set[str]) -> int:
    """How much a sentence has to do with the words of a question. "My name" is closer than "my dog's name"."""
    words = _words(sentence)
    shared = len(subject & set(words))
    if not shared:
        return int("name" in subject and bool(_INTRODUCTION.search(sentence)))
    return 2 * shared + any(first == "my" and second in subject for first, second in pairwise(words))


def _words(text: str) -> list[str]:
    """In small letters and one form: the user may ask for the color and have told the colour, or what a dog's is."""
    plain = text.lower().replace("\u2019", "'").replace("colour", "color").replace("favour", "favor")
    return [word.removesuffix("'s") for word in _WORD.findall(plain)]


def _sentences(texts: list[str]) -> Iterator[str]:
    """What was said, not asked, the newest sentence first."""
    left = SEARCHED
    for text in reversed(texts):
        own = text[-left:].rpartition(OF_A_SUMMARY)[2] if left else ""
        for sentence in reversed(_SENTENCE_END.split(own)):
            said = sentence.strip()
            if said and not said.endswith("?"):
                yield said[:QUOTED]
        left = max(left - len(text), 0)
