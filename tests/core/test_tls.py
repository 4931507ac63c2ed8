"""A model server behind TLS: its certificate is checked, and its answer streams."""

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.core.servers import says, upstream
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import Program


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


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_certificate_of_a_model_server_is_checked(trusted: bool, tmp_path: Path) -> None:
    tls = certificate(tmp_path / "both.pem")
    environ = {"SSL_CERT_FILE": str(tmp_path / "both.pem")} if trusted else {}
    async with upstream(says("Hel", "lo"), tls=tls) as up:
        settings = Settings(upstreams={"u": Upstream(base_url=up.url, retries=0)}, models={"m": Model(upstream="u")})
        program = await asyncio.to_thread(Program, settings, environ, folder=tmp_path)
        try:
            async with httpx.AsyncClient(base_url=program.url, timeout=20) as client:
                for _ in range(3):
                    body = {"model": "m", "input": "Hi", "stream": True}
                    answer = await client.post("/v1/responses", json=body)
                    assert answer.status_code == (200 if trusted else 502)
                    assert ("response.completed" in answer.text) is trusted
                    assert ("no secure connection" in answer.text) is not trusted
        finally:
            program.kill()
