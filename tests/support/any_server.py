"""A server of any provider, which reads what it is asked."""

from tests.wire.servers import Ask, ScriptedUpstream


class AnyServer(ScriptedUpstream):
    """Takes every ask."""

    takes_empty_bodies = True

    def faults(self, ask: Ask) -> list[str]:  # noqa: ARG002 — it finds none
        """Nothing is wrong with any ask."""
        return []
