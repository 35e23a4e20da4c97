#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Bun: a program without V8 states a version of V8, and has it as a text in its file.
#
# Expected: process.versions.v8 is there in programs that contain V8, and a version of V8 in a file,
#           in V8's own form, tells that the file contains it.
# Seen:     Bun runs JavaScriptCore (process.versions.webkit), but states the version of V8 of the
#           node whose interface it implements, "14.6.202.34-node.20", and its file has that text. A
#           debugger or profiler that finds engines that way takes Bun for V8. The help of V8's
#           options, as "allow natives syntax", is in programs with V8, also stripped ones as Deno,
#           but not in Bun.
# Versions: npm's @oven/bun-linux-x64 1.4.5 and @deno/linux-x64-glibc 2.9.6, on x86-64.
# Date:     2026-11-29
set -euo pipefail
shopt -s inherit_errexit

described="bun: v8 14.6.202.34-node.20, webkit d6375c72affe, its text in the file: 1, V8's options: 0
deno: its text in the file: 1, V8's options: 1"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

npm install --loglevel=error --ignore-scripts --no-audit --no-fund --prefix "$scratch" \
	@oven/bun-linux-x64@1.4.5 @deno/linux-x64-glibc@2.9.6 >&2
bun=$scratch/node_modules/@oven/bun-linux-x64/bin/bun
deno=$scratch/node_modules/@deno/linux-x64-glibc/deno
chmod +x "$bun"

lines_with() { # TEXT FILE
	grep -c -a -F -m 1 "$1" "$2" || true
}

seen=$(
	# shellcheck disable=SC2016 # a script of Bun
	"$bun" -e 'const v = process.versions;
		process.stdout.write(`bun: v8 ${v.v8}, webkit ${v.webkit.slice(0, 12)}, `)'
	echo "its text in the file: $(lines_with 14.6.202.34-node.20 "$bun")," \
		"V8's options: $(lines_with 'allow natives syntax' "$bun")"
	echo "deno: its text in the file: $(lines_with 15.0.245.2-rusty "$deno")," \
		"V8's options: $(lines_with 'allow natives syntax' "$deno")"
)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
