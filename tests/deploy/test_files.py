"""The files of `deploy/` are what their readers want, and true to the program."""

import json
import re
import shlex
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.deploy.program import started

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS: list[Any] = list(yaml.safe_load_all((DEPLOY / "kubernetes/am-proxy.yaml").read_text()))
UNIT = DEPLOY / "systemd/am-proxy.service"
GRACE, READING = 6, 15
"""The default of shutdown_grace, and how long clients may read the last events."""


def test_kubernetes_takes_the_manifests_and_gives_a_pod_time_to_end(tmp_path: Path) -> None:
    for manifest in MANIFESTS:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    pod = MANIFESTS[-1]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environ = {variable["name"]: variable["value"] for variable in container["env"]}
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    readiness = container["readinessProbe"]
    assert readiness["periodSeconds"] * readiness["failureThreshold"] < pause
    assert pod["terminationGracePeriodSeconds"] >= pause + float(environ["AM_SHUTDOWN_GRACE"]) + READING
    for name in ("client-key", "openai-key", "seal-key"):
        (tmp_path / name).write_text("a-secret" * 8)
    text = MANIFESTS[0]["data"]["am-proxy.toml"].replace("/run/secrets/am-proxy", str(tmp_path))
    with started(tmp_path, text, environ={**environ, "AM_HOST": "127.0.0.1"}) as server:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = container[probe]["httpGet"]["path"]
            assert httpx.get(f"http://127.0.0.1:{server.port}{path}", timeout=50).status_code == 200


def test_systemd_gives_a_server_time_to_end() -> None:
    found = dict(re.findall(r"^(\w+)=(.*)$", UNIT.read_text(), re.MULTILINE))
    assert int(found["TimeoutStopSec"]) >= GRACE + READING
    assert shlex.split(found["ExecStart"])[1:] == ["serve", "--config", "/etc/am-proxy/am-proxy.toml"]


@pytest.mark.needs("systemd-analyze")
def test_systemd_takes_the_unit_and_rates_it_as_protected(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/am-proxy/bin/am-proxy", shutil.which("true") or ""))
    for command in (["verify"], ["security", "--offline=true", "--threshold=20"]):
        ended = subprocess.run(["systemd-analyze", *command, unit], capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_dashboard_asks_for_what_the_program_tells(tmp_path: Path) -> None:
    """Of a server on which everything has happened once."""
    prices = "input_price = 1\noutput_price = 1\n"
    text = '[upstreams.d]\nvia = "demo"\n[upstreams.down]\nbase_url = "http://127.0.0.1:9"\n'
    text += f'[models.m]\nupstream = "d"\n{prices}[models.none]\nupstreams = ["down", "d"]\n'
    told: dict[str, set[str]] = defaultdict(set)
    with started(tmp_path, text) as server:
        for body in ({"model": "m"}, {"model": "none"}, {"model": "m", "input": 1}):
            httpx.post(f"{server.url}/responses", json={"input": "Hi", **body}, timeout=30)
        for family in text_string_to_metric_families(
            httpx.get(f"http://127.0.0.1:{server.port}/metrics", timeout=50).text
        ):
            told[family.name] |= {"_"}
            for sample in family.samples:
                told[sample.name] |= set(sample.labels)
    panels = json.loads((DEPLOY / "grafana/dashboard.json").read_text())["panels"]
    assert len(panels) == 8
    for query in [target["expr"] for panel in panels for target in panel["targets"]]:
        (name,) = re.findall(r"\b(?:am_proxy|gen_ai_server|gen_ai_client)_\w+", query)
        grouped = {label.strip() for found in re.findall(r"by \(([^)]*)\)", query) for label in found.split(",")}
        assert grouped <= told[name] or (not grouped and name.removesuffix("_total") in told), query
