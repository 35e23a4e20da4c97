#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks manifests of Kubernetes: each field exists in the API, and none gives more than is documented.

    image_manifest.py FILE...

Fields are those of https://kubernetes.io/docs/reference/kubernetes-api, of 1.30 and later.
"""

import sys

import yaml

TEXT, NUMBER, FLAG, MAP = str, int, bool, {"*": str}
SECURITY = {
    "privileged": FLAG, "allowPrivilegeEscalation": FLAG, "readOnlyRootFilesystem": FLAG, "runAsUser": NUMBER,
    "runAsNonRoot": FLAG, "capabilities": {"drop": [TEXT], "add": [TEXT]},
    "seccompProfile": {"type": TEXT}, "appArmorProfile": {"type": TEXT}}
CONTAINER = {
    "name": TEXT, "image": TEXT, "args": [TEXT], "securityContext": SECURITY,
    "env": [{"name": TEXT, "value": TEXT, "valueFrom": {
        "fieldRef": {"fieldPath": TEXT}, "configMapKeyRef": {"name": TEXT, "key": TEXT}}}],
    "resources": {"requests": MAP, "limits": MAP},
    "volumeMounts": [{"name": TEXT, "mountPath": TEXT, "readOnly": FLAG}]}
VOLUME = {
    "name": TEXT, "hostPath": {"path": TEXT, "type": TEXT}, "configMap": {"name": TEXT},
    "secret": {"secretName": TEXT, "optional": FLAG, "defaultMode": NUMBER},
    "emptyDir": {"medium": TEXT, "sizeLimit": TEXT}}
POD = {
    "hostPID": FLAG, "automountServiceAccountToken": FLAG, "terminationGracePeriodSeconds": NUMBER,
    "tolerations": [{"operator": TEXT}], "containers": [CONTAINER], "volumes": [VOLUME]}
KINDS = {
    "ConfigMap": {"apiVersion": TEXT, "kind": TEXT, "metadata": {"name": TEXT}, "data": MAP},
    "DaemonSet": {
        "apiVersion": TEXT, "kind": TEXT, "metadata": {"name": TEXT, "labels": MAP},
        "spec": {
            "selector": {"matchLabels": MAP}, "template": {"metadata": {"labels": MAP}, "spec": POD},
            "updateStrategy": {"type": TEXT, "rollingUpdate": {"maxUnavailable": TEXT}}}}}
CAPABILITIES = {"BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "CHECKPOINT_RESTORE", "SYSLOG", "IPC_LOCK"}
HOST_PATHS = {"/sys/kernel/tracing", "/var/lib/prof"}


def check(value, schema, path):
    if isinstance(schema, dict):
        assert isinstance(value, dict), f"{path}: not a map"
        for key, inner in value.items():
            assert key in schema or "*" in schema, f"{path}.{key}: no such field"
            check(inner, schema.get(key, schema.get("*")), f"{path}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list) and value, f"{path}: not a list"
        for inner in value:
            check(inner, schema[0], path + "[]")
    else:
        # pylint: disable=unidiomatic-typecheck
        assert type(value) is schema, f"{path}: {value!r} is no {schema.__name__}"


def judge(pod):
    assert set(pod) <= set(POD) and pod["hostPID"] and not pod["automountServiceAccountToken"]
    for container in pod["containers"]:
        security = container["securityContext"]
        assert security["privileged"] is security["allowPrivilegeEscalation"] is False
        assert security["readOnlyRootFilesystem"] and security["seccompProfile"]["type"] == "RuntimeDefault"
        assert security["capabilities"]["drop"] == ["ALL"]
        added = set(security["capabilities"].get("add", ()))
        assert added == (CAPABILITIES if container["name"] == "prof" else set()), added
        assert {"cpu", "memory"} == set(container["resources"]["limits"])
        mounted = {row["name"]: row for row in container["volumeMounts"]}
        for volume in pod["volumes"]:
            if "hostPath" in volume and volume["name"] in mounted:
                assert container["name"] == "prof" and volume["hostPath"]["path"] in HOST_PATHS
                assert mounted[volume["name"]].get("readOnly") or volume["name"] == "spool"


for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as stream:
        documents = list(yaml.safe_load_all(stream))
    assert sorted(document["kind"] for document in documents) == ["ConfigMap", "DaemonSet"]
    for document in documents:
        check(document, KINDS[document["kind"]], document["kind"])
    daemon_set = next(document for document in documents if document["kind"] == "DaemonSet")["spec"]
    assert daemon_set["selector"]["matchLabels"].items() <= daemon_set["template"]["metadata"]["labels"].items()
    judge(daemon_set["template"]["spec"])
print(f"manifests: {len(sys.argv) - 1} with known fields, and no more rights than documented")
