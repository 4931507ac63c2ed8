"""What the description of the API allows and promises. The package for it takes long to load: import this late."""

from typing import Any, Final

import schemathesis
from hypothesis.strategies import SearchStrategy
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

PROMISES: Final = (status_code_conformance, content_type_conformance, response_schema_conformance)


def operation(described: Any, method: str, path: str) -> Any:
    """An operation of this description."""
    return schemathesis.openapi.from_dict(described)[path][method]


def requests(described: Any, method: str, path: str) -> SearchStrategy[Any]:
    """Any request that the description allows for an operation."""
    strategy: SearchStrategy[Any] = operation(described, method, path).as_strategy()
    return strategy


def ask(case: Any, url: str, *, may_fail: bool) -> Any:
    """The answer to this request, which must be as promised."""
    checks = [*PROMISES, *(() if may_fail else (not_a_server_error,))]
    return case.call_and_validate(base_url=url, checks=checks, timeout=20)
