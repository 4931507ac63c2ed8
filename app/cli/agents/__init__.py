"""The coding agents that `am-proxy launch` starts, one file each. A new one is a file and a line here."""

from collections.abc import Mapping
from typing import Final

from .agent import Agent
from .codex import CODEX

__all__ = ["AGENTS", "Agent"]

AGENTS: Final[Mapping[str, Agent]] = {agent.program: agent for agent in (CODEX,)}
"""By the word on the command line, which is the name of the program."""
