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

# A file that the invoking user may not read does not become readable by the capture.
cp "$workloads/shares" secret
chmod 711 secret
install -d -o nobody -m 700 theirs
# shellcheck disable=SC2016 # for the inner shell
SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) "$PROF" record --as-root --raw theirs/secret.prof -- sh -c '
	./secret 0.5 & for i in $(seq 100); do readlink /proc/$!/exe | grep -q secret && break; done
	rm secret; wait'
"$PROF" convert theirs/secret.prof -o secret.json
judge "unreadable: no names" secret.json <<'CODE'
expect(within("sixty") == 0, within("sixty"))
CODE
done_testing
