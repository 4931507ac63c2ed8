"""A model with a small context: whatever is asked of it, it refuses what is longer."""

from collections.abc import Callable
from typing import Final

from tests.wire.servers.steps import Ask, Status, Step

BYTES_PER_TOKEN: Final = 3
"""Fewer than this server estimates, as with code."""


class SmallWindow:
    """Call it as the script of an upstream. It takes asks of `tokens` tokens, and answers them with `answer`."""

    def __init__(
        self,
        tokens: int,
        answer: Callable[[int, Ask], list[Step]],
        *,
        refusal: Callable[[dict[str, str]], list[Step]] = lambda error: [Status(400, {"error": error})],
    ) -> None:
        """`refusal` words the error of an ask that is too long."""
        self._refusal = refusal
        self.tokens = tokens
        """Of a model that is replaced, this changes."""
        self._answer = answer
        self.taken: list[Ask] = []
        self.refused: list[Ask] = []

    def __call__(self, ask: Ask) -> list[Step]:
        """The answer to this ask; `answer` gets the number of those before it."""
        tokens = len(ask.raw) // BYTES_PER_TOKEN
        if tokens > self.tokens:
            self.refused.append(ask)
            words = f"This model's maximum context length is {self.tokens} tokens. Your messages have {tokens} tokens."
            error = {"message": words, "type": "invalid_request_error", "code": "context_length_exceeded"}
            return self._refusal(error)
        self.taken.append(ask)
        return self._answer(len(self.taken) - 1, ask)
