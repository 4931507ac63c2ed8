"""What is known of a model: how it is configured, and what its server takes."""

from typing import NamedTuple

from ..settings.tables import ModelSettings, UpstreamSettings
from .history import CallIds


class Model(NamedTuple):
    """A model behind one upstream."""

    name: str
    """As clients name it."""
    upstream_name: str
    """As its upstream knows it."""
    settings: ModelSettings
    upstream: UpstreamSettings
    call_ids: CallIds = "keep"
