#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Gives an OCI bundle what the manifest gives the container, as a runtime would.

    image_bundle.py FOLDER BUNDLE NAME [--own-pids] ARGUMENT...
    image_bundle.py FOLDER BUNDLE NAME --manifest FILE URL

Arguments are those of the program, or the manifest's, with the address of a test.
"""

import json
import os
import subprocess
import sys

import yaml

BASE = "packaging/kubernetes/base/daemonset.yaml"
FILTER = "/usr/share/containers/seccomp.json"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def seccomp(capabilities):
    """The runtime's default filter: which calls it allows depends on the capabilities."""
    with open(FILTER, encoding="utf-8") as file:
        profile = json.load(file)
    here = MACHINES[os.uname().machine]
    rules = []
    for rule in profile["syscalls"]:
        only, never = rule.get("includes") or {}, rule.get("excludes") or {}
        if not set(only.get("caps") or ()) <= capabilities or set(never.get("caps") or ()) & capabilities:
            continue
        if here not in (only.get("arches") or [here]) or here in (never.get("arches") or []):
            continue
        rules.append({key: rule[key] for key in ("names", "action", "args", "errnoRet") if rule.get(key)})
    # Runtimes of today allow them to these; so does moby's default filter from 20.10.6 on.
    for name, capability in ("bpf", "CAP_BPF"), ("perf_event_open", "CAP_PERFMON"):
        if capability in capabilities:
            rules.append({"names": [name], "action": "SCMP_ACT_ALLOW"})
    # The last rule for a call counts for crun: no refusal after what is allowed.
    allowed = {name for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    for rule in rules:
        if rule["action"] != "SCMP_ACT_ALLOW":
            rule["names"] = [name for name in rule["names"] if name not in allowed]
    return {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38, "architectures": ["SCMP_ARCH_X86_64"],
            "syscalls": [rule for rule in rules if rule["names"]]}


def main():
    folder, bundle, name, *words = sys.argv[1:]
    path = f"{folder}/{bundle}/config.json"
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    process, linux = config["process"], config["linux"]
    process["terminal"] = False
    config["hostname"] = name
    linux.pop("resources", None)
    linux["namespaces"] = [{"type": kind} for kind in ("mount", "ipc", "uts", "cgroup", "pid")]
    if name == "neighbour":
        process["args"] = words
        process["capabilities"] = {}
    else:
        with open(BASE, encoding="utf-8") as file:
            pod = yaml.safe_load(file)["spec"]["template"]["spec"]
        container = pod["containers"][0]
        security = container["securityContext"]
        if pod["hostPID"] and words[0] != "--own-pids":
            linux["namespaces"].pop()
        words = words[words[0] == "--own-pids":]
        if words[0] == "--manifest":
            values = {"$(NODE_NAME)": "node", "$(PUSH)": words[2]}
            words = [values.get(word, word) for word in container["args"]]
        process["args"] = ["/prof", *words]
        process["env"] = ["PATH=/bin"] + [f"{row['name']}={row['value']}" for row in container["env"] if "value" in row]
        process["user"] = {"uid": security["runAsUser"], "gid": 0}
        process["noNewPrivileges"] = not security["allowPrivilegeEscalation"]
        added = ["CAP_" + word for word in security["capabilities"]["add"]]
        process["capabilities"] = {kind: added for kind in ("bounding", "effective", "permitted")}
        config["root"]["readonly"] = security["readOnlyRootFilesystem"]
        linux["seccomp"] = seccomp(set(added))
        kept = [row for row in config["mounts"] if row["destination"] not in (
            "/sys/kernel/tracing", "/var/lib/prof", "/tmp", "/run")]
        config["mounts"] = kept + [
            {"destination": "/sys/kernel/tracing", "source": "/sys/kernel/tracing", "type": "none", "options": ["bind", "ro"]},
            {"destination": "/var/lib/prof", "source": folder + "/spool", "type": "none", "options": ["bind"]},
            *({"destination": place, "source": "tmpfs", "type": "tmpfs", "options": ["nosuid", "nodev"]}
              for place in ("/tmp", "/run"))]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)


main()
