"""The component with a store of limits: as the API wants it, safe, and what the replicas and the store expect."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.settings import Secret, load
from tests.deploy.test_kubernetes import CONTAINER, FOLDER, MANIFESTS, VERSIONS
from tests.support.limit_stores import ask, copies, verdict
from tests.support.redis_server import redis_server
from tests.support.running import ROOT

COMPONENT = FOLDER / "limit-store"
KUSTOMIZATION = yaml.safe_load((COMPONENT / "kustomization.yaml").read_text())
DOCUMENTS: list[dict[str, Any]] = [
    document for name in KUSTOMIZATION["resources"] for document in yaml.safe_load_all((COMPONENT / name).read_text())
]
STORE, SERVICE, *POLICIES = DOCUMENTS
POD = STORE["spec"]["template"]["spec"]
(VALKEY,) = POD["containers"]
PATCH = yaml.safe_load((COMPONENT / KUSTOMIZATION["patches"][0]["path"]).read_text())
(PATCHED,) = PATCH["spec"]["template"]["spec"]["containers"]
ENVIRONMENT = {variable["name"]: variable["value"] for variable in PATCHED["env"]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: f"{each['kind']} {each['metadata']['name']}")
def test_every_manifest_keeps_to_the_schema_of_the_api(document: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


def test_every_file_is_part_of_the_component() -> None:
    used = {*KUSTOMIZATION["resources"], KUSTOMIZATION["patches"][0]["path"]}
    assert {file.name for file in COMPONENT.iterdir()} - {"kustomization.yaml"} == used


@pytest.mark.needs("kubectl")
def test_kustomize_builds_it_with_the_base(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "base")
    with (tmp_path / "base" / "kustomization.yaml").open("a") as file:
        file.write("components:\n  - limit-store\n")
    command = ["kubectl", "kustomize", str(tmp_path / "base")]
    built = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert built.count("AM_LIMIT_STORE_PASSWORD") == 1


def test_the_pod_may_do_no_more_than_the_restricted_profile_allows() -> None:
    assert POD["securityContext"]["runAsNonRoot"]
    assert POD["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not POD["automountServiceAccountToken"]
    assert VALKEY["securityContext"] == CONTAINER["securityContext"]


def test_all_of_them_are_about_the_same_pods() -> None:
    store, replicas = {"app.kubernetes.io/name": "am-proxy-limits"}, {"app.kubernetes.io/name": "am-proxy"}
    assert STORE["spec"]["template"]["metadata"]["labels"] == STORE["spec"]["selector"]["matchLabels"] == store
    assert SERVICE["spec"]["selector"] == store
    to_store, from_replicas = POLICIES
    assert to_store["spec"]["podSelector"]["matchLabels"] == store
    assert to_store["spec"]["ingress"][0]["from"] == [{"podSelector": {"matchLabels": replicas}}]
    assert from_replicas["spec"]["podSelector"]["matchLabels"] == replicas
    assert from_replicas["spec"]["egress"][0]["to"] == [{"podSelector": {"matchLabels": store}}]
    assert from_replicas["spec"]["egress"][0]["ports"][0]["port"] == SERVICE["spec"]["ports"][0]["port"]
    deployment = MANIFESTS["deployment.yaml"]
    assert (PATCH["kind"], PATCH["metadata"]["name"]) == (deployment["kind"], deployment["metadata"]["name"])
    assert PATCHED["name"] == CONTAINER["name"]


def test_the_replicas_are_told_where_the_store_is_and_its_password(tmp_path: Path) -> None:
    (key,) = (variable["valueFrom"]["secretKeyRef"] for variable in VALKEY["env"])
    mounted = next(mount["mountPath"] for mount in CONTAINER["volumeMounts"] if mount["name"] == "secrets")
    assert ENVIRONMENT["AM_LIMIT_STORE_PASSWORD"] == f"file:{mounted}/{key['key']}"
    (tmp_path / key["key"]).write_text("a-password\n")
    environ = {name: value.replace(mounted, str(tmp_path)) for name, value in ENVIRONMENT.items()}
    limits = load({}, environ, tmp_path).limits
    assert limits.password == Secret("a-password")
    assert limits.store == f"redis://{SERVICE['metadata']['name']}:{SERVICE['spec']['ports'][0]['port']}"


@pytest.mark.needs("redis-server")
async def test_a_server_with_these_options_is_a_store(tmp_path: Path) -> None:
    options = [text.replace("$(PASSWORD)", "a-password") for text in VALKEY["args"]]
    with redis_server(tmp_path, *options) as redis:
        async with copies(redis.url, password="a-password") as (store,):
            assert await verdict(ask(store, concurrency=1)) == "admitted"


def test_the_image_has_the_library_and_its_hashes_are_locked() -> None:
    assert re.search(r"^redis==", (ROOT / "requirements-dev.lock").read_text(), re.MULTILINE)
    (line,) = re.findall(r"sed -n '(.*)' requirements-dev.lock", (ROOT / "Dockerfile").read_text())
    command = ["sed", "-n", line, "requirements-dev.lock"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"redis==\S+ \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", found)
