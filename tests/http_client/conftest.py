"""Servers with TLS, and who trusts them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.http_client.http_connecting import tls_context
from tests.support.certificates import make_certificate


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificate(folder)
    return folder


@pytest.fixture
def trusts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Makes new connections trust what is in this file."""

    def trust(file: Path) -> None:
        tls_context.cache_clear()
        monkeypatch.setenv("SSL_CERT_FILE", str(file))

    yield trust
    tls_context.cache_clear()
