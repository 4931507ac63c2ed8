"""The questions of `am-proxy init` about the upstream: a number of a list, a name or an address."""

from collections.abc import Mapping, Sequence
from typing import Final

from ..upstreams.local_servers import FoundServer
from .advice import named
from .new_configuration import ChosenUpstream
from .questions import Ask, WrongAnswerError, ask_until_valid, yes
from .rows import show
from .upstream_choice import (
    DEMO,
    address_of,
    from_address,
    from_provider,
    from_survey,
    is_of_messages,
    nearest,
    needs_address,
    provider_named,
    usual_key,
)

_WELL_KNOWN: Final = "deepseek, gemini, groq, mistral, openai, openrouter, …"
_DIGITS: Final = 2
"""The longest number of the list. A longer one is a port."""
_NO_NAME: Final = frozenset(":/.0123456789")
"""Characters of addresses."""
_NAME_A_VARIABLE: Final = "Please enter the name of a variable, such as MY_API_KEY."


class UpstreamQuestions:
    """Asks which upstream a configuration begins with."""

    def __init__(self, ask: Ask, environ: Mapping[str, str], here: Sequence[FoundServer]) -> None:
        """`here`: the servers that were found on this machine."""
        self._ask = ask
        self._environ = environ
        self._here = here

    def upstream(self) -> ChosenUpstream:
        """Show what there is, and ask."""
        rows = [f"{server.title} at {server.base_url}: {_models(server)}" for server in self._here]
        rows += [f"a provider: {_WELL_KNOWN}", "another server, by its address", "none yet: the embedded model `demo`"]
        print("Which models should AM Proxy serve?")
        for number, row in enumerate(rows, 1):
            show(f"  {number}  ", row, ())
        default = "1" if self._here else ""
        question = f"Number, name or address{f' [{default}]' if default else ''}: "
        how = f"Please enter 1-{len(rows)}, a name or an address."
        return ask_until_valid(self._ask, question, self._any, default=default, how=how)

    def _any(self, answer: str) -> ChosenUpstream:
        if answer.isdecimal() and len(answer) <= _DIGITS:
            return self._numbered(int(answer))
        if answer.lower() == "demo":
            return DEMO
        is_name = provider_named(answer) is not None or not _NO_NAME & set(answer)
        return self._provider(answer) if is_name else self._address(answer)

    def _numbered(self, number: int) -> ChosenUpstream:
        if 0 < number <= len(self._here):
            return from_survey(self._here[number - 1].found)
        match number - len(self._here):
            case 1:
                how = f"Please enter a name, such as {_WELL_KNOWN.partition(',')[0]}."
                return ask_until_valid(self._ask, "Which provider? ", self._provider, how=how)
            case 2:
                how = "Please enter an address, such as http://127.0.0.1:8000/v1."
                return ask_until_valid(self._ask, "At which address? ", self._address, how=how)
            case 3:
                return DEMO
            case _:
                raise WrongAnswerError

    def _provider(self, name: str) -> ChosenUpstream:
        provider = provider_named(name)
        if provider is None:
            raise WrongAnswerError(f'there is no provider "{name[:40]}"{nearest(name, "demo")}')
        is_here = any(server.found.provider == provider.name for server in self._here)
        if needs_address(provider) and not is_here:
            question = f"At which address is {provider.name}? "
            chosen = ask_until_valid(self._ask, question, self._address, how="Please enter its address.")
            return chosen._replace(name=provider.name, provider=provider.name if chosen.via == "chat" else "")
        usual = usual_key(provider)
        chosen = from_provider(provider, self._key(usual) if usual else "", self._environ, self._here)
        if chosen.via != "litellm":
            return chosen
        model = self._ask("Which of its models? [any] ").strip()
        return chosen._replace(only="" if model == "any" else model)

    def _address(self, answer: str) -> ChosenUpstream:
        base_url = address_of(answer)
        by_messages = is_of_messages(answer)
        chosen, found = from_address(base_url, "", self._environ, by_messages=by_messages)
        if found.problem.endswith("API key."):
            chosen, found = from_address(base_url, self._key(""), self._environ, by_messages=by_messages)
        if found.problem:
            show("  ", f"{found.base_url}: {found.problem}", ())
            if not yes(self._ask, "Use this address nevertheless?"):
                raise WrongAnswerError
        return chosen

    def _key(self, usual: str) -> str:
        """Where the key is. The file may be copied, so it should hold no secret."""

        def read(answer: str) -> str:
            name = answer.removeprefix("env:").removeprefix("$")
            if not name.isidentifier() or not name.isascii():
                raise WrongAnswerError("that is no name of a variable; the key itself does not belong in the file")
            return "" if name == "none" else f"env:{name}"

        default = usual.removeprefix("env:") or "none"
        question = f"Which environment variable holds its key? [{default}] "
        key = ask_until_valid(self._ask, question, read, default=default, how=_NAME_A_VARIABLE)
        if key and not self._environ.get(name := key.removeprefix("env:")):
            show("  ", f"{name} is not set yet: set it before you start the server.", ())
        return key


def _models(server: FoundServer) -> str:
    names = [model.name for model in server.found.models]
    return named(names) if names else "no models yet"
