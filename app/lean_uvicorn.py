"""uvicorn without its command line until it is used: with its libraries it takes 8 ms of a start, and 2 MB."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

_MAIN: Final = "uvicorn.main"


class _LateModule(ModuleType):
    """The module of uvicorn's command line, which is loaded when more of it is used than others import."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "Server":
            from uvicorn.server import Server  # noqa: PLC0415 — while uvicorn is imported

            return Server
        if name in {"main", "run"}:
            return _late(name)
        return getattr(_loaded(), name)


def put_off() -> None:
    """Loads the command line late, if uvicorn is not imported yet."""
    if "uvicorn" not in sys.modules:
        sys.modules[_MAIN] = _LateModule(_MAIN)


def _late(name: str) -> Callable[..., Any]:
    """The function of this name, which is loaded when it is called."""

    def call(*given: Any, **named: Any) -> Any:
        return getattr(_loaded(), name)(*given, **named)

    return call


def _loaded() -> ModuleType:
    if isinstance(sys.modules.get(_MAIN), _LateModule):
        del sys.modules[_MAIN]
    import uvicorn  # noqa: PLC0415 — late, as this file says
    from uvicorn.main import main, run  # noqa: PLC0415 — as above

    uvicorn.main, uvicorn.run = main, run  # the import has set the first to the module
    return sys.modules[_MAIN]
