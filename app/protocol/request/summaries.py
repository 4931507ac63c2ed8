"""What a request may hold about summaries of its conversation: its compaction items, and when one is wanted."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from .shape import Shape


class ServerItem(Shape):
    """An item for this server, not for the model."""

    left_out: ClassVar[str]
    """Why the model does not get it, where it has no effect."""
    type: str


class SummaryItem(ServerItem):
    """A summary of a conversation, encrypted by the server that wrote it."""

    left_out: ClassVar[str] = "only the server that summarized this conversation can read it."
    type: Literal["compaction", "compaction_summary", "context_compaction"] = "compaction"
    encrypted_content: str | None = None
    id: str | None = None


class SummaryTrigger(ServerItem):
    """At the end of the input: asks for a summary alone."""

    left_out: ClassVar[str] = "it has its effect only at the end of 'input'."
    type: Literal["compaction_trigger"] = "compaction_trigger"


SUMMARY_TYPES: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""The types of items with a summary. Codex used the other names before."""
SERVER_ITEMS: Final[dict[str, type[ServerItem]]] = {
    "compaction": SummaryItem,
    "compaction_summary": SummaryItem,
    "context_compaction": SummaryItem,
    "compaction_trigger": SummaryTrigger,
}
"""By their `type`."""


class ContextManagement(Shape):
    """How the server is to handle a conversation that grows too long."""

    no_effect: ClassVar[str] = "it is no compaction with a threshold."
    """Why an entry without a threshold has no effect."""
    type: str
    compact_threshold: Annotated[int, Field(ge=1)] | None = None

    @property
    def threshold(self) -> int | None:
        """How many tokens the conversation may have before it is to be summed up. None if this is not asked for."""
        return self.compact_threshold if self.type == "compaction" else None
