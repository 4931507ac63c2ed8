"""llama.cpp's server for a model file at a port: `python llama_server.py MODEL PORT CONTEXT`, in its environment.

It ends when its standard input does.
"""

import sys

import xllamacpp  # type: ignore[import-not-found] # in an environment of its own

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.port = int(sys.argv[2])
parameters.n_ctx = 4 * int(sys.argv[3])
parameters.n_parallel = 4
parameters.kv_unified = False
parameters.use_jinja = True
parameters.endpoint_slots = True
server = xllamacpp.Server(parameters)
sys.stdin.read()
