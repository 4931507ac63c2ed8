"""Golden exchanges: all that a client, AM Proxy and the servers behind it say to each other, over real sockets.

Each folder of `exchanges/` is one behaviour:

    case.toml        what its model and its process need, where these are not the defaults (see cases.py)
    exchange.jsonl   what is said, in the order of time, one line each

A line of exchange.jsonl is an object, and its first member says what it is:

    client sends      {"post": PATH, "headers": {}, "body": …}, {"get": PATH}, {"options": PATH}; `"bytes"` is a body in
                      hexadecimal digits
                      {"frame": …} over its websocket; a text is sent as it is. {"connect": {"headers": {}}} before it
    client waits      {"read": TYPES} until an event of each type has come; `closed` is the end of the connection
                      {"open": NAME} lets the upstream go on that waits at {"gate": NAME}
    client gets       {"response": {"status": 200, "headers": {}, "body": …}}, {"event": …}, {"closed": CODE};
                      a body that is not JSON is a `"message"`: its lines in the order of the alphabet
    upstream          {"ask": …} is what it is asked; the lines after it are its answer: {"payload": …}, {"gate": NAME},
                      {"raw": BYTES}, one for each character, {"cut": true}, {"reset": true}, {"end": true},
                      {"status": 500, "body": …}, or {"hang": true}, after which the connection must be closed by us
    search server     {"search": …} is what it is asked, {"found": …} its answer

Several connections of one client have names: `"connection": NAME` in each of their lines. Ids, sealed content and times
have stable names; the same id has the same name everywhere, and a frame or body may contain it.

For a new exchange write the lines of the client, and the answers of upstream and search server behind `{"ask": {}}` and
`{"search": {}}`, in any order. `--bless tests/wire/exchanges/NAME` writes the rest; the diff is then the review.
"""

from itertools import zip_longest
from pathlib import Path

from tests.wire.cases import Stage
from tests.wire.comparison import loosened, plain_headers, write_lines
from tests.wire.exchange_judges import judge_exchange
from tests.wire.exchange_play import play
from tests.wire.exchanges import Exchange, each_exchange, read_exchange


@each_exchange
def test_everything_is_said_as_the_exchange_has_it(folder: Path, stage: Stage, blessed: Path | None) -> None:
    """Every answer is also sound in the eyes of the grammar and all judges."""
    played = play(folder, stage)
    judge_exchange(played)
    said = Exchange.of(played.lines)
    if blessed == folder:
        golden = read_exchange(folder)
        # a line that says the same as before keeps its words
        pairs = [pair for new, old in zip(said, golden, strict=True) for pair in zip(new, old, strict=False)]
        same = {id(new): old for new, old in pairs if loosened(new, old) == old}
        write_lines(folder / "exchange.jsonl", [same.get(id(line), plain_headers(line)) for line in played.lines])
    for lines, recorded in zip(said, read_exchange(folder), strict=True):
        for line, expected in zip_longest(lines, recorded):
            asked = line is not None and line.keys() & {"ask", "search"}  # to the letter
            assert (line if asked else loosened(line, expected)) == expected
