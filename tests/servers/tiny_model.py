"""A transformer of one layer whose weights are written by hand, so that it says exactly the answers it is given.

How it works. The vocabulary has the 256 bytes, some special tokens, and one token for each chunk of an answer. Each
answer is a chain of chunks. A token's embedding has a 1 in its own dimension (if an answer has it) and a 1
in dimension 0. The attention looks only at tokens that choose an answer, and adds the dimension of that answer. The
last matrix reads the residual: the current token proposes its successors in every answer, and the answer chooses among
them. Dimension 0 gives every token a smaller score of its own, by which a grammar that forbids the chain (a forced
call) is filled in as shortly as it allows.
"""

import re
from array import array
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Final

from .answers import ANSWERS, WITHOUT_END, control_token

HEAD: Final = 64
HEADS: Final = 12
WIDTH: Final = HEAD * HEADS
"""Of the residual."""

MIDDLE: Final = 64
"""Of the MLP, which adds nothing."""

END: Final = "<|im_end|>"
SPECIAL: Final = ("<|endoftext|>", "<|im_start|>", END, "<think>", "</think>", "<tool_call>")
SHOWN: Final = {"<think>", "</think>", "<tool_call>"}
"""Special tokens that are text in an answer. Parsers look for them in the vocabulary."""

_SHORT: Final = {END: 26, "<tool_call>": 25, '"': 24, "}": 23, "]": 22, "{": 21, "[": 20, ",": 19, ":": 18, "0": 17}
"""The scores of tokens where a grammar forbids the chain: what closes comes first."""

_SUCCESSOR: Final = 64
_EMPTY_THOUGHT: Final = 56
"""The end of a thought, right after its beginning: less than the first chunk of a thought."""

_OF_THE_ANSWER: Final = 16
_NORMED: Final = sqrt(WIDTH / 3)
"""A 1 in the residual of a chunk after the last norm, for there it holds three of them."""

_CHUNK: Final = 3
"""Characters in the shortest chunk of an answer."""


def byte_letters() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary, as GPT-2 defined it."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (byte for byte in range(256) if byte not in plain)
    letters = {byte: chr(byte) for byte in plain} | {byte: chr(256 + index) for index, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


@dataclass(frozen=True)
class Vocabulary:
    """All tokens, and the chain of token numbers that is each answer."""

    tokens: tuple[str, ...]
    """As letters: a byte-level vocabulary writes each byte as one letter."""

    special: tuple[str, ...]
    chains: dict[str, tuple[int, ...]]
    """An answer's tokens from the one that chooses it to its last; one that repeats itself ends in an earlier one."""


def vocabulary() -> Vocabulary:
    """Cut the answers into chunks. Only special tokens come twice, for a chunk says what follows it."""
    letters = byte_letters()
    special = (*SPECIAL, *(control_token(answer) for answer in ANSWERS))
    numbers = {token: number for number, token in enumerate((*letters, *special))}
    chains = {}
    used: set[str] = set()
    for answer, text in ANSWERS.items():
        chain = [numbers[control_token(answer)]]
        for chunk in _chunks(text if text.startswith("<think>") else "<think></think>" + text, used):
            token = chunk if chunk in SPECIAL else "".join(letters[byte] for byte in chunk.encode())
            chain.append(numbers.setdefault(token, len(numbers)))
        again = chain[(text.startswith("<think>") and 2) or 3]
        chains[answer] = (*chain, again if answer in WITHOUT_END else numbers[END])
    return Vocabulary(tuple(numbers), special, chains)


def _chunks(text: str, used: set[str]) -> list[str]:
    """Cut a text at its special tokens, and what is between them into new chunks."""
    result: list[str] = []
    for part in re.split("(</?think>)", text):
        chunks = [part] if part in SHOWN else _cut(part, used)
        assert chunks is not None, f"no new chunks for {part}"
        result += chunks
        used.update(chunks)
    return result


def _cut(text: str, used: set[str]) -> list[str] | None:
    if not text:
        return []
    for size in range(_CHUNK, len(text) + 1):
        chunk = text[:size]
        if chunk not in used and (others := _cut(text[size:], used | {chunk})) is not None:
            return [chunk, *others]
    return [text] if len(text) < _CHUNK and text not in used else None


@dataclass
class Matrix:
    """Rows of floats; a row stands for an output."""

    rows: int
    columns: int

    def __post_init__(self) -> None:
        self.values = array("f", bytes(4 * self.rows * self.columns))

    def set(self, row: int, column: int, value: float) -> None:
        self.values[row * self.columns + column] = value


def ones(size: int) -> Matrix:
    """The scale of a norm."""
    result = Matrix(1, size)
    for column in range(size):
        result.set(0, column, 1.0)
    return result


@dataclass(frozen=True)
class Weights:
    """By what they do. The keys and queries use a single dimension of a head, given by `turning_least`."""

    embedding: Matrix
    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix
    head: Matrix


def weights(of: Vocabulary, turning_least: int) -> Weights:
    """Write the weights. `turning_least` is the dimension of a head that the position turns least."""
    numbers = {token: number for number, token in enumerate(of.tokens)}
    spoken = {number for chain in of.chains.values() for number in chain}
    places = {number: 1 + place for place, number in enumerate(sorted({*spoken, numbers["<tool_call>"]}))}
    answers = {answer: 1 + len(places) + index for index, answer in enumerate(of.chains)}
    assert 1 + len(places) + len(answers) <= WIDTH, "too many chunks for this width"
    tokens = len(of.tokens)
    query, key, value, output = (Matrix(WIDTH, WIDTH) for _ in range(4))
    result = Weights(Matrix(tokens, WIDTH), query, key, value, output, Matrix(tokens, WIDTH))
    for number in range(tokens):
        result.embedding.set(number, 0, 1.0)
        if number in places:
            result.embedding.set(number, places[number], 1.0)
    result.query.set(turning_least, 0, 1.0)
    for index, answer in enumerate(of.chains):
        place = places[numbers[control_token(answer)]]
        result.key.set(turning_least, place, 4.0)
        result.value.set(index, place, 1.0)
        result.output.set(answers[answer], index, sqrt(2 / WIDTH))
    for token, score in (("Ċ", _SUCCESSOR), ('"', _SUCCESSOR / 2)):
        result.head.set(numbers[token], places[numbers["<tool_call>"]], score / _NORMED)
    for token, score in _SHORT.items():
        result.head.set(numbers[token], 0, score / _NORMED)
    for answer, chain in of.chains.items():
        for current, following in pairwise(chain):
            empty_thought = (of.tokens[current], of.tokens[following]) == ("<think>", "</think>")
            result.head.set(following, places[current], (_EMPTY_THOUGHT if empty_thought else _SUCCESSOR) / _NORMED)
        for number in set(chain[1:]):
            result.head.set(number, answers[answer], _OF_THE_ANSWER / _NORMED)
    return result
