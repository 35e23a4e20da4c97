#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Captures of programs whose files are gone when they are converted, on another machine as it were.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

spools() {
	find . -maxdepth 1 -name '.*.capture'
}

# A root with a program of its own, which lies in memory and dies with its name space.
mkdir jail mounted
cp "$workloads/shares" jail/shares
ldd "$workloads/shares" | grep -o '/[^ ]*' | while read -r library; do
	mkdir -p "jail$(dirname "$library")"
	cp -L "$library" "jail$library"
done
cat >private <<'SHELL'
mount -t tmpfs tmpfs mounted && cp -a jail/. mounted/ && chroot mounted /shares 0.4
SHELL
run "$PROF" record --keep-capture -o contained.json -- unshare --mount sh private
is "in a container: recorded" "$status" 0
rm -r jail
mv "$(spools)" contained.prof

# Converted where neither the files nor the names are.
mkdir elsewhere
cp contained.prof elsewhere
"$PROF" convert contained.prof -o again.json
ok "in a container: the same bytes as the recording's own" cmp contained.json again.json
judge "in a container: names" again.json <<'CODE'
expect(within("sixty") > 100, within("sixty"))
CODE

# Deleted before, while and after it is mapped; and a program that is only in memory.
cp "$workloads/shares" gone
# shellcheck disable=SC2016 # for the inner shell
run "$PROF" record --keep-capture -o deleted.json -- sh -c '
	./gone 0.5 & for i in $(seq 100); do readlink /proc/$!/exe | grep -q gone && break; done
	rm gone; wait'
is "deleted: recorded" "$status" 0
mv "$(spools)" deleted.prof
"$PROF" convert deleted.prof -o again.json
ok "deleted: the same bytes" cmp deleted.json again.json
judge "deleted: names" again.json <<'CODE'
expect(within("sixty") > 100, within("sixty"))
CODE

cat >memory.py <<'CODE'
import os
import sys
fd = os.memfd_create("program")
os.write(fd, open(sys.argv[1], "rb").read())
os.execve(fd, ["shares", "0.3"], os.environ)
CODE
run "$PROF" record --raw memory.prof -- python3 memory.py "$workloads/shares"
is "in memory: recorded" "$status" 0
"$PROF" convert memory.prof -o memory.json
judge "in memory: names" memory.json <<'CODE'
expect(within("sixty") > 100, within("sixty"))
CODE

# A file that the invoking user may not read does not become readable by the capture, nor one in a
# folder that is closed to that user.
nobody=(env SUDO_UID="$(id -u nobody)" SUDO_GID="$(id -g nobody)")
install -d -o nobody -m 700 theirs
mkdir -m 700 closed
cp "$workloads/shares" secret
cp "$workloads/shares" closed/open
chmod 711 secret
mkdir public
cp "$workloads/shares" public/open
chmod 755 closed/open public public/open
# A deleted file of a tmpfs is one like others: /tmp is a tmpfs on many machines.
mkdir fleeting
mount -t tmpfs -o mode=755 tmpfs fleeting
at_exit+=("umount '$tmp/fleeting'")
cp -p public/open fleeting/open
for file in secret closed/open public/open fleeting/open; do
	# shellcheck disable=SC2016 # for the inner shell
	"${nobody[@]}" "$PROF" record --as-root --raw theirs/secret.prof -- sh -c '
		"./$0" 0.5 & for i in $(seq 100); do readlink /proc/$!/exe | grep -q "$0" && break; done
		rm "$0"; wait' $file
	"$PROF" convert theirs/secret.prof -o secret.json
	judge "deleted $file: names if the user can read it" secret.json $file <<'CODE'
expect((within("sixty") > 0) == (args[0] in ("public/open", "fleeting/open")), within("sixty"))
CODE
done
refuses "no spool where the invoking user may not write" 125 'spool-dir closed: cannot create a capture: Permission denied' \
	"${nobody[@]}" "$PROF" record --spool-dir closed -o theirs/x.json -- touch theirs/started
is "nothing is left there" "$(ls -A closed)" ""
done_testing
