#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --net: TCP connections with their peer, their end and the stack that opened them.
# May run beside others.
. "$(dirname "$0")/lib.sh"

cat >connect.py <<'CODE'
import socket, threading

def serve():
    accepted = server.accept()[0]
    accepted.recv(1)
    accepted.close()

def connect_and_wait(to):
    s = socket.create_connection(to)
    s.send(b"x")
    s.recv(1)
    s.close()

def listen(host, family=socket.AF_INET, backlog=8):
    s = socket.socket(family)
    s.bind((host, 0))
    s.listen(backlog)
    return s

def fail(to, timeout):
    try:
        socket.create_connection(to, timeout=timeout)
    except OSError:
        pass

server = listen("127.0.0.1")
threading.Thread(target=serve).start()
connect_and_wait(server.getsockname())
unused = listen("127.0.0.1")
refusing = unused.getsockname()
unused.close()
fail(refusing, 5)
# The queue is full after one: who comes next is not answered.
full = listen("127.0.0.1", backlog=0)
first = socket.create_connection(full.getsockname())
fail(full.getsockname(), 2.5)
wide = listen("::1", socket.AF_INET6)
waiting = socket.create_connection(wide.getsockname()[:2])
print(server.getsockname()[1], refusing[1], full.getsockname()[1], wide.getsockname()[1])
CODE
record some 0 --net -- python3 connect.py
read -r served refused full wide <<<"$out"
judge "each connection is a marker" some.json.gz some.stats "$served" "$refused" "$full" "$wide" <<'CODE'
import json
strings = p["shared"]["stringArray"]
served, refused, full, wide = args[1:]
found = {}
for t in p["threads"]:
    m = t["markers"]
    for i in range(m["length"]):
        if strings[m["name"][i]] != "TCP connection":
            continue
        data = m["data"][i]
        about = {key: strings[data[key]] for key in ("peer", "state", "origin")}
        about["ms"] = m["endTime"][i] - m["startTime"][i]
        about["names"] = {f["name"] for f in check_profile.stack_frames(p, data["cause"]["stack"])} \
            if "cause" in data else set()
        found.setdefault((about["peer"], about["origin"]), []).append({**data, **about})
def one(peer, state, origin="connected"):
    rows = [row for row in found.get((peer, origin), []) if row["state"] == state]
    expect(len(rows) == 1, (peer, state, found))
    return rows[0] if rows else {}
to_server = one(f"127.0.0.1:{served}", "closed by the peer")
expect("connect_and_wait" in to_server["names"], to_server)
expect(0 < to_server["connect"] < 1000 and to_server["ms"] > to_server["connect"], to_server)
accepted = one(f"127.0.0.1:{to_server['port']}", "closed", "accepted")
expect(accepted["port"] == int(served) and not accepted["names"], accepted)
expect("fail" in one(f"127.0.0.1:{refused}", "failed")["names"], found)
silent = one(f"127.0.0.1:{full}", "failed")
expect(silent["retransmissions"] >= 1 and silent["ms"] > 2000, silent)
# Nobody has accepted these when their listener goes.
one(f"127.0.0.1:{full}", "reset")
one(f"[::1]:{wide}", "reset")
stats = json.load(open(args[0]))["net"]
expect(stats["lost"] == 0 and stats["connections"] == sum(map(len, found.values())), (stats, found))
CODE
like "the summary says how many" "$err" 'net: [0-9]+, 0 lost'
ok "sanitized, they stay without the peer" sh -c \
	"'$PROF' convert --sanitize -o clean.json.gz some.json.gz && '$PROF' report --markers --format csv clean.json.gz >clean.csv && grep -q 'State: closed by the peer, Origin: connected' clean.csv && ! grep -q 'Peer' clean.csv"

cat >open.py <<'CODE'
import socket, sys, time
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(1)
client = socket.create_connection(server.getsockname())
accepted = server.accept()[0]
print(server.getsockname()[1], flush=True)
time.sleep(60)
CODE
python3 open.py >open.port &
wait_until test -s open.port
run "$PROF" attach --net -d 0.3 -p $! -o before.json.gz
kill $!
ok "those that were open before are there" sh -c \
	"'$PROF' report --markers --format csv before.json.gz >before.csv && grep -q \"Peer: 127.0.0.1:$(cat open.port), State: open, Origin: open before\" before.csv && test \$(grep -c 'TCP connection' before.csv) = 2"

record none 0 -- true
judge "without the option there are none" none.json.gz none.stats <<'CODE'
import json
expect("TCP connection" not in [s["name"] for s in p["meta"]["markerSchema"]], "a schema")
expect("net" not in json.load(open(args[0])), "statistics")
CODE
done_testing
