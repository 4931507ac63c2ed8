"""Ollama's own imitation of chat completions."""

from tests.wire.servers.chat_family import ChatModelUpstream
from tests.wire.servers.model import Answer, Hides, Thinks, pieces
from tests.wire.servers.steps import Ask, Json


class OllamaCompatibleUpstream(ChatModelUpstream):
    """`POST /v1/chat/completions` of an Ollama. A key it does not know in a message is lost without a word.

    Therefore thoughts must come back under the name it reads. This server is stricter than the real one: it says so.
    """

    model = "gpt-oss:20b"
    id_pattern = "call_{:.8}"
    arguments_at_once = True
    own_message_keys = frozenset({"reasoning"})

    def thought_delta(self, word: Thinks | Hides) -> list[Json]:
        """Say it as `reasoning`."""
        if isinstance(word, Hides):
            return []
        return [{"role": "assistant", "content": "", "reasoning": piece} for piece in pieces(word.text)]

    def must_come_back(self, answer: Answer) -> Json:
        """All that was thought."""
        return {"reasoning": "".join(word.text for word in answer if isinstance(word, Thinks))}

    def faults(self, ask: Ask) -> list[str]:
        """Refuse no settings: those it does not know are overlooked."""
        return [fault for fault in super().faults(ask) if not fault.startswith("unknown parameter")]

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Ollama does here."""
        kind = "invalid_request_error" if status < 500 else "api_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}
