"""The summary of a conversation: the answer to an ordinary ask, of which the client is told nothing."""

from collections.abc import Awaitable, Callable

from ..catalog import Route
from ..dialects.exchange import Exchange
from ..history.compaction import Conversation, Summary, written
from ..types.problems import Problem
from ..types.request import Request
from ..types.response import Response
from ..upstreams.port import UpstreamError

_CHARACTERS_PER_TOKEN = 4


def most_asked(route: Route) -> int | None:
    """The tokens that a model may be asked, with room for its answer; None if that is not known."""
    window = route.model.settings.context_window
    return None if window is None else window * 3 // 4  # tokens are estimates


async def summarize(
    conversation: Conversation,
    route: Route,
    make: Callable[[Request, Route], Awaitable[Exchange]],
    ask: Callable[[Request, Exchange], Awaitable[Response]],
) -> Summary:
    """The summary. Raises `UpstreamError`.

    Of a conversation that is too long the oldest outputs are shortened: to the model's context window if that is known;
    and once more, to half, if the upstream says that it is too long.
    """
    most = most_asked(route)
    for last in (False, True):
        request = conversation.asking()
        exchange = await make(request, route)
        tokens = route.dialect.tokens(exchange.body)
        if most is not None and tokens > most:
            request = conversation.asking((tokens - most) * _CHARACTERS_PER_TOKEN)
            exchange = await make(request, route)
            tokens = route.dialect.tokens(exchange.body)
        try:
            summary = written(await ask(request, exchange))
        except UpstreamError as error:
            if last or error.problem.code != "context_length_exceeded":
                raise
            most = tokens // 2
            continue
        if isinstance(summary, Problem):
            raise UpstreamError(summary)
        return summary
    raise AssertionError  # the last ask returns or raises
