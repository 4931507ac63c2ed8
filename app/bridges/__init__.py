"""Tool types on top of function tools: how each is declared upstream, and how its calls are translated both ways."""

from . import tool_types as tool_types
