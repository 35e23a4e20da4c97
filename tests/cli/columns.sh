#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Columns of tables: how wide they are, and processes as rows of programs. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

stacks() { # PROCESS...
	python3 "$root/tests/cli/stacks_profile.py" "$@"
}
# The most columns that a line of standard input takes.
widest() {
	python3 -c '
import sys, unicodedata
print(max(sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
              for c in line.rstrip("\n")) for line in sys.stdin))'
}

name="std::_Rb_tree<std::__cxx11::basic_string<char>, std::pair<std::string const, int>, std::less<>>::_M_insert_node"
same="${name%_M_insert_node}_M_erase"
printf '%s\n' "main;$name 40" "main;$same 30" "main;計算する関数の名前はとても長いので端末の幅に収まらない計算する関数の名前はとても長い 20" \
	"main;größer 10" | stacks >wide.json
"$PROF" report wide.json >plain
ok "without a terminal, lines have up to 120 columns: $(widest <plain)" test "$(widest <plain)" -le 120
like "a long name keeps its end" "$(<plain)" $'…[^\n]*::_M_insert_node'
like "by which it differs from others" "$(<plain)" $'…[^\n]*::_M_erase'
"$PROF" report --tree wide.json >tree
ok "trees, too: $(widest <tree)" test "$(widest <tree)" -le 120
"$PROF" diff wide.json wide.json | tail -n +6 >difference
ok "differences, too: $(widest <difference)" test "$(widest <difference)" -le 120
like "programs get whole names" "$("$PROF" report --format csv wide.json)" "\"$name\""
for columns in 60 80 200; do
	TERM=xterm PAGER=cat python3 - "$columns" "$PROF" report wide.json >"terminal.$columns" <<'PY'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    text += part
os.waitpid(pid, 0)
sys.stdout.write(text.decode().replace("\r\n", "\n"))
PY
	ok "a terminal of $columns columns: $(widest <"terminal.$columns")" \
		test "$(widest <"terminal.$columns")" -le "$columns"
done
like "200 have room for the name" "$(<terminal.200)" "  $name"

# The program is what names of processes have in common.
printf 'main 10\n' | stacks make 'cc1 a.c' 'cc1 b.c' 'cc1 c.c' 'Web Content' 'Web Content' \
	kworker/0:1 kworker/1:0 'as × 7, short-lived' 'as x.s' >build.json
"$PROF" report --by process --format csv build.json | sort >programs
is "processes of a program are one row" "$(cut -d, -f1-3 programs)" \
	'"Web Content",2,20
"as",8,20
"cc1",3,30
"kworker",2,20
"make",1,10
process,processes,self'
like "for people: how many" "$("$PROF" report --by process build.json)" '30.0 %  cc1 ×3
'
is "--by pid: each process" "$("$PROF" report --by pid --format csv build.json | grep -c '"cc1 ')" 3
is "one that is not selected does not count" \
	"$("$PROF" report --by process --process 'cc1 [ab].c' --format csv build.json | tail -1 | cut -d, -f1-2)" '"cc1",2'
like "programs of two builds are compared as one" \
	"$("$PROF" diff --by process build.json build.json)" ' cc1(
|$)'
done_testing
