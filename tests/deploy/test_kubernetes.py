"""The manifests: as the API's own schemas want them, safe by the strictest profile, and true to the server."""

import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.settings import Server, load
from tests.support.running import ROOT

VERSIONS = ("1.30.0", kubernetes_validate.latest_version())
MANIFESTS: dict[str, Any] = {
    each["kind"]: each for each in yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "am-proxy.yaml").read_text())
}
POD = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]
ENVIRONMENT = {variable["name"]: variable["value"] for variable in CONTAINER["env"]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", MANIFESTS)
def test_every_manifest_keeps_to_the_schema_of_the_api(kind: str, version: str) -> None:
    kubernetes_validate.validate(MANIFESTS[kind], version, strict=True)


def test_all_of_them_are_about_the_same_pods() -> None:
    labels = {"app.kubernetes.io/name": "am-proxy"}
    assert MANIFESTS["Deployment"]["spec"]["template"]["metadata"]["labels"] == labels
    assert MANIFESTS["Deployment"]["spec"]["selector"] == {"matchLabels": labels}
    assert MANIFESTS["Service"]["spec"]["selector"] == labels


def test_a_pod_may_do_no_more_than_the_restricted_profile_allows() -> None:
    assert POD["securityContext"]["runAsNonRoot"]
    assert POD["securityContext"]["runAsUser"] == 10001
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not POD["automountServiceAccountToken"]
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_pod_has_time_to_drain() -> None:
    drain, grace = float(ENVIRONMENT["AM_DRAIN_DELAY"]), float(ENVIRONMENT["AM_SHUTDOWN_GRACE"])
    assert POD["terminationGracePeriodSeconds"] > drain + grace
    readiness = CONTAINER["readinessProbe"]
    assert readiness["periodSeconds"] * readiness["failureThreshold"] < drain


def test_every_variable_is_a_setting() -> None:
    assert {name.removeprefix("AM_").lower() for name in ENVIRONMENT} <= set(Server.model_fields)


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe", "readinessProbe"])
def test_probes_ask_where_the_server_answers(probe: str) -> None:
    asked = CONTAINER[probe]["httpGet"]
    assert asked["path"] in {"/health/live", "/health/ready"}
    assert asked["port"] in {port["name"] for port in CONTAINER["ports"]}


def test_the_configuration_can_be_read_with_its_secrets(tmp_path: Path) -> None:
    text = MANIFESTS["ConfigMap"]["data"]["am-proxy.toml"]
    for name in ("client-key", "openai-key", "seal-key"):
        (tmp_path / name).write_text("a-secret" * 8)
    mounted = next(mount["mountPath"] for mount in CONTAINER["volumeMounts"] if mount["name"] == "secrets")
    assert text.count(f"file:{mounted}/") == 3
    (tmp_path / "am-proxy.toml").write_text(text.replace(mounted, str(tmp_path)))
    settings = load({}, ENVIRONMENT, tmp_path)
    assert [len(settings.seal.keys), settings.server.metrics] == [1, "open"]
    assert (settings.server.host, len(settings.keys)) == ("0.0.0.0", 1)  # noqa: S104 — inside a pod
    assert tomllib.loads(text)["models"] == {"*": {"upstream": "openai"}}
