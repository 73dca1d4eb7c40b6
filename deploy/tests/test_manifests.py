"""Holds the manifests against the schemas of Kubernetes, against each other, and against the program.

The kinds of Strimzi, KEDA and the Prometheus operator have no schema in a package that this machine can install: their
keys were held against the definitions of August 2026 by hand. Their values are held against the program here.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from typing import Any

import kubernetes_validate
import pytest
import yaml
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource
from conftest import DEPLOY, ROOT

FOLDER = DEPLOY / "kubernetes"
STAGE = FOLDER / "liftstream.yaml"
FOREIGN = {"KafkaTopic", "KafkaUser", "ScaledObject", "ServiceMonitor"}
UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

Object = dict[str, Any]


def documents() -> list[tuple[str, Object]]:
    """Every object that kustomize applies, with its file."""
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    unlisted = {f.name for f in FOLDER.glob("*.yaml")} - set(listed) - {"kustomization.yaml", STAGE.name}
    assert not unlisted, f"kustomization.yaml does not list {unlisted}"
    return [(name, d) for name in listed for d in yaml.safe_load_all((FOLDER / name).read_text()) if d]


def one(kind: str) -> Object:
    (found,) = (d for _, d in documents() if d["kind"] == kind)
    return found


def size(text: str) -> int:
    m = re.fullmatch(r"(\d+)(\w*)", text)
    assert m, text
    return int(m[1]) * UNITS[m[2]]


def seconds(text: str) -> int:
    m = re.fullmatch(r"(\d+)s", text)
    assert m, text
    return int(m[1])


def config() -> Object:
    return yaml.safe_load(STAGE.read_text())


def container() -> Object:
    (found,) = one("StatefulSet")["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.parametrize(("file", "document"), documents(), ids=lambda x: x["kind"] if isinstance(x, dict) else x)
def test_schema(file: str, document: Object) -> None:
    if document["kind"] in FOREIGN:
        assert document["metadata"]["name"] and document["spec"]
        return
    for version in ("1.31", kubernetes_validate.latest_version()):
        kubernetes_validate.validate(document, version, strict=True)


def test_a_misspelt_key_is_found() -> None:
    document = one("StatefulSet")
    document["spec"]["template"]["spec"]["terminationGracePeriod"] = 30
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, "1.31", strict=True)


def test_the_configuration_is_good(liftstream: Callable[..., str]) -> None:
    liftstream("lint", STAGE)


def test_the_pod_is_restricted() -> None:
    """The profile 'restricted' of Kubernetes' Pod Security Standards, and a root that nobody writes."""
    pod = one("StatefulSet")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_labels_ports_and_names_agree() -> None:
    stateful, labels = (
        one("StatefulSet"),
        {"app.kubernetes.io/name": "liftstream", "app.kubernetes.io/instance": "shop"},
    )
    template = stateful["spec"]["template"]
    assert template["metadata"]["labels"] == labels
    for selector in (
        stateful["spec"]["selector"]["matchLabels"],
        one("Service")["spec"]["selector"],
        one("PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one("NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        one("ServiceMonitor")["spec"]["selector"]["matchLabels"],
    ):
        assert selector == labels
    assert config()["name"] == labels["app.kubernetes.io/instance"]
    (port,) = container()["ports"]
    assert config()["http"]["listen"] == f"0.0.0.0:{port['containerPort']}"
    for probe in ("livenessProbe", "readinessProbe"):
        assert container()[probe]["httpGet"]["port"] == port["name"]
    assert one("Service")["metadata"]["name"] == stateful["spec"]["serviceName"]
    assert one("ScaledObject")["spec"]["scaleTargetRef"]["name"] == stateful["metadata"]["name"]
    mounts = {m["name"] for m in container()["volumeMounts"]}
    assert mounts == {v["name"] for v in template["spec"]["volumes"]}
    # The files of the configuration lie in mounted folders.
    paths = [m["mountPath"] for m in container()["volumeMounts"]]
    for file in (config()["kafka"]["tls"]["ca"], config()["kafka"]["sasl"]["password_file"]):
        assert str(pathlib.PurePath(file).parent) in paths
    user = one("KafkaUser")["metadata"]["name"]
    assert config()["kafka"]["sasl"]["username"] == user
    assert user in [v["secret"]["secretName"] for v in template["spec"]["volumes"] if "secret" in v]


def test_a_pod_ends_in_its_time() -> None:
    grace = one("StatefulSet")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace >= seconds(config()["shutdown"]["grace"]) + 5


def test_memory_is_enough_for_all_partitions() -> None:
    """The bounds of the configuration, all reached at once by a pod that holds every partition."""
    c = config()
    memory = {"in_flight": "64MiB", "batch": "32MiB", "decoded": "256MiB", **c["memory"]}
    process = sum(size(memory[k]) for k in ("in_flight", "batch", "decoded", "fit"))
    partition = size(memory["tail"]) + size(c["fit"]["reservoir"]["bytes"]) + size(c["labels"]["max_bytes"])
    need = process + c["topics"]["partitions"] * partition
    goal = size(next(e["value"] for e in container()["env"] if e["name"] == "GOMEMLIMIT"))
    limit = size(container()["resources"]["limits"]["memory"])
    assert need <= goal <= 0.8 * limit, f"{need >> 20} MiB of {goal >> 20} of {limit >> 20}"
    said = f"= {need >> 20:,} MiB <= GOMEMLIMIT {goal >> 20:,} <= .8 of the limit {limit >> 20:,}\n"
    assert said in (DEPLOY / "README.md").read_text(), said


def test_no_more_pods_than_partitions() -> None:
    partitions = config()["topics"]["partitions"]
    assert one("ScaledObject")["spec"]["maxReplicaCount"] == partitions
    assert one("StatefulSet")["spec"]["replicas"] <= partitions


def test_rights_are_those_of_run(liftstream: Callable[..., str]) -> None:
    """The KafkaUser has each right that the program lists for 'run', and no other."""
    section = liftstream("topics", "describe", "-c", STAGE, "--acls").split("# run\n")[1].split("#")[0]
    want = set()
    kinds = {"topic": "topic", "group": "group", "transactional-id": "transactionalId"}
    for line in section.splitlines():
        m = re.search(r"--(topic|group|transactional-id) (\S+)( --resource-pattern-type prefixed)?$", line)
        assert m, line
        pattern = "prefix" if m[3] else "literal"
        want |= {(kinds[m[1]], m[2], pattern, o) for o in re.findall(r"--operation (\w+)", line)}
    got = {
        (a["resource"]["type"], a["resource"]["name"], a["resource"]["patternType"], o)
        for a in one("KafkaUser")["spec"]["authorization"]["acls"]
        for o in a["operations"]
    }
    assert got == want


def test_topics_are_as_the_program_makes_them(
    liftstream: Callable[..., str], broker: str, tmp_path: pathlib.Path
) -> None:
    """Has the program make its topics, and asks the broker for the settings that are not its own."""
    c = config()
    c["kafka"] = {"brokers": [broker]}
    c["topics"]["replication"] = 1
    file = tmp_path / "stage.yaml"
    file.write_text(yaml.safe_dump(c))
    liftstream("topics", "create", "-c", file)
    admin = AdminClient({"bootstrap.servers": broker})
    made = {}
    for name, topic in admin.list_topics(timeout=60).topics.items():
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        entries = admin.describe_configs([resource])[resource].result(60).values()
        set_here = {e.name: e.value for e in entries if e.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}
        made[name] = (len(topic.partitions), set_here)
    want = {
        d["metadata"]["name"]: (d["spec"]["partitions"], {k: str(v) for k, v in d["spec"]["config"].items()})
        for _, d in documents()
        if d["kind"] == "KafkaTopic"
    }
    assert made == want
    for _, d in documents():
        if d["kind"] == "KafkaTopic":
            assert d["spec"]["replicas"] == config()["topics"]["replication"]


def test_the_metric_of_the_scaling_exists() -> None:
    (trigger,) = one("ScaledObject")["spec"]["triggers"]
    (name,) = re.findall(r"liftstream_(\w+)", trigger["metadata"]["query"].replace('job="liftstream"', ""))
    assert f'"{name}"' in (ROOT / "stream/metrics.go").read_text()
