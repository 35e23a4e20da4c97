#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose structures pretend to be Lua's, and lie.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

judge_lies "$workloads/false_lua" Lua /honest.lua 1200 <<'CODE'
r = stats["runtimes"]
fates = sum(r[key] for key in ("whole", "idle", "threadless", "copied", "torn", "cut", "unplaced"))
expect(fates >= r["samples"] > 100, r)
if "long" in args[0]:
    expect(r["functions"] > 900 and r["cut"] > 100, r)
if "cycle" in args[0]:
    expect(r["cut"] > 100, r)
CODE
done_testing
