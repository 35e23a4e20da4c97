#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files that cannot be opened when they are first mapped, because their process has ended: those of
# another root, as containers, builds of packages and jobs of CI have it. Later processes lead to
# them.
. "$(dirname "$0")/lib.sh"

# A root whose files have build ids of their own, so that no file of this machine stands for them.
jail=$tmp/jail
mkdir -p "$jail/old" "$jail/proc" "$jail/dev" mounted merged
: >"$jail/dev/null"
cat >brand.py <<'CODE'
import struct
import sys
for number, path in enumerate(sys.argv[1:], 0x51):
    data = open(path, "rb").read()
    at = data.index(struct.pack("<III", 4, 20, 3) + b"GNU\0") + 16
    open(path, "wb").write(data[:at] + bytes([number] * 20) + data[at + 20:])
CODE
for program in "$workloads/shares" true umount sh; do
	program=$(type -P "$program")
	cp -L "$program" "$jail/"
	ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$jail$(dirname "$library")"
		cp -L "$library" "$jail$library"
	done
done
find jail -type f -size +0 -exec python3 brand.py {} +

# The recorder stands still while the first programs of the root come and go.
cat >enter <<'CODE'
recorder=${RECORDER:-$PPID}
kill -STOP "$recorder"
trap 'kill -CONT "$recorder"' EXIT
until grep -q '^State:[[:space:]]*T' "/proc/$recorder/status"; do :; done
in_root() {
	mount -t proc proc proc && pivot_root . old && /true && /umount -l /old &&
		kill -CONT "$recorder" && exec /shares 0.4
}
case $1 in
chroot)
	chroot jail /true
	kill -CONT "$recorder"
	exec chroot jail /shares 0.4
	;;
pivot) mount --bind jail jail && cd jail && in_root ;;
tmpfs) mount -t tmpfs tmpfs mounted && cp -a jail/. mounted/ && cd mounted && in_root ;;
overlay)
	mount -t tmpfs tmpfs mounted && mkdir mounted/upper mounted/work &&
		mount -t overlay overlay -o lowerdir=jail,upperdir=mounted/upper,workdir=mounted/work merged &&
		cd merged && in_root
	;;
unmounted)
	mount -t tmpfs tmpfs mounted && cp -a jail/. mounted/
	chroot mounted /true
	chroot mounted /shares 0.4 &
	until readlink /proc/$!/exe | grep -q shares; do :; done
	umount -l mounted
	kill -CONT "$recorder"
	wait
	;;
inherited)
	chroot jail /sh -c '(i=0; while [ $((i += 1)) -lt 200000 ]; do :; done; : >/done) &'
	kill -CONT "$recorder"
	until [ -e jail/done ]; do sleep 0.02; done
	;;
earlier)
	chroot jail /shares 0.3
	kill -CONT "$recorder"
	exec chroot jail /shares 0.3
	;;
never)
	chroot jail /shares 0.3
	kill -CONT "$recorder"
	;;
esac
CODE

# It was the jail's program, in sixty() and others, below main() and libc's functions.
known() { # NAME
	judge "$1: whole stacks, with names" "$1.json.gz" <<'CODE'
stacks = [[f["name"] for f in frames] for _, _, _, frames in samples()]
busy = [names for names in stacks if {"sixty", "thirty", "ten"} & set(names)]
expect(len(busy) > 200, f"{len(busy)} of {len(stacks)} samples")
whole = [names for names in busy if "main" in names and "__libc_start_main" in " ".join(names)]
expect(len(whole) >= 0.99 * len(busy), f"{len(whole)} of {len(busy)} stacks are whole")
CODE
}
sound() { # NAME
	ok "$1: nothing is guessed" python3 - "$1.stats" <<'CODE'
import json
import sys
stats = json.load(open(sys.argv[1]))
counts = {key: stats[key] for key in ("whole", "truncated", "broken", "unknown", "guessed")}
of = sum(counts.values()) - counts["guessed"]
sys.exit(None if counts["whole"] >= 0.99 * of and counts["guessed"] <= 0.01 * of else str(counts))
CODE
}

record chroot 0 -- sh enter chroot
known chroot
sound chroot
unlike "chroot: all files were opened" "$err" 'could not open'
for way in pivot tmpfs overlay unmounted; do
	record "$way" 0 -- unshare --mount --propagation private sh enter "$way"
	known "$way"
	sound "$way"
done

# The first mapper's child has the mappings, and maps nothing itself.
record inherited 0 -- sh enter inherited
sound inherited
unlike "inherited: all files were opened" "$err" 'could not open'

# Samples of the time before are named, too.
both_named() { # NAME
	judge "$1: samples of both processes have names" "$1.json.gz" <<'CODE'
found = [t for t in p["threads"] if t["name"] == "shares"]
expect(len(found) == 2, check_profile.thread_names(p))
for t in found:
    expect(within("sixty", t) > 100, (t["pid"], within("sixty", t)))
CODE
}
record earlier 0 -- sh enter earlier
both_named earlier

# The process is attached to before it enters the root.
cat >waiting <<'CODE'
until [ -e begun ]; do sleep 0.02; done
RECORDER=$(cat begun) exec sh enter chroot
CODE
start sh waiting
begin attached attach -p "$started"
echo "$recorder" >begun.new && mv begun.new begun
finish attached 0
known attached

begin machine record -a
RECORDER=$recorder sh enter chroot
kill -INT "$recorder"
finish machine 0
known machine

# A capture holds what was opened late.
run "$PROF" record --raw raw.capture -- sh enter earlier
mv jail away
run "$PROF" convert raw.capture -o raw.json.gz
both_named raw
mv away jail

# Nothing led to the files again.
record never 0 -- sh enter never
reason='the process that mapped it had ended; 9[0-9.]+ % of the samples go through it, without unwind tables'
like "never: the summary says so" "$err" "could not open /shares: $reason"
like "never: so does the profile" "$("$PROF" info never.json.gz)" "Not opened: /shares +$reason"
run "$PROF" record --raw raw.capture -- sh enter never
run "$PROF" convert raw.capture -o raw.json.gz
like "never: so does a converted capture" "$("$PROF" info raw.json.gz)" "Not opened: /shares +$reason"
record never-fp 0 --unwind fp -- sh enter never
like "never: nothing is said of tables that are not used" "$err" \
	'could not open /shares: the process that mapped it had ended; [0-9.]+ % of the samples go through it'$'\n'

done_testing
