"""How one upstream model is asked and answers, settled by configuration."""

from app.prompt.prompt_rules import PromptRules


class ChatOptions(PromptRules, frozen=True, kw_only=True):
    """What differs between chat servers and does not stand in a request."""
