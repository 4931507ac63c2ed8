"""Kinds of values in a configuration."""

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr


class Table(BaseModel):
    """A table of a configuration. An unknown name is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)


def _referred(value: Any) -> Any:
    """The value itself, or what `env:NAME` or `file:PATH` refers to."""
    if not isinstance(value, str):
        return value
    kind, _, name = value.partition(":")
    if kind == "env":
        if not os.environ.get(name):
            raise ValueError(f"the environment has no variable {name}")
        return os.environ[name]
    if kind == "file":
        try:
            return Path(name).expanduser().read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ValueError(f"{name} cannot be read: {error.strerror}") from None
    return value


def _listed(value: Any) -> Any:
    """TOML has arrays only; environment variables hold words, separated by commas."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return tuple(value) if isinstance(value, list) else value


def _without_slash(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return url.rstrip("/")


Secret = Annotated[SecretStr, BeforeValidator(_referred), Field(strict=False)]
Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Seconds = Annotated[float, Field(gt=0, le=86_400, strict=False)]
Count = Annotated[int, Field(ge=0, strict=False)]
Url = Annotated[str, AfterValidator(_without_slash)]
