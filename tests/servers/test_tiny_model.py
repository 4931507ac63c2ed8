"""The tiny model says its answers: its arithmetic done by hand, without a server."""

import pytest

from .answers import ANSWERS, WITHOUT_END, control_token
from .tiny_model import END, HEAD, Vocabulary, Weights, byte_letters, vocabulary, weights

KNOWN = vocabulary()
WEIGHTS = weights(KNOWN, HEAD - 2)


def _ones(known: Weights, token: int) -> list[int]:
    """The dimensions that a token's embedding sets."""
    start = token * known.embedding.columns
    return [column for column in range(known.embedding.columns) if known.embedding.values[start + column]]


def _next(known: Vocabulary, made: Weights, current: int, chosen: int) -> int:
    """The token with the best score after `current`, `chosen` being the dimension of the answer."""
    head = made.head
    places = [*_ones(made, current), chosen]
    scores = [sum(head.values[row * head.columns + place] for place in places) for row in range(len(known.tokens))]
    return scores.index(max(scores))


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_best_token_after_each_token_is_the_next_one_of_the_answer(answer: str) -> None:
    letters = {letter: byte for byte, letter in enumerate(byte_letters())}
    chosen = next(
        row
        for row in range(WEIGHTS.output.rows)
        if WEIGHTS.output.values[row * WEIGHTS.output.columns + list(KNOWN.chains).index(answer)]
    )
    token = KNOWN.tokens.index(control_token(answer))
    said = b""
    for _ in range(60):
        token = _next(KNOWN, WEIGHTS, token, chosen)
        if KNOWN.tokens[token] == END:
            break
        text = KNOWN.tokens[token]
        said += text.encode() if text in KNOWN.special else bytes(letters[letter] for letter in text)
    expected = ANSWERS[answer] if ANSWERS[answer].startswith("<think>") else "<think></think>" + ANSWERS[answer]
    if answer in WITHOUT_END:
        assert said.decode().startswith(expected + ANSWERS[answer].removeprefix("<think>"))
    else:
        assert said.decode() == expected
