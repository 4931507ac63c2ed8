"""Pauses and resumes the reading of an HTTP connection."""

import asyncio
from collections.abc import Collection

from uvicorn.protocols.http.flow_control import FlowControl


class ReadingControl(FlowControl):
    """uvicorn's, but reading is not resumed while requests are queued."""

    def __init__(self, transport: asyncio.Transport, queued: Collection[object]) -> None:
        super().__init__(transport)
        self._queued = queued

    def resume_reading(self) -> None:
        """Continue to read, if nothing is queued."""
        if not self._queued:
            super().resume_reading()
