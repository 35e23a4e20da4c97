#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names and categories that only the ELF file or the kernel's list can tell.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# For judge(): functions of the frames in a file, with the number of their samples.
names_code='
import collections
import re
def leaves(lib):
    return collections.Counter(frames[-1]["name"] for _, _, _, frames in samples()
                               if frames and frames[-1]["lib"] == lib)
def kernel_entries():
    """The first kernel frame of each sample that has one, then its last frame."""
    for _, _, _, frames in samples():
        inside = [frame for frame in frames if frame["category"] == "Kernel"]
        if inside:
            yield inside[0], frames[-1]
'
judge_names() { # DESCRIPTION FILE [ARGUMENT...] <CODE
	judge "$@" < <(echo "$names_code" && cat)
}

record calls 0 -F 19999 -- "$workloads/calls"
judge_names "stubs have the name of what they lead to" calls.json.gz <<'CODE'
found = leaves("calls")
expect(found["isalpha@plt"] and found["strlen@plt"], found)
stubs = [f for _, _, _, frames in samples() for f in frames if f["name"].endswith("@plt")]
expect(all(f["symbol"] == f["name"] and f["file"] is None for f in stubs), stubs[:3])
CODE
judge_names "user code by what it is part of" calls.json.gz <<'CODE'
parts = {(f["name"], f["subcategory"]) for _, _, _, frames in samples() for f in frames
         if f["name"] in ("call_often", "isalpha", "isalpha@plt")}
expect(parts == {("call_often", "Program"), ("isalpha@plt", "Program"), ("isalpha", "C library")},
       parts)
CODE

record static 0 -F 19999 -- "$workloads/static/calls"
judge_names "stubs of a static program have the name of the function that chooses" static.json.gz \
	<<<'expect(leaves("calls")["strlen@plt"], leaves("calls"))'

address_of() { # FUNCTION
	nm "$workloads/recursion" | sed -n "s/^0*\([0-9a-f]*\) [tT] $1$/fun_\1/p"
}
strip --strip-all -o stripped "$workloads/recursion"
record stripped 0 -- ./stripped 20
judge_names "stripped: functions by where they start" stripped.json.gz \
	"$(address_of main)" "$(address_of recurse)" "$(address_of bottom)" <<'CODE'
main, recurse, bottom = args
found = [[f["name"] for f in frames if f["lib"] == "stripped"] for _, _, _, frames in samples()]
inside = [names for names in found if bottom in names]
whole = sum(names[-22:] == [main] + 20 * [recurse] + [bottom] for names in inside)
expect(whole > 0.95 * len(inside) > 100, f"{whole} of {len(inside)}, {inside[:1]}, {args}")
own = [f for _, _, _, frames in samples() for f in frames if f["name"] == bottom]
expect(all(f["subcategory"] == "Unnamed" and f["symbol"] == bottom for f in own), own[:1])
CODE
like "stripped: they do not count as named, and are said apart" "$err" \
	'; [0-9]?[0-9]\.[0-9] % of [0-9]+ frames named, [0-9]?[0-9]\.[0-9] % fun_…'
ok "stripped: they are counted" test "$(stat_of stripped fde_frames)" -ge 3

record syscalls 0 -- "$workloads/syscalls"
judge_names "kernel: a system call, and which part of the kernel works" syscalls.json.gz <<'CODE'
found = [(entry, leaf) for entry, leaf in kernel_entries()]
calls = [leaf for entry, leaf in found if entry["subcategory"] == "System call"]
expect(len(calls) > 0.9 * len(found) > 100, f"{len(calls)} of {len(found)}")
parts = collections.Counter(leaf["subcategory"] for leaf in calls)
expect(parts["Files"] > 0.5 * len(calls), parts)
raw = p["shared"]["frameTable"]["category"]
expect(None in raw, "each kernel function has a category of its own")
CODE
record faults 0 -- "$workloads/faults"
judge_names "kernel: page faults, and the memory they ask for" faults.json.gz <<'CODE'
found = [leaf for entry, leaf in kernel_entries() if entry["subcategory"] == "Fault"]
expect(len(found) > 100, len(found))
parts = collections.Counter(leaf["subcategory"] for leaf in found)
expect(parts["Memory"] + parts["Fault"] > 0.8 * len(found) and parts["Memory"] > 20, parts)
CODE

record bpf 0 -- "$workloads/bpf_run"
judge_names "a BPF program that is gone has the name it had" bpf.json.gz <<'CODE'
found = [leaf for _, leaf in kernel_entries() if re.fullmatch("bpf_prog_[0-9a-f]{16}_prof_test",
                                                              leaf["name"])]
expect(len(found) > 200 and all(leaf["subcategory"] == "BPF" for leaf in found), len(found))
CODE

# Hides the kernel's addresses, in a mount namespace, so that nobody else is affected.
sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >hidden
echo 2 >restricted
hide='mount --bind hidden /proc/kallsyms && mount --bind restricted /proc/sys/kernel/kptr_restrict'
run unshare -m bash -c "$hide && \"\$0\" record -q -o hidden.json.gz -- \"\$1\"" "$PROF" \
	"$workloads/syscalls"
is "hidden kernel: it records" "$status" 0
like "hidden kernel: one line says why, and what to do" "$err" \
	'^prof: warning: kernel functions have no names: kernel\.kptr_restrict is 2; run: sudo sysctl kernel\.kptr_restrict=1$'
judge_names "hidden kernel: its frames are there" hidden.json.gz <<'CODE'
found = [entry["name"] for entry, _ in kernel_entries()]
expect(len(found) > 100 and all(name.startswith("0x") for name in found), found[:3])
CODE
run unshare -m bash -c "$hide && \"\$0\" check" "$PROF"
like "hidden kernel: prof check says the same" "$out" \
	'note +kptr_restrict +2: kernel functions have no names; run: sudo sysctl kernel\.kptr_restrict=1'

done_testing
