"""A model server behind TLS: its certificate is checked, its answer streams, and who leaves frees it."""

import asyncio
import datetime
import ipaddress
import json
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.core.servers import chunk, says, until, upstream


def certificate(path: Path) -> ssl.SSLContext:
    """Writes a certificate for this machine; the context of a server that has it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a model server")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + datetime.timedelta(1))
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = made.add_extension(here, critical=False).sign(key, hashes.SHA256())
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*form))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


@asynccontextmanager
async def program(path: Path, url: str, **environ: str) -> AsyncIterator[int]:
    """The program as a process of its own, before this model server; its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    file = path / "am-proxy.toml"
    file.write_text(f'[upstreams.u]\nbase_url = "{url}"\nretries = 0\n[models."*"]\nupstream = "u"\n')
    command = [sys.executable, "-m", "app", "serve", "--config", str(file), "--port", str(port)]
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, **environ})
    try:
        while True:
            try:
                (await asyncio.open_connection("127.0.0.1", port))[1].close()
                break
            except ConnectionError:
                await asyncio.sleep(0.02)
        yield port
    finally:
        process.terminate()
        await process.wait()


async def ask(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"model": "m", "input": "Hi", "stream": True}).encode()
    writer.write(b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n")
    writer.write(b"content-type: application/json\r\n")
    writer.write(b"content-length: %d\r\n\r\n%b" % (len(body), body))
    return reader, writer


@pytest.mark.parametrize("trusted", [True, False])
def test_the_certificate_of_a_model_server_is_checked(trusted: bool, tmp_path: Path) -> None:
    async def test() -> None:
        tls = certificate(tmp_path / "both.pem")
        environ = {"SSL_CERT_FILE": str(tmp_path / "both.pem")} if trusted else {}
        async with upstream(says("Hel", "lo"), tls=tls) as up, program(tmp_path, up.url, **environ) as port:
            for _ in range(3):
                reader, writer = await ask(port)
                got = await reader.read()
                writer.close()
                assert got.startswith(b"HTTP/1.1 200 " if trusted else b"HTTP/1.1 502 ")
                assert (b"response.completed" in got) is trusted
                assert (b"no secure connection" in got) is not trusted

    asyncio.run(test())


def test_who_leaves_frees_a_model_server_behind_tls(tmp_path: Path) -> None:
    async def test() -> None:
        tls = certificate(tmp_path / "both.pem")
        environ = {"SSL_CERT_FILE": str(tmp_path / "both.pem")}
        async with upstream([chunk("a"), 30.0], tls=tls) as up, program(tmp_path, up.url, **environ) as port:
            reader, writer = await ask(port)
            await reader.readuntil(b"output_text.delta")
            assert up.open == 1
            writer.transport.abort()
            await until(lambda: up.open == 0, 2)

    asyncio.run(test())
