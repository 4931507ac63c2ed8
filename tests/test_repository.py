"""The files around the code: what they name exists, what they start works, what they promise holds."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from app.cli.parser import parse
from app.options import Can
from app.settings import Model, Seal, Server, Settings, Upstream, load
from app.settings.server import KeyTable
from app.version import VERSION
from tests.support.advisories import found
from tests.support.running import ROOT, run, running, surroundings

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
INSTRUCTIONS = [tuple(line.split(maxsplit=1)) for line in DOCKERFILE.splitlines() if line and line[0] != "#"]


def instructions(name: str) -> list[str]:
    """What stands behind every such instruction of the Dockerfile."""
    return [rest for word, rest in INSTRUCTIONS if word == name]


def environment() -> dict[str, str]:
    """What the image sets."""
    return dict(pair.split("=", 1) for line in instructions("ENV") for pair in shlex.split(line))


def test_every_path_that_the_dockerfile_copies_exists_and_reaches_the_build() -> None:
    copied = [line.split()[0] for line in instructions("COPY") if not line.startswith("--from")]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert copied == ["requirements.lock", "app", "LICENSE"]
    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert [path for path in copied if f"!{path}" not in ignored] == []
    assert "*" in ignored


def test_the_image_runs_as_a_number_that_is_not_root_and_stops_when_asked() -> None:
    user, group = instructions("USER")[-1].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    assert instructions("EXPOSE") == [environment()["AM_PORT"]]


def test_the_image_starts_the_server_only_with_a_key_or_an_explicit_choice(tmp_path: Path) -> None:
    command = [*json.loads(instructions("ENTRYPOINT")[0]), *json.loads(instructions("CMD")[0])]
    assert command == ["am-proxy", "serve"]
    assert parse(command[1:]).command == "serve"
    content = {name: value for name, value in environment().items() if name.startswith("AM_")}
    assert load({}, content | {"AM_KEY": "k"}, tmp_path).server.host == "0.0.0.0"  # noqa: S104 — that is the point
    assert load({}, content | {"AM_INSECURE_NO_AUTH": "true"}, tmp_path).server.insecure_no_auth
    with pytest.raises(Exception, match="others can reach this address, and there is no key"):
        load({}, content, tmp_path)


def test_the_health_check_of_the_image_tells_a_server_that_lives_from_one_that_does_not(tmp_path: Path) -> None:
    check = json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2])
    command = [sys.executable, *check[1:]]
    with running(folder=tmp_path) as server:
        port = server.url.split(":")[2].partition("/")[0]
        environ = surroundings({"AM_PORT": port})
        assert subprocess.run(command, env=environ, check=False).returncode == 0
        server.stop()
    assert subprocess.run(command, env=environ, stderr=subprocess.DEVNULL, check=False).returncode == 1


def test_the_compose_file_joins_an_app_the_proxy_and_a_model_server(tmp_path: Path) -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    services = compose["services"]
    proxy, app = services["am-proxy"], services["app"]
    assert (ROOT / proxy["build"] / "Dockerfile").exists()
    settings = load({}, environment() | proxy["environment"] | {"AM_KEY": "k"}, tmp_path)
    assert [key.name for key in settings.keys] == ["AM_KEY"]
    upstream = re.fullmatch(r"http://([a-z-]+):\d+/v1", str(settings.upstreams["upstream"].base_url))
    assert upstream
    assert set(services) == {"am-proxy", "app", upstream[1]}
    assert app["command"][-1] == f"http://am-proxy:{environment()['AM_PORT']}/v1/responses"
    assert json.loads(app["command"][app["command"].index("--json") + 1])["model"] in services["model"]["command"][0]
    assert {volume.split(":")[0] for volume in services["model"]["volumes"]} == set(compose["volumes"])
    assert all(dependency in services for service in services.values() for dependency in service.get("depends_on", {}))


def test_the_example_configuration_holds_every_setting_and_the_servers_defaults() -> None:
    text = (ROOT / "config.example.toml").read_text()
    environ = dict.fromkeys(re.findall(r'"env:(\w+)"', text), "s" * 32)
    settings = load({"config": str(ROOT / "config.example.toml")}, environ, Path())
    assert settings.server == Server(watch=Settings().watched)  # its default depends on other settings
    result = tomllib.loads(text)
    assert set(result["server"]) == set(Server.model_fields)
    assert set(result["seal"]) == set(Seal.model_fields)
    assert {name for table in result["upstreams"].values() for name in table} == set(Upstream.model_fields)
    assert {name for table in result["models"].values() for name in table} == set(Model.model_fields)
    assert {name for table in result["models"].values() for name in table.get("can", ())} == set(Can.model_fields)
    assert {name for table in result["keys"] for name in table} == set(KeyTable.model_fields) - {"sha256"}
    assert "sha256 = " in text


def pins(name: str) -> dict[str, str]:
    """The packages of a lock file with their versions."""
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", (ROOT / name).read_text(), re.MULTILINE))


def test_the_lock_files_pin_everything_with_hashes_and_name_no_index() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text()
        wanted = re.compile(r"([a-z0-9-]+==\S+( ; [^\\\n]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n)+)+")
        assert wanted.fullmatch(text), f"{name} holds something that is neither a pin nor a hash"
    assert pins("requirements.lock").items() <= pins("requirements-dev.lock").items()


def test_the_lock_file_holds_every_dependency_and_a_sound_litellm() -> None:
    wanted = {re.split(r"[^a-z0-9-]", line, maxsplit=1)[0] for line in PROJECT["project"]["dependencies"]}
    assert wanted - pins("requirements.lock").keys() == set()
    version = tuple(int(part) for part in pins("requirements.lock")["litellm"].split("."))
    assert (1, 106, 2) <= version < (1, 110)


def test_no_lock_file_holds_a_release_that_is_known_to_be_bad() -> None:
    bad = "litellm==1.82.8 \\\nstarlette==0.48.0 \\\nurllib3==2.10.0 \\\n"
    assert found(bad) == [
        "litellm 1.82.8 is malicious",
        "starlette 0.48.0 has a known hole: take 1.3.1 or newer",
    ]
    for name in ("requirements.lock", "requirements-dev.lock"):
        assert found((ROOT / name).read_text()) == []


def test_the_console_command_and_python_m_are_the_same() -> None:
    assert PROJECT["project"]["scripts"] == {"am-proxy": "am_proxy.__main__:main"}
    shown = run("--version", folder=ROOT)
    assert shown.stdout == f"am-proxy {VERSION}\n"
