"""AM Proxy: any language model behind the OpenAI Responses API.

The map
-------
    __main__.py, cli/   the command line
    main.py             composition root: `build_app(settings)`; the only file that knows every room
    application.py      what serves under one configuration, and the change to another
    shared_state.py     what outlives a reload of the settings
    wiring.py           from settings to upstreams and catalogue
    settings/           config.toml, environment and flags -> frozen `Settings`
    options.py          options of servers and models, declared once and shared
    providers/          what is known of each provider: one file for each
    catalogue.py        public model name -> route
    codex_catalog.py    a model as Codex wants it described
    sealing.py          the envelope in which clients carry what only this server may read
    json_text.py        JSON as bytes and back, and how many values it holds
    off_loop.py         work that takes long, in threads
    own_thread.py       calls that block, such as looking up names
    loop_delay.py       how late this process runs what is due
    fair_slots.py       slots that many callers want, shared out fairly
    inspector/          the page at `/`
    observers/          metrics, tracing, the log of bodies, and the ring buffer behind the inspector
    transports/         how requests come in and events travel to the client
    turns/              the life of a turn: limits, choice of the upstream, breaker, pump, log line
    upstreams/          the servers that run the models
    dialects/           what an upstream understands: requests become asks, payloads become deltas
    prompt/             what a model is asked, in no dialect: conversation, tools, settings, and the rules for them
    compaction/         summing a conversation up, and going on from the summary
    parsing/            from a posted body to nouns, or to a refusal by the exact path of the first fault
    bridges/            one file per tool type: how it rides on a function
    emitter/            deltas in, events out
    fetching/           which addresses may be fetched, and pictures and files from there
    protocol/           nouns of the Responses API

The walk
--------
    POST -> transports/http_turns  who calls, what is asked (a websocket's frames: transports/websocket)
         -> turns/lifecycle        slot, log line; closes whatever the turn opens
         -> catalogue              which upstream, under which name
         -> prompt/build           the request as a prompt in no dialect; warnings
         -> dialects/chat/turn     the prompt as a body for the upstream; the first events
         -> upstreams/*.open(ask)  payloads -- nothing has been sent to the client yet
         -> turns/pump             payload -> reader -> deltas -> emitter -> events
         -> transports/sse         bytes

`docs/decisions/` says why it is so.
"""
