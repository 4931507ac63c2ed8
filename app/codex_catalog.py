"""An entry of the model catalogue that Codex reads (`model_catalog_json`)."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from .options import ModelOptions

INSTRUCTIONS: Final = """\
You are a coding agent that runs in the Codex CLI, on the user's own machine. You are precise, safe and helpful.

Work until the task is done before you hand back to the user: look at the files that matter, make the change, and \
check it. Do not guess what a file says when you can read it. When the task is unclear, choose the most sensible \
reading and say which one you chose.

Use the tools you are given. Run commands with the shell tool; prefer `rg` for searching. Edit files with \
`apply_patch` where it is offered, and do not print a file's new content instead of changing the file. After a patch \
there is no need to read the file again to see whether it worked: the tool would have said so.

Keep changes small and in the style of the code around them. Mend causes, not symptoms, and leave unrelated faults \
alone, though you may mention them. Never undo changes that are not yours, never commit and never delete work unless \
asked to. If the repository has tests, run those that cover your change.

Files named AGENTS.md hold the user's rules for the folder they stand in and all below it; deeper ones take \
precedence, and what the user says directly comes before all of them.

Before a group of tool calls, say in a sentence what you are about to do. At the end, say in a few plain lines what \
you changed, where, and what you could not check. Name files by their path.
"""

_EFFORTS: Final = frozenset({"none", "minimal", "low", "medium", "high", "xhigh"})
"""Of the efforts that are known of a model, those that every version of Codex reads. Older ones refuse a catalogue with
any other."""


def _unknown(_name: str) -> Sequence[str]:
    return ()


class ModelCard(NamedTuple):
    """The facts about a model that Codex gets in addition to its name."""

    model: ModelOptions = ModelOptions()
    """Its configured options."""
    images: bool = True
    """Whether the model takes images."""
    listed_window: int | None = None
    """Its context window according to its server, in tokens. A configured one comes first."""
    known_efforts: Callable[[str], Sequence[str]] = _unknown
    """The efforts that the model of a public name is known to support, where none are configured."""

    def efforts(self, name: str) -> Sequence[str]:
        """The efforts that the model of this public name supports, as far as Codex may be told."""
        if self.model.reasoning_efforts or self.model.can.reasoning is False:
            return self.model.reasoning_efforts
        return [effort for effort in self.known_efforts(name) if effort in _EFFORTS]

    @property
    def context_window(self) -> int | None:
        """Its context window in tokens, if it is known."""
        return self.model.context_window or self.listed_window

    def listed(self, context_window: int | None, takes_images: bool | None) -> "ModelCard":  # noqa: FBT001 — as servers say it
        """The card with what the model's server says, where nothing is configured. None: it does not say."""
        sees = self.images and (takes_images is not False or self.model.can.vision is True)
        return self._replace(images=sees, listed_window=context_window)


def codex_model(name: str, card: ModelCard, priority: int) -> dict[str, Any]:
    """The entry. Codex refuses the whole catalogue if one of these keys is missing."""
    efforts = card.efforts(name)
    entry: dict[str, Any] = {
        "slug": name,
        "display_name": name,
        "description": None,
        "supported_reasoning_levels": [{"effort": effort, "description": effort} for effort in efforts],
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": True,
        "priority": priority,
        "availability_nux": None,
        "upgrade": None,
        "base_instructions": INSTRUCTIONS,
        "supports_reasoning_summaries": bool(efforts),
        "support_verbosity": card.model.can.verbosity is True,
        "default_verbosity": None,
        "apply_patch_tool_type": "freeform" if card.model.apply_patch else None,
        "truncation_policy": {"mode": "bytes", "limit": 10_000},
        "supports_parallel_tool_calls": True,
        "experimental_supported_tools": [],
    }
    if efforts:
        entry["default_reasoning_level"] = "medium" if "medium" in efforts else efforts[0]
    if not card.images:
        entry["input_modalities"] = ["text"]  # Codex then sends no images, and its tools return none
    if card.context_window is not None:
        entry["context_window"] = card.context_window
    if card.model.tool_search:
        entry["supports_search_tool"] = True
    if card.model.use_responses_lite:
        entry["use_responses_lite"] = True
    for key in ("auto_compact_token_limit", "default_reasoning_summary", "multi_agent_version", "tool_mode"):
        if (value := getattr(card.model, key)) is not None:
            entry[key] = value
    return entry
