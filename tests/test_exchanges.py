"""Golden exchanges: all that a client, AM Proxy and the servers behind it say to each other, over real sockets.

Each folder of `tests/exchanges` is one behaviour:

    am-proxy.toml    the configuration of the server
    exchange.jsonl   what is said, in the order of time, one line each
    pages/           pages that are opened, as `http://website.example/NAME`

A line of exchange.jsonl is an object, and its first member says what it is:

    client sends      {"post": PATH, "headers": {}, "body": …}, {"get": PATH}; `"bytes"` is a body in hexadecimal digits
                      {"frame": …} over its websocket; a text is sent as it is. {"connect": {"headers": {}}} before it
    client waits      {"read": TYPES} until an event of each type has come; `closed` is the end of the connection
                      {"open": NAME} lets the upstream go on that waits at {"gate": NAME}
    client gets       {"response": {"status": 200, "headers": {}, "body": …}}, {"event": …}, {"closed": CODE}
    upstream          {"ask": …} is what it is asked; the lines after it are its answer: {"payload": …}, {"gate": NAME},
                      {"pause": SECONDS}, {"cut": true}, {"end": true}, {"status": 500, "body": …}, or {"hang": true},
                      after which the connection must be closed by us
    search server     {"search": …} is what it is asked, {"found": …} its answer
    website           {"page": PATH} is downloaded

Several connections of one client have names: `"connection": NAME` in each of their lines. Ids, sealed content and times
have stable names; the same id has the same name everywhere, and a frame or body may contain it.

For a new exchange write the lines of the client, and the answers of upstream and search server behind `{"ask": {}}` and
`{"search": {}}`, in any order. `--bless tests/exchanges/NAME` writes the rest; the diff is then the review.
"""

from itertools import zip_longest
from pathlib import Path

from tests.support.leaving_exchange_judges import judge_exchange
from tests.support.leaving_exchange_play import play
from tests.support.leaving_exchanges import Exchange, each_exchange, read_exchange, write_exchange


@each_exchange
def test_everything_is_said_as_the_exchange_has_it(folder: Path, tmp_path: Path, blessed: Path | None) -> None:
    """Every answer is also sound in the eyes of the grammar, all judges and the reference consumer."""
    played = play(folder, tmp_path)
    judge_exchange(played)
    said = Exchange.of(played.lines)
    if blessed == folder and said != read_exchange(folder):
        write_exchange(folder, played.lines)
    for lines, recorded in zip(said, read_exchange(folder), strict=True):
        for line, expected in zip_longest(lines, recorded):
            assert line == expected
