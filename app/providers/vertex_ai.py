"""Google's Vertex AI: Gemini, and models of other makers."""

from dataclasses import replace
from typing import Final

from .anthropic import CLAUDE
from .gemini import GEMINI, PARSER, drops_equal_calls, in_steps
from .provider import AskFacts, Json, Litellm, Provider, SetupFault


def _prepare(settings: Json, facts: AskFacts) -> Json:
    model = str(facts.ask["model"])
    is_gemini = "gemini" in model.lower() or model.isdigit()  # a number is an endpoint of a Gemini tuned there
    equal = is_gemini and drops_equal_calls(model)
    return settings | {"messages": in_steps(settings["messages"], splits_equal_calls=equal)}


PROVIDERS: Final = (
    Provider(
        name="vertex_ai",
        aliases=("vertex_ai_beta",),
        needs_tools=True,
        litellm=Litellm(
            own_credentials=True,
            setup_faults=(
                SetupFault(
                    "GoogleAuthError",
                    "upstream_auth_error",
                    "has no valid credentials for this model's provider.",
                ),
            ),
            fetches_images="always",
            chat_parsers=("VertexAILlama3StreamingHandler",),
            parser=PARSER,
        ),
        translation=replace(GEMINI, prepare=_prepare),
        claude=replace(CLAUDE, drops_strict=True),
    ),
)
