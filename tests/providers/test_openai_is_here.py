"""What tests change of a provider, and undo."""

from app.providers.lookup import provider_of
from tests.support.providers import openai_is_here


def test_what_tests_change_of_a_provider_is_undone_in_any_order() -> None:
    before = provider_of("openai")
    first, second = openai_is_here("127.0.0.1"), openai_is_here("localhost")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert provider_of("openai").litellm.own_hosts == ".localhost"
    second.__exit__(None, None, None)
    assert provider_of("openai") is before
