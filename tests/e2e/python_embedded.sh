#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Python in a C program: as a library, as a part of the program, and stripped of its symbols.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
# The one that the development files belong to.
python=/usr/bin/python3
variable() { # NAME
	"$python" -c 'import sys, sysconfig; print(sysconfig.get_config_var(sys.argv[1]))' "$1"
}
version=$(variable LDVERSION)
read -ra libraries <<<"$(variable MODLIBS) $(variable LIBS)"
build() { # OUTPUT ARGUMENT...
	gcc -O2 -g -I "$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')" \
		-o "$1" "$root/tests/workloads/python/embedding.c" "${@:2}"
}
ok "a program with a library" build shared "-lpython$version"
# Debian's packages lack archives of some versions' modules, which nobody calls here.
read -ra libraries <<<"$(printf '%s\n' "${libraries[@]}" | grep -v '^Modules/' | tr '\n' ' ')"
ok "a program that contains Python" build static -no-pie -Wl,--unresolved-symbols=ignore-all \
	"$(variable LIBPL)/libpython$version.a" "${libraries[@]}" -lpthread -lutil
strip -o stripped static

for name in shared static; do
	# Most of the beginning passes before the kernel knows the interpreter.
	record "$name" 0 -- "./$name" 1.5
	judge "$name: functions lie between those of C" "$name.json.gz" <<'CODE'
import collections
calls = ["call_outer", "outer", "key", "twice", "inner"]
callers = collections.Counter()
for _, _, weight, frames in samples():
    names = [f["name"] for f in frames]
    if "inner" not in names:
        continue
    found = [name for name in names if name in calls]
    expect(found == calls, names)
    python = {f["name"] for f in frames if f["category"] == "Python"}
    expect(python == {"outer", "key", "inner"}, frames)
    callers["run_thread" if "run_thread" in names else
            "run_second" if "run_second" in names else "main"] += weight
for caller in ("main", "run_thread", "run_second"):
    expect(callers[caller] > 20, callers)
CODE
done

ok "a program without call frame information" build bare "-lpython$version" \
	-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions -fomit-frame-pointer -g0
record bare 0 --unwind cfi -- ./bare 1
judge "which has all functions of Python" bare.json.gz <<'CODE'
found = 0
for _, _, weight, frames in samples():
    names = [f["name"] for f in frames if f["category"] == "Python"]
    if "inner" in names:
        expect(names == ["outer", "key", "inner"], frames)
        found += weight
expect(found > 100, found)
CODE

case $version in
3.1[0-2])
	record stripped 0 -- ./stripped 0.3
	like "a stripped one: what is missing is said" "$err" \
		"only native frames where it runs: $tmp/stripped: Python 3.10, 3.11 or 3.12 without symbols"
	;;
*)
	# Later ones tell their layout without symbols.
	record stripped 0 -- ./stripped 1
	judge "a stripped one has functions" stripped.json.gz <<'CODE'
expect(within("inner") > 50, within("inner"))
CODE
	;;
esac
done_testing
