#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Arguments of executed programs: in the markers of execs, in the titles of rows, and in the
# profile's subject. Secrets are masked, and --no-arguments leaves everything out.
# May run beside others.
. "$(dirname "$0")/lib.sh"

mkdir -p deep/er/src
folder=$(cd -P deep/er && pwd)
for name in parse scan; do
	echo "int $name(int x) { return x + 1; }" >"deep/er/src/$name.c"
done
# No ccache: the test must know which programs run, with which arguments.
cat >deep/er/Makefile <<'MAKEFILE'
all: parse.o scan.o
%.o: src/%.c
	PATH=/usr/bin:/bin gcc -O2 -MMD -c -o $@ $<
MAKEFILE
record make 0 -- make -j2 -C deep/er
judge "execs have their arguments and their folder, processes of one name what tells them apart" \
	make.json.gz "$folder" "$tmp" <<'CODE'
strings = p["shared"]["stringArray"]
execs = [{key: strings[data[key]] for key in ("program", "arguments", "folder") if key in data}
         for t in p["threads"] for data in t["markers"]["data"] if data["type"] == "exec"]
of = lambda program: [e for e in execs if e["program"] == program]
expect([e["arguments"] for e in of("make")] == ["-j2 -C deep/er"], execs)
expect([e["folder"] for e in of("make")] == [args[1]], execs)
expect({e["arguments"] for e in of("gcc")} ==
       {f"-O2 -MMD -c -o {n}.o src/{n}.c" for n in ("parse", "scan")}, execs)
expect({e["folder"] for e in of("cc1") + of("gcc") + of("as")} == {args[0]}, execs)
titles = {(t["name"], t["processName"]) for t in p["threads"]}
wanted = {"cc1 parse.c", "cc1 scan.c", "gcc parse.o", "gcc scan.o", "as parse.o", "as scan.o"}
expect(wanted | {"make"} <= {name for name, _ in titles}, titles)
expect(all(name == process for name, process in titles), titles)
expect(p["meta"]["arguments"] == "make -j2 -C deep/er", p["meta"]["arguments"])
CODE

# A separate command line for each way of writing one; the loop is in one process.
cat >secrets.sh <<'SCRIPT'
/bin/true --password=HIDDEN1 --api-key HIDDEN2 https://me:HIDDEN3@host/ ok-1
PGPASSWORD=HIDDEN0 env TOKEN=HIDDEN4 /bin/true "two words" $'a\nb' $'\xff' ok-2
SCRIPT
record secrets 0 -- bash -c '. ./secrets.sh; exit 0' --token HIDDEN5
python3 - <<'PYTHON' >plain.json
import gzip, sys
sys.stdout.buffer.write(gzip.open("secrets.json.gz").read())
PYTHON
unlike "no secret is in the file, wherever" "$(<plain.json)" 'HIDDEN'
unlike "nor in what is said" "$err" 'HIDDEN'
judge "what surrounds them is, and other bytes than text are shown cleanly" secrets.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
lines = {strings[data["arguments"]] for t in p["threads"] for data in t["markers"]["data"]
         if data["type"] == "exec" and "arguments" in data}
expect("'--password=***' --api-key '***' 'https://me:***@host/' ok-1" in lines, lines)
expect("'two words' $'a\\nb' '\ufffd' ok-2" in lines, lines)
expect("--token '***'" in p["meta"]["arguments"], p["meta"]["arguments"])
CODE

# A server whose processes say what they do by titles in place of their arguments. Titles are read
# every half a second, and each stays for two seconds or more.
cat >titled.c <<'CODE'
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void run(char *room, size_t size, const char *title)
{
	struct timespec begin, now;
	memset(room, 0, size);
	snprintf(room, size, "%s", title);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec - begin.tv_sec < 3);
}
int main(int argc, char **argv)
{
	size_t size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);
	if (fork()) {
		run(argv[0], size, "shop: master");
		return wait(NULL) < 0;
	}
	run(argv[0], size, "shop: app SELECT");
	run(argv[0], size, "shop: app UPDATE waiting");
	return 0;
}
CODE
gcc -O1 -o titled titled.c
record titled 0 -- ./titled --a-long-argument-that-leaves-room-for-titles
judge "titles are read as they change, and the last one names the process" titled.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
titles = {t["name"]: [strings[data["title"]] for data in t["markers"]["data"] if data["type"] == "title"]
          for t in p["threads"]}
