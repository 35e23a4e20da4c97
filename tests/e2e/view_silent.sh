#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof view with code and sources on a file system that never answers.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
unset SSH_CONNECTION DISPLAY WAYLAND_DISPLAY BROWSER DEBUGINFOD_URLS

mkdir far
cp "$root/tests/workloads/burn.h" "$root/tests/workloads/inlines.c" far
gcc -g -O2 -I "$PWD/far" -I "$root" -o near "$PWD/far/inlines.c" -lm
record one 0 -- ./near 0.3
silence() {
	rm -f mounted
	python3 "$root/tests/e2e/silent_files.py" "$PWD/far" >mounted &
	silent=$!
	at_exit+=("kill $silent 2>/dev/null" "umount -l $PWD/far 2>/dev/null")
	wait_until test -s mounted
}
view() { # ARGUMENT...
	rm -f url
	"$PROF" view --no-open "$@" >url 2>view.err &
	viewer=$!
	at_exit+=("kill $viewer 2>/dev/null")
	wait_until test -s url
	url=$(head -1 url)
}

view one.json.gz
silence
ok "a source there: an answer that says so; others have theirs meanwhile" python3 - "$url" one.json.gz "$root/tests/e2e" <<'CODE'
import concurrent.futures
import sys
sys.path.insert(0, sys.argv[3])
from view_client import Server, load, symbolicate
server, profile = Server(sys.argv[1]), load(sys.argv[2])
strings, sources = profile["shared"]["stringArray"], profile["shared"]["sources"]
path = next(strings[s] for s in sources["filename"] if strings[s].endswith("/inlines.c"))
lib = next(lib for lib in profile["libs"] if lib["name"] == "near")
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    silent = pool.submit(server.post, "source/v1", {
        "debugName": lib["debugName"], "debugId": lib["breakpadId"], "moduleOffset": "0x1", "file": path})
    # A thread of the server takes several connections: some of these may wait behind that one.
    with concurrent.futures.ThreadPoolExecutor(8) as others:
        work = [others.submit(symbolicate, server, lib, [0x1000 + i]) for i in range(8)]
        concurrent.futures.wait(work, return_when=concurrent.futures.FIRST_COMPLETED)
    assert not silent.done() or "error" in silent.result()
    assert all(w.result()[0] for w in work)
    assert "does not answer" in silent.result()["error"], silent.result()
CODE
kill -INT "$viewer"
wait "$viewer"
is "Ctrl-C ends it, though it still waits" $? 0
kill "$silent"
wait "$silent" 2>/dev/null
umount -l far

cp near far/near
record two 0 -- far/near 0.2
silence
run "$PROF" view --no-open two.json.gz
is "code there: it does not start" "$status" 125
like "and says why" "$err" 'two.json.gz, or a file of its code: a file system does not answer'

done_testing
