"""`am-proxy init`: asks three or four questions and writes a config.toml with comments. It never overwrites a file."""

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

from app.providers.lookup import PROVIDERS, provider_of

Ask = Callable[[str], str]

LOCAL: Final = {"ollama": 11434, "lm_studio": 1234, "vllm": 8000, "llama_cpp": 8081}
"""The ports on which servers of these providers usually listen on one's own machine."""

_ADDRESS: Final = r'https?://[^"\\\s]+'

_MENU: Final = """\
Which models shall AM Proxy serve?
  1  those of a chat-completions server{found}
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
        others = ask("Shall other machines be able to reach it? [y/N] ").strip().lower() in {"y", "yes"}
    except (EOFError, KeyboardInterrupt):
        print("\nam-proxy: nothing was written", file=sys.stderr)
        return 1
    host, who = ("0.0.0.0", "every address") if others else ("127.0.0.1", "only this machine")  # noqa: S104 — it was asked for
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
    named = "" if path == Path("config.toml") else f" --config {shlex.quote(str(path))}"
    print(f"Next:  am-proxy doctor{named}   tests the upstream\n       am-proxy serve{named}    starts the server")
    return 0


def _upstream(ask: Ask) -> str:
    """The tables of the one upstream and its model."""
    found = _found()
    print(
        _MENU.format(found=f" (here: {', '.join(f'{name} at {url}' for name, url in found.items())})" if found else "")
    )
    usual = "1" if found else "2"
    chosen = _matching(ask, f"[{usual}] ", "[1-4]", usual)
    if chosen == "4":
        return _DEMO
    if chosen == "2":
        provider = _matching(ask, "Which provider? [openai] ", "[a-z0-9_-]{1,64}", "openai")
        model = _matching(ask, "Which of its models? ", r'[^"\\\s]{1,256}', "")
        usual = provider_of(provider).key_variable or f"{provider.upper().replace('-', '_')}_API_KEY"
        variable = _variable(ask, usual)
        return _PROVIDER.format(provider=provider, pad=" " * max(1, 18 - len(provider)), model=model, api_key=variable)
    if chosen == "3":
        url = _matching(ask, "At which address? (http://…/v1) ", _ADDRESS, "")
        return _SERVER.format(
            about="it has the Responses API itself", via="responses", url=url, api_key=_variable(ask, "")
        )
    return _chat_server(ask, found)


def _chat_server(ask: Ask, found: dict[str, str]) -> str:
    """The tables of a chat-completions server: of a known provider, or at an address."""
    names = {provider.name for provider in PROVIDERS if provider.base_url} | found.keys()
    usual = next(iter(found), "")
    question = f"At which address, or of which provider (groq, mistral, …)? [{usual or 'http://…/v1'}] "
    answer = _matching(ask, question, "|".join([_ADDRESS, *names]), usual)
    if answer not in names:
        return _SERVER.format(about="a chat-completions server", via="chat", url=answer, api_key=_variable(ask, ""))
    known = provider_of(answer)
    url = found.get(answer, known.base_url)
    address = "" if url == known.base_url else f'base_url = "{url}"\n'
    variable = _variable(ask, known.key_variable) if known.key_variable else ""
    pad = " " * max(1, 18 - len(answer))
    return _KNOWN.format(provider=answer, pad=pad, address=address, api_key=variable)


def _variable(ask: Ask, usual: str) -> str:
    """The line that names the variable of the key: a file that may be copied should hold no secret."""
    question = f"Which environment variable holds its key? [{usual or 'none'}] "
    name = _matching(ask, question, "[A-Za-z_][A-Za-z0-9_]*|none", usual or "none")
    return "" if name == "none" else f'api_key = "env:{name}"\n'


def _matching(ask: Ask, question: str, pattern: str, usual: str) -> str:
    """Ask until the answer matches the pattern. No answer is the usual one, if there is one."""
    while True:
        answer = ask(question).strip() or usual
        if re.fullmatch(pattern, answer):
            return answer
        print("  that is not possible; please try again")


def _found() -> dict[str, str]:
    """Servers that listen on this machine, with their addresses."""
    found = {}
    for name, port in LOCAL.items():
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=0.2):
            found[name] = f"http://127.0.0.1:{port}/v1"
    return found
