"""The configuration of one model behind the Messages API."""

from ...prompt.prompt_rules import PromptRules


class MessagesOptions(PromptRules, frozen=True, kw_only=True):
    """What differs between servers of the Messages API and is not part of a request."""

    has_all_features: bool = False
    """Whether the server is that of Claude's maker, which has every feature of the API."""
