"""Every Responses server that can be had here, tested by `python -m tests.judges`: `make field`.

`servers`    which servers there are, in groups: this server's own, model servers, and bridges
`own`        this server, in front of scripted servers that refuse what real ones refuse
`bridges`    this server and others, all in front of the same model server
`asking`     judges a server with `tests.judges`, and takes the paths and ports of this machine out of what it says
`run`        asks the servers, and keeps what was found in `found.json`; `page`: writes docs/field.md from it
`notes`      what was found out by hand about a finding
"""
