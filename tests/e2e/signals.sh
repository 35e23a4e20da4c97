#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# SIGINT and SIGTERM: sent to prof alone, from a terminal, inherited as ignored.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
# Background jobs of a script ignore SIGINT, unless it has job control.
set -m
mkfifo ready

# Starts a recording of `spin ARGUMENTS`, and returns when spin works; $recorder is prof. The tests
# themselves may be run by a background job.
start() { # NAME ARGUMENTS
	env --default-signal=INT "$PROF" record -o "$1.json.gz" --stats "$1.stats" -- \
		sh -c "echo \$\$ >$1.pid; exec '$workloads/spin' $2" >ready 2>"$1.err" &
	recorder=$!
	read -t 120 -r _ <>ready
}
finish() { # NAME STATUS
	wait "$recorder"
	is "$1: exit status" $? "$2"
}

start int die
kill -INT "$recorder"
finish int 130
ok "int: the command has ended" wait_until is_gone "$(<int.pid)"
judge "int: what was recorded" int.json.gz <<<'at_least(200, "spinning")'
is "int: in --stats" "$(stat_of int exit_status)" 130

start term die
kill -TERM "$recorder"
finish term 143
judge "term: what was recorded" term.json.gz <<<'at_least(200, "spinning")'

# prof waits a second for the command, and needs hardly any CPU time meanwhile.
start own 'finish 30 1'
kill -INT "$recorder"
finish own 3
judge "own: what was recorded" own.json.gz <<<'at_least(200, "spinning")'

# Alone on a CPU, a busy loop would use up that second.
start slow 'finish 30 3000'
kill -INT "$recorder"
finish slow 130
judge "slow: sampling ended with the signal" slow.json.gz <<'CODE'
at_least(200, "spinning")
expect(within("finishing") < 250, f'{within("finishing")} samples after it')
CODE

start stubborn ignore
kill -INT "$recorder"
finish stubborn 130
ok "stubborn: prof does not wait for its end: the command goes on" kill -0 "$(<stubborn.pid)"
kill -KILL "$(<stubborn.pid)"
judge "stubborn: what was recorded" stubborn.json.gz <<<'at_least(200, "spinning")'

# A background job, as in CI: SIGINT is ignored from the start, in prof and in the command.
(
	trap '' INT
	exec "$PROF" record -o ci.json.gz --stats ci.stats -- sh -c "echo \$\$ >ci.pid
		grep SigIgn /proc/\$\$/status >ci.ignored; exec '$workloads/spin' die 30" >ready 2>ci.err
) &
recorder=$!
read -t 120 -r _ <>ready
kill -INT "$recorder"
finish ci 130
ok "ci: the command got the ignored SIGINT back" test $((0x$(cut -f2 ci.ignored) & 2)) -ne 0
kill -KILL "$(<ci.pid)" 2>/dev/null
judge "ci: what was recorded" ci.json.gz <<<'at_least(200, "spinning")'
run "$PROF" record -q -o dispositions.json.gz -- grep -E 'Sig(Ign|Blk)' /proc/self/status
with=$out
run grep -E 'Sig(Ign|Blk)' /proc/self/status
is "signals are ignored and blocked as without prof" "$with" "$out"

# Ctrl-C on a terminal reaches both.
cat >terminal.py <<'CODE'
import os
import pty
import sys

presses, command = int(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(command[0], command)
output = b""
# The next key follows when the last one has arrived.
for text in (b"ready", b"once more ends it now")[:presses]:
    while text not in output:
        output += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
try:
    while data := os.read(terminal, 4096):
        output += data
except OSError:
    pass
sys.stderr.buffer.write(output)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
CODE
run python3 terminal.py 1 "$PROF" record -o tty.json.gz --stats tty.stats -- "$workloads/spin" finish 30
is "Ctrl-C: exit status is the command's" "$status" 3
judge "Ctrl-C: recording goes on until the command has ended" tty.json.gz <<'CODE'
at_least(200, "spinning")
at_least(300, "finishing")
CODE
run python3 terminal.py 2 "$PROF" record -o tty2.json.gz -- \
	sh -c "echo \$\$ >tty2.pid; exec '$workloads/spin' ignore 30"
is "Ctrl-C twice: exit status" "$status" 130
kill -KILL "$(<tty2.pid)" 2>/dev/null
judge "Ctrl-C twice: recording ended with the second" tty2.json.gz <<'CODE'
# Half a second between the two; the command alone would take half a minute.
last = max(time for _, time, _, _ in samples())
expect(last > 500, f"last sample at {last} ms")
expect(len(samples()) < 20000, f"{len(samples())} samples")
CODE

is "no temporary files are left" "$(leftovers .)" ""
done_testing
