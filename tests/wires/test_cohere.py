"""Where Cohere is asked."""

import pytest

from app.providers.cohere import address


@pytest.mark.parametrize(
    "base_url", ["https://api.cohere.com", "https://api.cohere.com/v2", "https://api.cohere.com/v2/chat"]
)
def test_any_base_url_leads_to_the_chat(base_url: str) -> None:
    assert address(base_url) == "https://api.cohere.com/v2/chat"
