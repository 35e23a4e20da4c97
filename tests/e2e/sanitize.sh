#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recorded build that may leave the house: without paths, arguments, user and host, and still
# complete.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

home=$PWD/home/cordelia
project=$PWD/lear-secret
mkdir -p "$project" "$home/kent"
# It also tells of itself: in a marker file, by the name of a thread, and by those of its functions.
cat >"$home/kent/goneril.c" <<'TEXT'
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sum;
__attribute__((noinline)) void regan(void) { for (long i = 0; i < 150000000; i++) sum += i * i; }
__attribute__((noinline)) void CordeliaBegins(void) { regan(); }
static unsigned long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}
int main(void)
{
	char path[64];
	FILE *file;
	snprintf(path, sizeof(path), "marker-%d.txt", getpid());
	file = fopen(path, "w+");
	mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
	setvbuf(file, NULL, _IOLBF, 0);
	fprintf(file, "b %llu 1 duke of burgundyland #gloucesters eyes=gloucester cornwallkey=x\n", now());
	prctl(PR_SET_NAME, "to k@lear.org");
	CordeliaBegins();
	fprintf(file, "e %llu 1\n", now());
	return 0;
}
TEXT
cat >"$project/Makefile" <<TEXT
edgar: goneril.o
	cc -o edgar goneril.o
	./edgar --storm-token=/gloucester/eyes oswaldplain
goneril.o: $home/kent/goneril.c
	cc -g -O1 -DALBANY=\$(ALBANY) -c -o goneril.o $home/kent/goneril.c
TEXT
run "$PROF" record -q --sources --span-frames --counter-interval 10 --wakers --signals --syscalls=0 --jank=5 -o build.json.gz -- make -C "$project" ALBANY=burgundy
is "the build is recorded" "$status" 0

texts() { # FILE: each string of it in a line
	gunzip -c "$1" | python3 -c '
import json, sys
def walk(value):
	if isinstance(value, str):
		print(value.replace("\n", " "))
	elif isinstance(value, dict):
		for key, item in value.items():
			print(key)
			walk(item)
	elif isinstance(value, list):
		for item in value:
			walk(item)
walk(json.load(sys.stdin))'
}
private="lear-secret|lear[.]org|cordelia|storm-token|gloucester|oswaldplain|ALBANY|burgundy|cornwall|$(uname -r)|$PWD"
texts build.json.gz >before.txt
for word in lear-secret cordelia storm-token oswaldplain burgundy gloucesters cornwallkey lear.org; do
	ok "before: $word is in it" grep -q "$word" before.txt
done
run "$PROF" convert --sanitize --check-sanitized build.json.gz -o clean.json.gz
is "exit status" "$status" 0
like "what was taken away is counted" "$err" 'removed: [0-9]+ arguments, [0-9]+ paths.*source file'
texts clean.json.gz >clean.txt
is "no path, argument, user or host" "$(grep -niE "$private" clean.txt)" ""
is "nor that of this machine" "$(grep -nwiF "$(hostname)" clean.txt)" ""
ok "a user's name is hidden within others" grep -qx userBegins clean.txt
ok "spans are there, without what they say" sh -c 'grep -qx span clean.txt && grep -qx marker clean.txt'
is "no path outside of the system's folders" \
	"$(grep -E '^/' clean.txt | grep -vE '^/(usr|lib|lib64|bin|sbin)/')" ""
is "it is valid" "$(python3 "$root/tests/check_profile.py" clean.json.gz)" "clean.json.gz: ok"
top() { # FILE
	"$PROF" report --format json "$1" | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
print(sorted((r["function"].replace("Cordelia", "user"), r["self"]) for r in rows if r["module"] == "edgar"))'
}
ok "the home folder is a tilde" grep -qx '[~]/kent/goneril.c' clean.txt
like "it has the program's functions" "$(top clean.json.gz)" "regan"
is "and their weights" "$(top clean.json.gz)" "$(top build.json.gz)"
cpu_time() { # FILE
	"$PROF" report "$1" | sed -n 's/^\(ran [0-9.]* s\).*/\1/p'
}
is "and their CPU time" "$(cpu_time clean.json.gz)" "$(cpu_time build.json.gz)"
run "$PROF" diff build.json.gz clean.json.gz
is "it can be compared: exit status" "$status" 0
unlike "with the same functions" "$out" 'regan.*\(only'

run "$PROF" convert --check-sanitized build.json.gz -o never.json.gz
is "not sanitized: exit status" "$status" 1
like "says what is in it" "$err" 'found .*: .*(cordelia|lear|storm)'
ok "and writes nothing" test ! -e never.json.gz
run "$PROF" convert --check-sanitized clean.json.gz -o again.json.gz
is "sanitized before: exit status" "$status" 0

# A key of one's own makes names of several profiles comparable.
head -c 16 /dev/urandom >key
hidden() { # FILE
	"$PROF" convert --sanitize='names=^(main|make|cc)$' --sanitize-key key "$1" -o "$2"
	texts "$2" | grep -oxE 'f_[0-9a-f]{16}' | sort -u
}
one=$(hidden build.json.gz one.json.gz 2>/dev/null)
ok "names that do not match are hashed" test -n "$one"
is "regan is none of them" "$(texts one.json.gz | grep -c regan)" 0
ok "main has its name" grep -qx main <(texts one.json.gz)
is "with one key they are the same" "$(hidden build.json.gz two.json.gz 2>/dev/null)" "$one"
head -c 16 /dev/urandom >key
unlike "and with another one others" "$(hidden build.json.gz three.json.gz 2>/dev/null)" "${one%%$'\n'*}"
is "it is valid, too" "$(python3 "$root/tests/check_profile.py" one.json.gz)" "one.json.gz: ok"

run "$PROF" convert --only-thread 'to k*' --time 0..100 --sanitize=all build.json.gz -o all.json.gz
is "everything taken away: exit status" "$status" 0
texts all.json.gz >all.txt
is "no process has its name" "$(grep -cxE 'make|cc|edgar' <(gunzip -c all.json.gz | python3 -c '
import json, sys
for t in json.load(sys.stdin)["threads"]:
	print(t["name"], t["processName"], sep="\n")'))" 0

wrong() { # REGEX ARGUMENT...
	local regex=$1
	shift
	refuses "convert $*" 2 "$regex" "$PROF" convert "$@"
}
wrong "unknown 'x'; must be one of args, env" --sanitize=args,x build.json.gz -o x.json
wrong 'list is empty' --sanitize= build.json.gz -o x.json
wrong 'needs --sanitize=names=RE' --sanitize --sanitize-key key build.json.gz -o x.json
refuses "an expression that is none" 125 'invalid regular expression' \
	"$PROF" convert '--sanitize=names=(' --sanitize-key key build.json.gz -o x.json
: >short
refuses "a key that is too short" 125 'at least 16 bytes' \
	"$PROF" convert --sanitize=names=x --sanitize-key short build.json.gz -o x.json
done_testing
