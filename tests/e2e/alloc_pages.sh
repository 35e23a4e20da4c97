#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --alloc=pages: pages that become resident, of a program whose true figures are known, and of
# runtimes that have their memory from the kernel.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

record known 0 --alloc=pages:64K -- "$workloads/pages"
judge "what is touched is allocated, what is unmapped or dropped is free" known.json.gz known.stats <<'CODE'
import json
from math import sqrt
BYTES = 32 << 20
stats = json.load(open(args[0]))
table = p["threads"][0]["nativeAllocations"]
found, held = {}, {}
for weight, stack, block in zip(table["weight"], table["stack"], table["memoryAddress"]):
    name = next((f["name"] for f in check_profile.stack_frames(p, stack)
                 if f["name"].endswith(("_pages", "_heap", "_nothing"))), "other")
    if weight >= 0:
        found[name] = found.get(name, 0) + weight
        held[block] = name, weight
    else:
        expect(held.pop(block) == (name, -weight), "the stack of the allocation")
kept = {}
for name, weight in held.values():
    kept[name] = kept.get(name, 0) + weight
NAMES = {"keep_pages": True, "unmap_pages": False, "drop_pages": False, "replace_pages": False,
         "shrink_heap": False, "keep_huge_pages": True, "keep_read_pages": True}
for name, is_kept in NAMES.items():
    # 4.5 times the standard deviation.
    off = 4.5 * sqrt(BYTES * 65536)
    expect(abs(found.get(name, 0) - BYTES) < off, (name, found))
    expect(abs(kept.get(name, 0) - is_kept * BYTES) < (off if is_kept else 1), (name, kept))
# Page tables are not the process's, nor is the page of zeroes.
expect(found.get("read_nothing", 0) < BYTES / 10, found)
expect(stats["allocs"]["lost"] == 0 and stats["alloc_mean"] == 65536, stats)
CODE
like "the summary tells who holds it" "$err" 'held at the end: .* that were allocated, .* from (touch|keep_read_pages)'

# They print the anonymous memory that is resident when they have filled their heap. See also go.sh.
cat >fill.js <<'CODE'
function fillHeap() {
	const all = [];
	for (let i = 0; i < 60000; i++)
		all.push(new Array(200).fill(i));
	return all;
}
// Until its functions are known.
setTimeout(() => {
	const all = fillHeap();
	const status = require('fs').readFileSync('/proc/self/status', 'latin1');
	console.log(status.match(/RssAnon:\s+(\d+)/)[1], all.length);
}, 1000);
CODE
cat >Fill.java <<'CODE'
import java.nio.file.*;
import java.util.*;

class Fill {
	static List<byte[]> fillHeap() {
		List<byte[]> all = new ArrayList<>();
		for (int i = 0; i < 3000; i++)
			all.add(new byte[32768]);
		return all;
	}

	public static void main(String[] args) throws Exception {
		// Until its functions are known.
		Thread.sleep(1000);
		List<byte[]> all = fillHeap();
		for (String line : Files.readAllLines(Path.of("/proc/self/status")))
			if (line.startsWith("RssAnon:"))
				System.out.println(line.replaceAll("[^0-9]", "") + " " + all.size());
	}
}
CODE
javac Fill.java
# Threads that collect would copy much of it.
record node 0 --alloc=pages:128K -- node --single-threaded-gc fill.js
judge_heap node 0.6
# All fits in the young generation: a collection after the program has looked would copy it, and touch
# twice the memory.
record java 0 --alloc=pages:128K -- java -Xmx400m -Xmn256m -XX:+UseSerialGC Fill
judge_heap java 0.1
done_testing
