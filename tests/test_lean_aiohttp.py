"""Certificates are read late, and checked as if they had been read at once."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.certificates import make_certificate, server_context
from tests.support.running import ROOT, surroundings

ASK = """
import asyncio, os, sys
import app.lean_aiohttp
from aiohttp import ClientConnectorCertificateError, ClientSession
from aiohttp.connector import _SSL_CONTEXT_VERIFIED as verified

async def ask(url):
    async with ClientSession() as session:
        try:
            async with session.get(url) as answer:
                return answer.status
        except ClientConnectorCertificateError:
            return "refused"

before = verified.cert_store_stats()["x509"]
print(before, asyncio.run(ask(sys.argv[1])), type(verified).__name__)
assert "FROZENLIST_NO_EXTENSIONS" not in os.environ and "frozenlist._frozenlist" not in sys.modules
"""
OTHERS = """
import ssl, threading
from ssl import SSLContext, create_default_context

real = create_default_context()
made = []
def load(context, purpose=ssl.Purpose.SERVER_AUTH):
    # at the moment in which aiohttp makes its context, another thread makes one too
    if not made:
        made.append(None)
        other = threading.Thread(target=lambda: made.append(create_default_context()))
        other.start()
        other.join()
    return plain(context, purpose)
plain, SSLContext.load_default_certs = SSLContext.load_default_certs, load
import app.lean_aiohttp
SSLContext.load_default_certs = plain
assert type(made[1]) is SSLContext
assert made[1].cert_store_stats() == real.cert_store_stats() == create_default_context().cert_store_stats()
"""


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    make_certificate(folder)
    return folder


@pytest.fixture(scope="module")
def port(folder: Path) -> Iterator[int]:
    """The port of a TLS server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        server.socket = server_context(folder).wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize(
    ("host", "known", "outcome"),
    [("localhost", "cert.pem", "204"), ("127.0.0.1", "cert.pem", "refused"), ("localhost", "none.pem", "refused")],
)
def test_a_server_is_trusted_if_its_certificate_is(
    host: str, known: str, outcome: str, folder: Path, port: int
) -> None:
    told = _run(ASK, f"https://{host}:{port}/", cafile=folder / known)
    assert told == (0, f"0 {outcome} SSLContext\n", "")


def test_without_tls_no_certificate_is_read(folder: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever).start()
        told = _run(ASK, f"http://127.0.0.1:{server.server_address[1]}/", cafile=folder / "cert.pem")
        server.shutdown()
    assert told == (0, "0 204 _LateContext\n", "")


def test_contexts_that_other_threads_make_meanwhile_read_theirs_at_once(folder: Path) -> None:
    assert _run(OTHERS, cafile=folder / "cert.pem") == (0, "", "")


def _run(program: str, *arguments: str, cafile: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        env=surroundings({"SSL_CERT_FILE": str(cafile), "SSL_CERT_DIR": "/nowhere"}),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
