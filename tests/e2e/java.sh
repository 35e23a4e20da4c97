#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Methods of Java between native frames, judged by the program's own tree of calls.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

source=$root/tests/workloads/java/Tree.java
run javac -d classes "$source"
is "the program is compiled" "$status" 0
truth() { # PROFILE AT-LEAST [ALLOWED]
	python3 "$root/tests/java_truth.py" "$source" "$1" --at-least "$2" --allowed "${3-4}"
}

record calls 0 -F 1999 --off-cpu 1 --java-signatures -- java -cp classes Tree 4000 2
ok "all chains are paths of the tree, recursion is as deep as it is, lines name what they call" \
	truth calls.json.gz 100
judge "nearly all stacks have all their methods" calls.json.gz calls.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["whole"] > 100, r)
# The target is 0.1 %.
expect(r["torn"] <= 0.01 * r["whole"] + 2, r)
expect(r["nameless"] + r["lost_functions"] <= 2, r)
expect(r["versions"].startswith("Java "), r)
# Stacks whose functions cannot be found in a copy are told from those that run none.
expect(r["early"] >= r["copied"], r)
CODE
judge "only inlined methods are uncertain, and their callers are there" calls.json.gz <<'CODE'
found = 0
for _, _, _, frames in samples():
    for outer, inner in zip(frames, frames[1:]):
        if inner["subcategory"] == "Uncertain":
            found += 1
            # Compiled callers that are method handles are left out; handling() calls by one.
            expect(outer["subcategory"] in ("C1", "C2", "Uncertain") or outer["name"] == "Tree.handling()" or
                   inner["name"].startswith("java.lang.invoke."), [outer, inner])
expect(found > 10, found)
CODE
judge "methods have files and the tiers that run them, and call native code" calls.json.gz <<'CODE'
java = [f for _, _, _, frames in samples() for f in frames if f["category"] == "Java"]
expect({"Interpreter", "C1"} <= {f["subcategory"] for f in java}, {f["subcategory"] for f in java})
# Files and lines are read from the process: on a busy machine some come too late.
own = [f for f in java if f["name"].startswith("Tree.")]
filed = [f for f in own if f["file"] == "Tree.java" and f["line"]]
expect(len(filed) > 0.1 * len(own) > 10, f"{len(filed)} of {len(own)} with a file")
expect(any((f["file"] or "").startswith("java/") for f in java), "the library's have files")
names = {f["name"] for f in java}
expect({"Tree.recurse(int)", "Tree.work(long)"} & names, sorted(n for n in names if "Tree." in n))
expect("call_stub" in names, "the virtual machine's own code has its names")
CODE
# Methods that jump to the target of a handle that is no constant, which languages with dynamic calls use.
cat >Handles.java <<'CODE'
import java.lang.invoke.*;

public class Handles {
	static MethodHandle[] handles = new MethodHandle[64];
	static int target(int n) {
		return n * 31 + 7;
	}
	static int caller(int n) throws Throwable {
		int sum = 0;
		for (int i = 0; i < n; i++)
			sum += (int) handles[i & 63].invokeExact(i);
		return sum;
	}
	public static void main(String[] args) throws Throwable {
		MethodType type = MethodType.methodType(int.class, int.class);
		MethodHandle handle = MethodHandles.lookup().findStatic(Handles.class, "target", type);
		MethodHandle other = MethodHandles.filterReturnValue(handle, MethodHandles.identity(int.class));
		for (int i = 0; i < handles.length; i++)
			handles[i] = i % 2 == 0 ? handle : other;
		long end = System.nanoTime() + 1_500_000_000L;
		while (System.nanoTime() < end)
			caller(20000);
	}
}
CODE
run javac -d classes Handles.java
record handles 0 -F 1999 -- java -cp classes Handles
judge "method handles that jump to their target have their caller" handles.json.gz handles.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["torn"] <= 0.02 * r["whole"] + 2, r)
handled = [[f["name"] for f in frames] for _, _, _, frames in samples()
           if frames and frames[-1]["name"] == "java.lang.invoke (method handles)"]
called = [names for names in handled if "Handles.caller" in names]
expect(len(handled) > 20, len(handled))
# A handle is made before any is called.
expect(len(called) >= 0.9 * len(handled) - 2, [names for names in handled if names not in called][:5])
CODE
# The kernel keeps 15 bytes of a name.
cat >Named.java <<'CODE'
public class Named {
	static void spin(long end) {
		while (System.nanoTime() < end) { }
	}
	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + 2_000_000_000L;
		String[] names = {"http-nio-8080-exec-1", "http-nio-8080-exec-10", "a größer name of threads", "short"};
		Thread[] threads = new Thread[names.length];
		for (int i = 0; i < names.length; i++) {
			threads[i] = new Thread(() -> spin(end), names[i]);
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
	}
}
CODE
run javac -encoding UTF-8 -d classes Named.java
record named 0 -- java -cp classes Named
judge "threads have the names that Java gave them" named.json.gz <<'CODE'
own = {t["name"] for t in p["threads"]}
wanted = {"http-nio-8080-exec-1", "http-nio-8080-exec-10", "a größer name of threads", "short", "C1 CompilerThread0"}
expect(wanted <= own, sorted(own))
CODE
done_testing
