"""AM Proxy: any language model behind the OpenAI Responses API.

The map
-------
    __main__.py, cli/   the command line
    main.py             composition root: `build_app(settings)`; the only file that knows every room
    lanes.py            from settings to upstreams and catalogue
    settings/           config.toml, environment and flags -> frozen `Settings`
    catalogue.py        public model name -> route
    sealing.py          the envelope in which clients carry what only this server may read
    off_loop.py         work that takes long, in threads
    own_thread.py       calls that block, such as looking up names
    loop_delay.py       how late this process runs what is due
    fair_slots.py       slots that many callers want, shared out fairly
    pump.py             the only loop: payloads into the turn, batches of events out
    inspector/          the page at `/`
    witnesses/          who sees turns pass: counters, spans, the log of bodies, the ring that the page shows
    transports/         how requests come in and events travel to the client
    upstreams/          the servers that run the models
    fetching/           pictures and files by address, for upstreams that fetch none
    dialects/           what an upstream understands: requests become asks, payloads become deltas
    bridges/            one file per tool type: how it rides on a function
    turn/               the machine: deltas in, events out
    protocol/           nouns of the Responses API

The walk
--------
    POST -> transports/http        who calls, what is asked (a websocket's frames: transports/websocket)
         -> catalogue              which upstream, under which name
         -> dialects/chat/turn     the ask; warnings; the first events
         -> upstreams/*.open(ask)  payloads -- nothing has been sent to the client yet
         -> pump                   payload -> reader -> deltas -> emitter -> events
         -> transports/sse, json   bytes

`docs/decisions.md` says why it is so.
"""
