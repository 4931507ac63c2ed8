"""`am-proxy init`: asks three or four questions and writes a file with comments. It never overwrites a file."""

import os
import re
import secrets
import shlex
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from ..providers.lookup import PROVIDERS, provider_of
from ..settings import FILE

Ask = Callable[[str], str]

LOCAL: Final = {"ollama": 11434, "lm_studio": 1234, "vllm": 8000, "llama_cpp": 8081}
"""The ports on which servers of these providers usually listen on one's own machine."""

_ADDRESS: Final = r'https?://[^"\\\s]+'

_MENU: Final = """\
Which models should AM Proxy serve?
  1  those of a chat-completions server{servers}
  2  those of a provider that litellm knows: openai, anthropic, gemini, mistral, …
  3  those of a server that has the Responses API itself
  4  none yet: the embedded model `demo`"""

_HEAD: Final = """\
# AM Proxy's configuration. `am-proxy check` finds errors in it, `am-proxy doctor`
# tests the upstreams. docs/configuration.md describes every setting.

[server]
host = "{host}"{pad}# {who}
port = 8080
"""
_KEY: Final = """
[[keys]]                       # clients send it as `Authorization: Bearer …`
name = "first"
sha256 = "{digest}"
"""
_SERVER: Final = """
[upstreams.local]              # {about}
via = "{via}"
base_url = "{url}"
{api_key}
[models."*"]                   # every model name is passed on unchanged
upstream = "local"
"""
_PROVIDER: Final = """
[upstreams.{provider}]
provider = "{provider}"{pad}# as litellm calls it
{api_key}
[models."{model}"]             # the name that clients use; `name` is its name there, if it differs
upstream = "{provider}"
"""
_KNOWN: Final = """
[upstreams.{provider}]
via = "chat"                   # asked directly, at its own address
provider = "{provider}"{pad}# see docs/providers.md
{address}{api_key}
[models."*"]                   # every model name is passed on unchanged
upstream = "{provider}"
"""
_DEMO: Final = """
[upstreams.demo]
via = "demo"                   # inside this server, scripted: no key, no network

[models.demo]
upstream = "demo"
"""


def init(path: Path, ask: Ask = input) -> int:
    """Ask, and write `path`, readable only by its owner. Returns 1 if it exists, or an answer is missing."""
    if path.exists():
        print(f"am-proxy: {path} exists already; move it away, or name another file with --config", file=sys.stderr)
        return 1
    try:
        upstream = _upstream(ask)
        others = ask("Should other machines be able to reach it? [y/N] ").strip().lower() in {"y", "yes"}
    except (EOFError, KeyboardInterrupt):
        print("\nam-proxy: nothing was written", file=sys.stderr)
        return 1
    host, who = ("0.0.0.0", "every address") if others else ("127.0.0.1", "only this machine")  # noqa: S104 — the user asked for it
    text = _HEAD.format(host=host, pad=" " * (22 - len(host)), who=who)
    key = f"am-{secrets.token_urlsafe(32)}"
    if others:
        text += _KEY.format(digest=sha256(key.encode()).hexdigest())
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + upstream)
    print(f"\n{path} is written.")
    if others:
        print(f"The key for clients, which is stored nowhere:  {key}")
    named = "" if path == Path(FILE) else f" --config {shlex.quote(str(path))}"
    print(f"Next:  am-proxy doctor{named}   tests the upstream\n       am-proxy serve{named}    starts the server")
    return 0


def _upstream(ask: Ask) -> str:
    """Ask for the one upstream, and return its table and that of its model."""
    servers = local_servers()
    print(
        _MENU.format(
            servers=f" (here: {', '.join(f'{name} at {url}' for name, url in servers.items())})" if servers else ""
        )
    )
    default = "1" if servers else "2"
    chosen = _ask_until_valid(ask, f"[{default}] ", "[1-4]", default)
    if chosen == "4":
        return _DEMO
    if chosen == "2":
        provider = _ask_until_valid(ask, "Which provider? [openai] ", "[a-z0-9_-]{1,64}", "openai")
        model = _ask_until_valid(ask, "Which of its models? ", r'[^"\\\s]{1,256}', "")
        default = provider_of(provider).key_variable or f"{provider.upper().replace('-', '_')}_API_KEY"
        variable = _variable(ask, default)
        return _PROVIDER.format(provider=provider, pad=" " * max(1, 18 - len(provider)), model=model, api_key=variable)
    if chosen == "3":
        url = _ask_until_valid(ask, "At which address? (http://…/v1) ", _ADDRESS, "")
        return _SERVER.format(
            about="it has the Responses API itself", via="responses", url=url, api_key=_variable(ask, "")
        )
    return _chat_server(ask, servers)


def _chat_server(ask: Ask, servers: dict[str, str]) -> str:
    """The tables of a chat-completions server: of a known provider, or at an address."""
    names = {provider.name for provider in PROVIDERS if provider.base_url} | servers.keys()
    default = next(iter(servers), "")
    question = f"At which address, or of which provider (groq, mistral, …)? [{default or 'http://…/v1'}] "
    answer = _ask_until_valid(ask, question, "|".join([_ADDRESS, *names]), default)
    if answer not in names:
        return _SERVER.format(about="a chat-completions server", via="chat", url=answer, api_key=_variable(ask, ""))
    known = provider_of(answer)
    url = servers.get(answer, known.base_url)
    address = "" if url == known.base_url else f'base_url = "{url}"\n'
    variable = _variable(ask, known.key_variable) if known.key_variable else ""
    pad = " " * max(1, 18 - len(answer))
    return _KNOWN.format(provider=answer, pad=pad, address=address, api_key=variable)


def _variable(ask: Ask, default: str) -> str:
    """The line that names the variable of the key. The file may be copied, so it should hold no secret."""
    question = f"Which environment variable holds its key? [{default or 'none'}] "
    name = _ask_until_valid(ask, question, "[A-Za-z_][A-Za-z0-9_]*|none", default or "none")
    return "" if name == "none" else f'api_key = "env:{name}"\n'


def _ask_until_valid(ask: Ask, question: str, pattern: str, default: str) -> str:
    """Ask until the answer matches the pattern. An empty answer means `default`, if there is one."""
    while True:
        answer = ask(question).strip() or default
        if re.fullmatch(pattern, answer):
            return answer
        print("  this answer is not valid; please try again")


def local_servers() -> dict[str, str]:
    """Servers that listen on this machine, with their addresses."""
    servers = {}
    for name, port in LOCAL.items():
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=0.2):
            servers[name] = f"http://127.0.0.1:{port}/v1"
    return servers
