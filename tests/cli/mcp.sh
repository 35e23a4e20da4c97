#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof mcp: calls of an assistant, and input that no client would send. Needs no root.
# shellcheck disable=SC2016 # backquotes of Markdown
. "$(dirname "$0")/../e2e/lib.sh"

printf '%s\n' 'main;serve;lookup 60' 'main;serve;log 40' | python3 "$root/tests/cli/stacks_profile.py" one >a.json
printf '%s\n' 'main;serve;lookup 95' 'main;serve;log 40' | python3 "$root/tests/cli/stacks_profile.py" one >b.json
cat >client.py <<'CODE'
import json
import subprocess
import sys

def start(*words):
    return subprocess.Popen([sys.argv[1], "mcp", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def send(server, line):
    server.stdin.write(line + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())

def call(server, method, **params):
    answer = send(server, json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    assert answer["id"] == 7 and answer["jsonrpc"] == "2.0", answer
    return answer

def tool(server, name, **arguments):
    result = call(server, "tools/call", name=name, arguments=arguments)["result"]
    [part] = result["content"]
    assert part["type"] == "text", part
    return ("error: " if result["isError"] else "") + part["text"]

def names(server):
    return [t["name"] for t in call(server, "tools/list")["result"]["tools"]]
CODE
client() { # the rest of a client's program on standard input
	cat client.py - >this.py
	run timeout 60 python3 this.py "$PROF"
}

client <<'CODE'
s = start()
result = call(s, "initialize", protocolVersion="2025-03-26", capabilities={})["result"]
print(result["protocolVersion"], result["serverInfo"]["name"], "tools" in result["capabilities"])
print(call(s, "initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"])
s.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
print(call(s, "ping")["result"])
print(names(s))
for t in call(s, "tools/list")["result"]["tools"]:
    schema = t["inputSchema"]
    assert schema["type"] == "object" and set(schema["required"]) <= set(schema["properties"]), t
s.stdin.close()
print(s.wait())
CODE
is "a client that connects" "$out" "2025-03-26 prof True
2025-06-18
{}
['report', 'annotate', 'explain', 'markers', 'info', 'diff']
0"

client <<'CODE'
s = start()
print(tool(s, "report", file="a.json"))
CODE
like "report: the first screen" "$out" '### Hot path.*`lookup`.*### Where it ran'
client <<'CODE'
s = start()
print(tool(s, "report", file="a.json", callers="lookup", limit=5))
print(tool(s, "report", file="a.json", focus="log", by="function"))
CODE
like "report: a tree, a condition" "$out" '`lookup`.*`serve`.*40|100\.0 % \| 100\.0 % \| `log`'
client <<'CODE'
s = start()
print(tool(s, "diff", a="a.json", b="b.json"))
CODE
like "diff" "$out" 'CPU \+35\.0 %'
client <<'CODE'
s = start()
print(tool(s, "explain", file="a.json", function="serve"))
print(tool(s, "explain", file="a.json", function="--help"))
CODE
like "explain" "$out" '### Callers.*`main`.*### Callees.*`lookup`.*error: function: must be a name'
client <<'CODE'
s = start()
print(tool(s, "info", file="a.json"))
CODE
like "info" "$out" 'Samples'

client <<'CODE'
s = start()
print(tool(s, "report", file="none.json"))
print(tool(s, "report"))
print(tool(s, "report", file="clickhouse+http://127.0.0.1/x"))
print(tool(s, "report", file="--help"))
print(tool(s, "report", file="a.json", colour="red"))
print(tool(s, "report", file=7))
print(tool(s, "report", file="a.json", by="nonsense"))
CODE
like "what is refused" "$out" 'error: prof report: .*none\.json.*
error: file: missing
error: file: must be a file
error: prof report: .*\./--help.*
error: colour: no such parameter of report
error: file: must be a string
error: prof report: .*nonsense'
client <<'CODE'
s = start()
for line in ("nonsense", "[]", "{}", '{"jsonrpc": "2.0", "id": 1}', '{"id": 1, "method": "none"}',
             '{"id": 1, "method": "tools/call", "params": {"name": "record"}}', '{"id": 1, "method": "tools/call"}',
             "x" * 2000000, '{"id": 1, "method": "tools/call", "params": {"name": "info", "arguments": []}}'):
    answer = send(s, line)
    print(answer["error"]["code"] if "error" in answer else answer["result"]["content"][0]["text"])
CODE
is "input that no client would send" "$out" "-32700
-32600
-32600
-32600
-32601
-32602
-32602
-32700
arguments: must be an object"

client <<'CODE'
s = start("--allow-record")
print("record" in names(s))
print(tool(s, "record", output="x.json.gz", command="echo"))
print(tool(s, "record", output="x.json.gz", command=[]))
print(tool(s, "record", output="x.json.gz", command=["echo", 5]))
CODE
is "--allow-record" "$out" "True
error: command: must be a list of strings
error: command: must be a list of strings
error: command: must be a list of strings"
refuses "an operand" 2 'unexpected argument' "$PROF" mcp x
done_testing
