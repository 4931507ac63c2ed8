"""A server whose Responses API knows function tools only, as it looks to a survey. It has no chat completions."""

from tests.support.surveyed_server import NO_SUCH_PATH, REFUSES_EMPTY, listing
from tests.wire.servers import Ask, Json, Script, Status
from tests.wire.servers.functions_only import VllmResponses

MODEL = "coder"


class SurveyedFunctions(VllmResponses):
    """Its list of models says who owns them: `vllm`, or a name that tells nothing."""

    takes_empty_bodies = True

    def __init__(self, *scripts: Script, owner: str) -> None:
        super().__init__(*scripts)
        self._owner = owner

    def beside(self, ask: Ask) -> Status | None:
        """The list of models, and refusals of empty bodies."""
        entry: Json = {"id": MODEL, "owned_by": self._owner, "max_model_len": 65_536}
        if ask.path == "/v1/models":
            return listing(entry)
        if not ask.raw:
            return REFUSES_EMPTY if ask.path == "/v1/responses" else NO_SUCH_PATH
        return super().beside(ask)
