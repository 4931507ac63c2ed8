"""What is known of a provider stands in its file: no other file of the server decides by its name."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from app.providers.lookup import PROVIDERS
from tests.support.running import ROOT

APP: Final = ROOT / "app"
NAMES: Final = sorted(name for provider in PROVIDERS for name in (provider.name, *provider.aliases))
A_NAME: Final = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, NAMES))})(?![\w])")

ALLOWED: Final = {
    "cli/advice.py": "what a person can do about a server of their own",
    "cli/agents/codex.py": "how Codex is installed",
    "cli/agents/opencode.py": "the library of the AI SDK that opencode uses",
    "cli/banner.py": "the import of OpenAI's library in an example",
    "cli/doctor.py": "a command of Ollama that downloads a model",
    "cli/launched_models.py": "what a person can do about a server of their own",
    "cli/parser.py": "an example in the help",
    "cli/upstream_choice.py": "other names by which people know providers",
    "cli/upstream_questions.py": "examples that are shown to a person",
    "key_search.py": "how keys begin, whoever made them",
    "settings/upstream.py": "an example in the message of a mistake",
    "transports/hosts.py": "names of headers of the OpenAI API",
    "transports/websocket_connection.py": "a header of the OpenAI API",
    "upstreams/error_keys.py": "how keys begin, whoever made them",
    "upstreams/http_messages.py": "names of headers of the Messages API",
    "upstreams/litellm_chat.py": "OpenAI's library, which litellm imports late",
    "upstreams/litellm_chunks.py": "OpenAI's library, whose streams are recognised",
    "upstreams/local_servers.py": "the ports on which servers usually listen, and how they are started",
    "upstreams/short_question.py": "names of headers of the Messages API",
    "upstreams/survey.py": "servers that are recognised by what they list and by paths of their own",
}
"""Files in which a name stands all the same, and why."""


def strings(tree: ast.AST) -> Iterator[str]:
    """Every string that is not a docstring."""
    docstrings = {
        id(node.value)
        for each in ast.walk(tree)
        if isinstance(each, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for node in each.body
        if isinstance(node, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def named(file: Path) -> list[str]:
    """The providers that this file names in its strings."""
    return sorted({found[0] for text in strings(ast.parse(file.read_text())) for found in A_NAME.finditer(text)})


def test_no_other_file_names_a_provider() -> None:
    files = [file for file in sorted(APP.rglob("*.py")) if (APP / "providers") not in file.parents]
    found = {str(file.relative_to(APP)): names for file in files if (names := named(file))}
    assert sorted(found) == sorted(ALLOWED), found


def test_each_name_stands_in_one_file() -> None:
    for provider in PROVIDERS:
        content = f'name="{provider.name}"'
        files = [file.name for file in (APP / "providers").glob("*.py") if content in file.read_text()]
        assert len(files) == 1, (provider.name, files)


def test_no_file_is_forgotten() -> None:
    shared = {"__init__", "capabilities", "claude_models", "lookup", "provider", "responses_api"}
    files = {file.stem for file in (APP / "providers").glob("*.py")} - shared
    found = [each for name in files for each in import_module(f"app.providers.{name}").PROVIDERS]
    assert sorted(map(id, found)) == sorted(map(id, PROVIDERS))
