"""AM Proxy: any language model behind the OpenAI Responses API.

The map
-------
    __main__.py, cli/   the command line
    main.py             composition root: `build_app(settings)`; the only file that knows every room
    application.py      the application of one configuration, and the change to another one
    shared_state.py     what outlives a reload of the settings
    wiring.py           from settings to the catalogue
    new_upstreams.py    the client of each upstream
    settings/           am-proxy.toml, environment and flags -> frozen `Settings`
    options.py          options of servers and models, declared once and shared
    providers/          how each provider differs: address and key if asked directly, what litellm loses otherwise
    new_turns.py        the turn for a request on a route, in the dialect of its upstream
    catalogue.py        public model name -> route
    similar_names.py    finds the name that a mistyped one probably means
    codex_catalog.py    describes a model for Codex's catalogue
    sealing.py          encrypts content that clients carry and only this server can read
    lean_fastapi.py     FastAPI without the parts that are not used
    lean_uvicorn.py     uvicorn without its command line
    json_text.py        JSON as bytes and back, and the number of values in it
    key_search.py       finds what looks like a key in a text
    off_loop.py         runs long work in threads
    open_files.py       how many files this process may open, and how many of them may be connections
    workers/            what several processes of one server share
    own_thread.py       runs blocking calls, such as looking up names, in threads of their own
    recordings/         folders with what a turn was asked and answered: their format, and what is left out of them
    fair_slots.py       threads and fetches, shared fairly among callers (slots of turns: turns/limits)
    prices.py           what tokens cost, as an estimate
    version.py          the version of this package
    inspector/          the page at `/`
    observers/          metrics, tracing, and the inspector's ring buffer
    transports/         how requests come in and events travel to the client
    turns/              the life of a turn: service (start here), limits, choice of the upstream, pump, log line
    upstreams/          the servers that run the models, and their circuit breakers
    dialects/           what an upstream understands: prompts become asks, payloads become deltas
    prompt/             what a model is asked, in no dialect: conversation, tools, settings, and the rules for them
    compaction/         summarizing a conversation, and continuing from the summary
    parsing/            a posted body becomes nouns, or a refusal with the exact path of the first fault
    bridges/            tools carried by functions: names, choice, and one file for each tool type in tool_types/
    emitter/            deltas in, events out
    searching/          searches the web, for Codex
    fetching/           which URLs may be fetched, and fetching images and files
    http_client/        requests to model servers and other servers, and their answers as they arrive
    protocol/           nouns of the Responses API

The walk
--------
    POST -> transports/http_turns   opens turns/lifecycle, which is around all that follows: takes the slot, writes the
                                    log line, closes the upstream. Inside of it: the caller (transports/auth), a slot,
                                    then the body (websocket: transports/websocket)
         -> turns/service           conducts the turn and makes its pump (two, by turns/summary_first, if a summary
                                    comes first)
         -> parsing/request_body    the body as nouns, or a refusal
         -> catalogue               the route: upstream, model name, fallbacks
         -> new_turns               the turn in the upstream's dialect, with images and files fetched (fetching/)
         -> dialects/chat/turn      calls prompt/build (prompt and warnings) and chat/encode (the ask);
                                    (or messages/message_body); for a Responses upstream dialects/responses/relay,
                                    without a prompt
         -> turns/pump              starts a task that asks and draws payloads
         -> turns/attempts          in that task: upstreams/*.open(ask): breaker, retries, fallbacks (each a new turn
                                    in its own dialect) up to the first payload
         -> turns/pump              `open` waits `first_payload_wait`: a refusal until then is an HTTP status; after it
                                    turns/opening makes the first events
         -> turns/pump              `batches`: payload -> the turn's `receive` -> events
                                    (chat: chat/decode -> deltas -> emitter; relay: by itself)
         -> turns/lifecycle         `watch` logs the events and gives back the slot before the last batch
         -> transports/http_turns   sends them as bytes made by transports/sse. Most of a stream takes a shorter way:
                                    upstreams/response_body hands payloads to the pump where they are read, and their
                                    events are written to the client at once, by transports/body_writer

`docs/decisions/` records the reasons.
"""
