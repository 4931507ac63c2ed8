"""Tool types on top of function tools: how each is declared upstream, how past calls are retold, what calls become."""

from app.bridges import tool_types as tool_types