expect(titles == {"titled master": ["shop: master"],
                  "titled app UPDATE waiting": ["shop: app SELECT", "shop: app UPDATE waiting"]}, titles)
CODE
record untitled 0 --no-arguments -- ./titled --a-long-argument-that-leaves-room-for-titles
judge "--no-arguments reads no titles" untitled.json.gz <<'CODE'
expect({data["type"] for t in p["threads"] for data in t["markers"]["data"]} & {"title"} == set(), p["threads"])
CODE

# More than a record holds.
record long 0 -- /bin/true "$(printf 'x%.0s' {1..5000})" last
judge "long ones are cut, and that is seen" long.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
line, = [strings[data["arguments"]] for t in p["threads"] for data in t["markers"]["data"]
         if data["type"] == "exec"]
expect(line.endswith("x…'") and "last" not in line and 500 < len(line) <= 1024, line)
CODE

record none 0 --no-arguments -- make -B -j2 -C deep/er
judge "--no-arguments: only names" none.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
execs = [data for t in p["threads"] for data in t["markers"]["data"] if data["type"] == "exec"]
expect(len(execs) >= 5, execs)
expect(all(set(data) == {"type", "program"} for data in execs), execs)
expect({t["name"] for t in p["threads"]} == {"make", "gcc", "cc1", "as", "sh"} &
       {t["name"] for t in p["threads"]}, [t["name"] for t in p["threads"]])
expect(p["meta"]["arguments"] == "make", p["meta"]["arguments"])
expect(not [s for s in strings if "parse.c" in s or "-MMD" in s], "arguments among the strings")
CODE

start "$workloads/spin" die 100 >/dev/null
first=$started
start "$workloads/spin" die 101 >/dev/null
second=$started
wait_until grep -qx spin "/proc/$first/comm"
wait_until grep -qx spin "/proc/$second/comm"
begin both attach -d 0.3 -p "$first,$second"
finish both 0
judge "attach: the arguments of the processes, not prof's" both.json.gz "$workloads" <<'CODE'
expect(p["meta"]["arguments"] == f"{args[0]}/spin die 100, {args[0]}/spin die 101",
       p["meta"]["arguments"])
names = sorted(t["name"] for t in p["threads"])
expect(names == ["spin 100", "spin 101"], names)
CODE
begin quiet attach -d 0.3 --no-arguments -p "$first"
finish quiet 0
judge "attach --no-arguments: the name" quiet.json.gz <<'CODE'
expect(p["meta"]["arguments"] == "spin", p["meta"]["arguments"])
CODE
record all 0 -a --no-symbols -d 0.3 --comm 'spin,other' --uid 0
judge "-a: what of the machine was recorded" all.json.gz <<'CODE'
expect(p["meta"]["arguments"] == "all processes with --comm spin,other --uid 0",
       p["meta"]["arguments"])
expect({"spin 100", "spin 101"} <= {t["name"] for t in p["threads"]}, p["meta"])
CODE

kill "$first" "$second"

# Threads with equal names.
record threads 0 -- "$(python3 -c 'import sys; print(sys.executable)')" -c '
import threading, time
def burn():
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
threads = [threading.Thread(target=burn, name="burn") for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]'
judge "threads of one name are told apart by their numbers" threads.json.gz <<'CODE'
main, = [t for t in p["threads"] if t["isMainThread"]]
others = [t for t in p["threads"] if not t["isMainThread"]]
expect(len(others) == 3, others)
expect(all(t["name"].endswith(f" {t['tid']}") for t in others), [t["name"] for t in others])
expect(" " not in main["name"], main["name"])
CODE
done_testing
