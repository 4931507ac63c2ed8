"""Real model servers on this machine, and how each lane of AM Proxy behaves with them: `make servers`.

`answers`      what the tiny model says, and to which request
`tiny_model`   a transformer of one layer whose weights are written by hand, so that it says exactly these answers
`checkpoint`   its files for vLLM and transformers
`gguf`         its file for llama.cpp
"""
