"""The configuration of one model of a chat server."""

from ...prompt.prompt_rules import PromptRules


class ChatOptions(PromptRules, frozen=True, kw_only=True):
    """What differs between chat servers and is not part of a request."""

    marks_claude: bool = False
    """Prompts for Claude are marked for its cache, unless that is switched off. Tools and whole outputs of calls can
    be marked, too."""
