"""AM Proxy: the Responses API for any model. docs/design.md has the way of a request.

cli/         the command line: serve, launch, doctor, check, keys
app.py       settings -> the application; signals and reload
inspector/   conversations of the last turns, and the page
api/         HTTP and websocket: who calls, a bounded body, a stream of events; models, search, summaries
turns/       one response in one task: limits, attempts, the loop
observe/     the log line, metrics, spans, prices; the record of the last turns, as JSON
catalog.py   the name of a model -> its upstream, dialect and fallbacks
upstreams/   posts and reads: HTTP, litellm, the embedded model; errors, counting
dialects/    one folder for each API of model servers: a prompt -> a body, bytes -> deltas
prompt/      what a model is asked, in no dialect
tools/       tool types, a file each
emitter/     what a model says -> events
history/     long conversations, and what clients carry for this server
fetching/    which URLs may be fetched, and fetching images and files
types/       the nouns of the Responses API, both ways, and how a request is parsed
settings/    the configuration
providers/   what is known of each provider, a row each
"""
