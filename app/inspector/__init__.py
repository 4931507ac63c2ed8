"""A page to try models with and to watch turns pass by. Static files, some addresses beside them, no library.

What the page reads
-------------------
All of it needs a key where there are keys, and shows a caller its own turns only. A turn is named by its `number`,
which grows with each turn of this process: the id of a request may be the client's own, so it may occur twice.

`GET /inspector/rows` streams the list as server-sent events. The first ones are those that are kept, oldest first:

    row         a turn as below; sent again, whole, whenever something in it changes
    ready       `{"turns": 17}`: all that were kept have been sent; what follows is new
    forgotten   `{"number": 3}`: this turn is not kept any more

A row has all that the list can be searched for without asking again. Times are milliseconds since the turn began:

    {
      "number": 17, "id": "req_…", "began": 1763562718.123 (seconds since 1970, UTC), "when": "18:46:41",
      "session": 4, "place": 2 (its place in the session, from 0 on),
      "model": "gpt-5.5", "upstream": "openai", "key": "alice", "client": "codex_cli_rs" (may be ""),
      "websocket": false, "state": "running" or "ended",
      "finish": "completed" | "incomplete" | "failed" | "refused" | "disconnected" | "searched" ("" while it runs),
      "status": 200 or null, "error": "" or a code, "problem": "" or a sentence,
      "said": the first words of what was new in it, "answered": the first words of its answer,
      "calls": ["exec_command"] (eight at most), "more_calls": 0,
      "tokens": {"input": 7, "cached": 0, "written": 0, "output": 3, "reasoning": 0} or null,
      "first_ms": 512 or null, "total_ms": 3120 or null,
      "cost": {"amount": 0.0123, "currency": "USD", "source": "settings" or "litellm"} or null (an estimate),
      "asks": 1 (requests to upstreams), "summarized": false, "prepared": false (true: the client wanted no answer),
      "bytes": 40121 (memory that it takes)
    }

`GET /inspector/turns/17` is all about one turn:

    {
      "row": the row,
      "request": what the client sent, "events_left_out": 0,
      "asks": [{
        "number": 1, "upstream": "openai", "model": its name there, "body": what the upstream was sent,
        "prompt": the prompt in no dialect or null (a relayed request has none),
        "warnings": ["…"], "goes_on": false, "error": null or the upstream's error,
        "started_ms": 4.1, "first_ms": 400.2 or null, "ended_ms": 3001.2 or null,
        "outcome": "running" | "answered" | "refused" | "broke_off" | "stopped" | "again" (an answer that was not used),
        "raw": {"text": the bytes that it sent as text, "bytes": 91823, "left_out": 0} or null (not asked over HTTP),
        "chunks": the same, of the chunks that litellm or the demo gives, as events; null on other lanes
        "failed_tries": [{"status": 503 or null, "failed": "unreachable" (see `Failure` in app/recordings) or null,
                          "raw": as above}] (requests that were made again)
      }],
      "events": [{"at": 512.03, "event": {"type": "response.created", …}}],
      "refused": null or {"status": 404, "error": {…}},
      "response": the response in the last event, or null,
      "fields": the fields of its log line (empty while it runs),
      "timeline": [{"phase": "…", "ask": 1 or null, "from": 0, "to": 3.2, "words": "…"}],
      "changes": null or {
        "since": the number of the turn before, "since_id": its request id,
        "is_continued": true (the input begins with all of that turn, its answer included),
        "new_items": [12, 14] (those of `request.input` from 12 on, up to 14 without it),
        "tools": {"added": ["x"], "removed": [], "changed": [], "is_reordered": false},
        "instructions": "same" | "changed" | "added" | "removed",
        "settings": ["reasoning"] (other members of the request that changed)
      }
    }

Phases of a timeline, in the order in which they begin: `admission` (limits), `body`
(waiting for the client's request), `reading` (decoding and checking it), `preparing` (translating it), and for each
request to an upstream all of it, `connecting`, `waiting` (for its first data), `retry` (the wait before it is asked
again), `streaming` and `stall` (two seconds or more without data). All of a request is an `ask`, or `again` (the same
upstream in another way, after it refused), `fallback` (another upstream), `second_ask` (after an answer that was not
the end, such as a summary) or `going_on` (with a paused answer). `between` is what happens between two of them,
`ending` what comes after the last answer. `to` is null while a phase runs.

A request, body or prompt that is not kept is `{"left_out": "… (the reason)"}`. `changes` is null for the first turn of
a session, and if the turn before it is not kept any more.

`GET /inspector/turns/17/live` streams the notes of one turn as server-sent events, those before and each new one:
`began`, `asked`, `failed`, `sent` (`{"at": 512.03, "events": […]}`), `refused` and `ended`. It ends after `ended`.


`GET /inspector/sessions/4` is a conversation, with only what is new in each turn:

    {"session": 4, "turns": [{"row": …, "changes": as above or null, "instructions": text or null (if they changed),
                              "new": [the new items of its input], "output": [the items of its response]}]}

`GET /inspector/found?text=…` looks for a text in all that is kept: `{"numbers": [17, 4]}`, newest first.
"""
