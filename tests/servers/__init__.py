"""Real model servers with a tiny model whose weights are written by hand: `make servers`.

`answers`      what the model says, and the template by which a prompt chooses its answer
`tiny_model`   the vocabulary and the weights
`checkpoint`   its files for vLLM and transformers
`gguf`         its file for llama.cpp
`install`      fetches the servers into the cache, at the versions of `servers.toml`
`launch`       starts a server
`lanes`        the APIs by which a server is asked; `notes`: what it cannot do over them
`questions`    what it is asked, in every API; `said`: reads the answers
`behaviours`   what is tested: `compared` (answers), `traffic` (many at once), `programs` (Codex, doctor, …)
`run`          tests the servers; `page`: writes docs/servers.md
"""
