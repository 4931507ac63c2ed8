"""A store that is asked over TLS (`rediss://`): its certificate is trusted, or the log says that it is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.balancers import free_port
from tests.support.certificates import make_certificate
from tests.support.limit_stores import ask, copies, verdict
from tests.support.redis_server import redis_server

pytestmark = pytest.mark.needs("redis-server")
OPTIONS = "--tls-cert-file cert.pem --tls-key-file key.pem --tls-auth-clients no --tls-port"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("redis")


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    """Where a store is asked over TLS, under the name `localhost`."""
    make_certificate(folder)
    port = free_port()
    with redis_server(folder, *OPTIONS.split(), str(port)):
        yield port


async def test_a_store_with_a_trusted_certificate_counts_for_all_copies(
    folder: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "cert.pem"))
    async with copies(f"rediss://localhost:{port}", 2) as stores:
        answers = [await verdict(ask(stores[index % 2], concurrency=3)) for index in range(4)]
    assert answers == ["admitted"] * 3 + ["concurrency"]


@pytest.mark.parametrize(("host", "known"), [("localhost", "none.pem"), ("127.0.0.1", "cert.pem")])
async def test_a_store_with_another_certificate_is_not_used(
    host: str, known: str, folder: Path, port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / known))
    async with copies(f"rediss://{host}:{port}") as (store,):
        assert await verdict(ask(store, concurrency=3)) == "alone"
    causes = [record.__dict__["fields"]["cause"] for record in caplog.records if record.msg == "limit store"]
    assert causes == ["has a certificate that is not trusted"]
