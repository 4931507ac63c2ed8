"""AM Proxy: the Responses API for any model.

api/         HTTP and websocket: who calls, a bounded body, a stream of events
turns/       one response in one task: limits, attempts, the loop
types/       the nouns of the Responses API, both ways, and how a request is parsed
prompt/      what a model is asked, in no dialect
tools/       tool types
history/     long conversations, and what clients carry for this server
emitter/     what a model says -> events
dialects/    one folder for each API of model servers
upstreams/   posts and reads
settings/    the configuration
observe/     the log, and the record of the last turns
cli/         the command line
"""
