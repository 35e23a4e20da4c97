#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A front-end's requests to prof view, each answer judged by the schema that the front-end has.

    view_client.py CHECK URL PROFILE    URL: as prof view printed it; CHECK: a function below
"""

import concurrent.futures
import gzip
import http.client
import json
import os
import re
import socket
import sys
import time
import urllib.parse

# Key of an answer: its type, and whether it must be there. No value may be null.
PLACE = {"module_offset": (str, True), "module": (str, True), "frame": (int, True),
         "function": (str, False), "function_offset": (str, False), "function_size": (str, False),
         "file": (str, False), "line": (int, False), "inlines": (list, False)}
INLINE = {"function": (str, False), "file": (str, False), "line": (int, False)}


class Server:
    def __init__(self, url):
        if "from-url" in url:
            url = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["symbolServer"][0]
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.token = parts.path.removesuffix("page.html").strip("/")

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()

    def post(self, path, value):
        status, _, body = self.ask("POST", f"/{self.token}/{path}", json.dumps(value))
        assert status == 200, status
        return json.loads(body)


def judge(value, schema):
    assert isinstance(value, dict), value
    for key, (kind, is_needed) in schema.items():
        assert key in value or not is_needed, (key, value)
        assert key not in value or type(value[key]) is kind, (key, value)


def judge_place(place, position, address):
    judge(place, PLACE)
    assert place["frame"] == position and int(place["module_offset"], 16) == address
    assert ("function" in place) == ("function_offset" in place), place
    for inline in place.get("inlines", []):
        judge(inline, INLINE)


def load(path):
    return json.load(gzip.open(path))


def find_lib(profile, name):
    return next((i, lib) for i, lib in enumerate(profile["libs"]) if lib["name"] == name)


def crowd(server, _):
    """Nobody is shut out by 300 connections that send nothing, or a byte a second."""
    held = []
    for i in range(300):
        held.append(socket.create_connection((server.host, server.port), timeout=30))
        if i % 2:
            held[-1].sendall(b"GET / HTTP/1.1\r\nX: ")
    begun = time.monotonic()
    for _ in range(20):
        assert server.ask("GET", f"/{server.token}/profile.json")[0] == 200
    # They end although bytes come.
    slow = held[-1]
    while time.monotonic() - begun < 15:
        try:
            slow.sendall(b"x")
            time.sleep(0.5)
        except OSError:
            break
    else:
        raise AssertionError("a byte now and then keeps a connection")


def storm(server, profile):
    """Each of 500 requests at once is answered or refused."""
    lib = profile["libs"][0]
    body = json.dumps({"jobs": [{"memoryMap": [[lib["debugName"], lib["breakpadId"]]],
                                 "stacks": [[[0, 16 * i] for i in range(2000)]]}]})

    def ask(_):
        try:
            return server.ask("POST", f"/{server.token}/symbolicate/v5", body)[0]
        except (BrokenPipeError, ConnectionResetError):
            return 503  # refused before all of the request was sent

    with concurrent.futures.ThreadPoolExecutor(500) as pool:
        answers = list(pool.map(ask, range(500)))
    assert set(answers) <= {200, 503} and 200 in answers, set(answers)


def symbolicate(server, lib, addresses):
    answer = server.post("symbolicate/v5", {"jobs": [{
        "memoryMap": [[lib["debugName"], lib["breakpadId"]]],
        "stacks": [[[0, address] for address in addresses]]}]})
    [result] = answer["results"]
    [places] = result["stacks"]
    assert len(places) == len(addresses)
    for i, (place, address) in enumerate(zip(places, addresses)):
        judge_place(place, i, address)
    return result["found_modules"][f"{lib['debugName']}/{lib['breakpadId']}"], places


def names(server, profile):
    """Names, inlined functions and lines of all addresses are those of the profile."""
    shared, strings = profile["shared"], profile["shared"]["stringArray"]
    frames, funcs = shared["frameTable"], shared["funcTable"]
    index, lib = find_lib(profile, "inlines")
    wanted = {}
    for i in range(frames["length"]):
        if frames["lib"][i] == index:
            func = frames["func"][i]
            wanted.setdefault(frames["address"][i], {})[frames["inlineDepth"][i]] = (
                strings[funcs["name"][func]], frames["line"][i])
    found, places = symbolicate(server, lib, sorted(wanted))
    assert found is True
    inlined = 0
    for place, address in zip(places, sorted(wanted)):
        chain = [place] + place.get("inlines", [])[::-1]
        got = [(level["function"], level.get("line")) for level in chain]
        assert got == [wanted[address][k] for k in range(len(got))], (got, wanted[address])
        inlined += len(got) > 1
    assert inlined, "no inlined function was among them"


def unknown(server, profile):
    """Libs that are none of the profile's, and addresses without a name."""
    found, places = symbolicate(server, {"debugName": "nothing", "breakpadId": "0"}, [1, 2])
    assert found is False and "function" not in places[0]
    _, lib = find_lib(profile, "inlines")
    _, places = symbolicate(server, lib, [0, 2 ** 40])
    assert "function" not in places[1], places


def many(server, profile):
    """10,000 addresses at once."""
    _, lib = find_lib(profile, "libc.so.6")
    found, places = symbolicate(server, lib, [0x28000 + i * 64 for i in range(10000)])
    assert found and sum("function" in place for place in places) > 9000


def source(server, profile):
    """The text of a file that the profile names, and of no other one."""
    _, lib = find_lib(profile, "inlines")
    ask = lambda path: server.post("source/v1", {
        "debugName": lib["debugName"], "debugId": lib["breakpadId"], "moduleOffset": "0x1", "file": path})
    strings, sources = profile["shared"]["stringArray"], profile["shared"]["sources"]
    path = next(strings[s] for s in sources["filename"] if strings[s].endswith("/inlines.c"))
    assert ask(path)["source"] == open(path).read()
    for other in ("/etc/passwd", "/proc/self/environ", path + "/../inlines.c", "", "../x.c"):
        assert set(ask(other)) == {"error"}, other


def page(server, profile):
    """Requests of a page, which knows names of libs, not their ids."""
    index, lib = find_lib(profile, "inlines")
    symbols, strings = profile["shared"]["nativeSymbols"], profile["shared"]["stringArray"]
    address, size = next((symbols["address"][i], symbols["functionSize"][i]) for i in range(symbols["length"])
                         if symbols["libIndex"][i] == index and strings[symbols["name"][i]] == "main")
    path = next(strings[s] for s in profile["shared"]["sources"]["filename"] if strings[s].endswith("/inlines.c"))
    assert server.post("source/v1", {"lib": "inlines", "file": path})["source"] == open(path).read()
    asked = {"lib": "inlines", "buildId": lib["codeId"].lower(), "startAddress": hex(address), "size": hex(size)}
    code = server.post("asm/v1", asked)
    assert int(code["startAddress"], 16) == address and code["instructions"][0][0] == 0, code
    assert code == server.post("asm/v1", {**asked, "lib": "a copy"}), "a build id is enough"
    for where, request in (("source/v1", {"lib": "nothing", "file": path}), ("source/v1", {"lib": "", "file": "/etc/passwd"}),
                           ("source/v1", {"lib": "inlines", "file": "/etc/passwd"}),
                           ("asm/v1", {**asked, "buildId": "00"}), ("asm/v1", {**asked, "startAddress": "x"}),
                           ("asm/v1", {"lib": "inlines", "buildId": 1})):
        assert set(server.post(where, request)) == {"error"}, request


def assembly(server, profile):
    """Instructions of main(), of which the first is where the function begins."""
    index, lib = find_lib(profile, "inlines")
    symbols, strings = profile["shared"]["nativeSymbols"], profile["shared"]["stringArray"]
    at = next(i for i in range(symbols["length"])
              if symbols["libIndex"][i] == index and strings[symbols["name"][i]] == "main")
    request = {"debugName": lib["debugName"], "debugId": lib["breakpadId"], "name": lib["name"],
               "codeId": lib["codeId"], "startAddress": hex(symbols["address"][at]),
               "size": hex(symbols["functionSize"][at]), "continueUntilFunctionEnd": False}
    answer = server.post("asm/v1", request)
    assert int(answer["startAddress"], 16) == symbols["address"][at], answer
    offsets = [offset for offset, text in answer["instructions"] if isinstance(text, str)]
    assert offsets[0] == 0 and offsets == sorted(set(offsets)) and len(offsets) > 3, answer
    assert offsets[-1] < symbols["functionSize"][at]
    assert isinstance(answer["arch"], str) and isinstance(answer["syntax"], list)
    whole = server.post("asm/v1", dict(request, size="0x1", continueUntilFunctionEnd=True))
    assert whole["instructions"] == answer["instructions"]
    for wrong in ({"startAddress": "12"}, {"startAddress": "0xffffffffff"}, {"debugId": "0"}, {"size": None}):
        assert set(server.post("asm/v1", dict(request, **wrong))) == {"error"}, wrong


def generated(server, profile):
    """Instructions of a function of a jitdump, whose jumps are named."""
    shared, strings = profile["shared"], profile["shared"]["stringArray"]
    symbols, libs = shared["nativeSymbols"], profile["libs"]
    found = 0
    for i in range(symbols["length"]):
        lib = libs[symbols["libIndex"][i]]
        if strings[symbols["name"][i]] != "inner" or not lib["name"].startswith("jit-"):
            continue
        start, size = symbols["address"][i], symbols["functionSize"][i]
        answer = server.post("asm/v1", {
            "debugName": lib["debugName"], "debugId": lib["breakpadId"], "name": lib["name"],
            "codeId": lib["codeId"], "startAddress": hex(start), "size": hex(size),
            "continueUntilFunctionEnd": False})
        assert int(answer["startAddress"], 16) == start, answer
        offsets = [offset for offset, text in answer["instructions"]]
        assert offsets[0] == 0 and offsets == sorted(set(offsets)) and offsets[-1] < size, answer
        found += any("<inner+0x" in text for _, text in answer["instructions"])
        own = [shared["frameTable"]["address"][f] - start for f in range(shared["frameTable"]["length"])
               if shared["frameTable"]["nativeSymbol"][f] == i]
        assert all(0 <= at < size for at in own), own
    assert found


def transfer(server, profile):
    """The file as it lies there, whole and in part."""
    path = f"/{server.token}/profile.json"
    status, headers, plain = server.ask("GET", path)
    assert status == 200 and json.loads(gzip.decompress(plain)) == profile
    assert "Content-Encoding" not in headers
    status, headers, body = server.ask("GET", path, Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip" and body == plain
    status, headers, body = server.ask("GET", path, Range="bytes=3-9")
    assert (status, body) == (206, plain[3:10])
    assert headers["Content-Range"] == f"bytes 3-9/{len(plain)}"
    assert server.ask("GET", path, Range="bytes=-5")[2] == plain[-5:]
    assert server.ask("GET", path, Range=f"bytes={len(plain)}-")[0] == 416
    assert server.ask("HEAD", path)[2] == b""
    assert server.ask("DELETE", path)[0] == 405


def difference(server, profile):
    """Two files became one; code of the first is found by what that one says."""
    served = json.loads(server.ask("GET", f"/{server.token}/profile.json")[2])
    rows = [(t["processType"], t["name"][:2]) for t in served["threads"]]
    assert rows == [("default", "A:"), ("process", "B:"), ("comparison", "Di")], rows
    strings, funcs = served["shared"]["stringArray"], served["shared"]["funcTable"]
    assert [strings[name] for name in funcs["name"]].count("main") == 1
    assembly(server, served)


def refusals(server, profile):
    """Nothing without the token, for other hosts, or for pages of unknown_readers."""
    good = f"/{server.token}/profile.json"
    other = "x" if server.token[-1] != "x" else "y"
    for path in ("/", "/profile.json", "//", "/index.html", good[:-14] + other + "/profile.json", "/" + "A" * 32 + "/",
                 f"/{server.token}", "/symbolicate/v5", f"/x/{server.token}/profile.json"):
        status, headers, body = server.ask("GET", path)
        assert (status, body) == (403, b""), (path, status)
        assert "Access-Control-Allow-Origin" not in headers
        assert server.token not in str(headers)
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", f"127.0.0.1:{server.port + 1}"):
        assert server.ask("GET", good, Host=host)[0] == 403, host
    assert server.ask("GET", good, Host=f"localhost:{server.port}")[0] == 200
    for origin in ("https://evil.example", "null", f"http://localhost:{server.port + 1}"):
        for method in ("GET", "POST", "OPTIONS"):
            status, headers, _ = server.ask(method, good, Origin=origin)
            assert status == 403 and "Access-Control-Allow-Origin" not in headers, origin
    for path in ("../etc/passwd", "%2e%2e/etc/passwd", "profile.json/../x", "profile-2.json", "symbolicate/v6"):
        assert server.ask("GET", f"/{server.token}/{path}")[0] in (404, 405), path


def preflight(server, profile):
    """OPTIONS as browsers send them before a request of another origin."""
    origin = "https://profiler.firefox.com"
    status, headers, body = server.ask("OPTIONS", f"/{server.token}/symbolicate/v5", Origin=origin,
                                       Access_Control_Request_Method="POST",
                                       Access_Control_Request_Headers="user-agent")
    assert (status, body) == (204, b"")
    assert headers["Access-Control-Allow-Origin"] == origin
    assert headers["Access-Control-Allow-Headers"] == "user-agent"
    assert "POST" in headers["Access-Control-Allow-Methods"]


def hostile(server, profile):
    """Requests that are none, too large or slow; the server answers others meanwhile."""
    path = f"/{server.token}/symbolicate/v5"
    for body in ("", "[]", "null", "{", "{}", '{"jobs":1}', '{"jobs":[{}]}', '{"jobs":[{"memoryMap":[["a"]]}]}',
                 '{"jobs":[{"memoryMap":[["a","b"]],"stacks":[[[1,2]]]}]}', "[" * 100000,
                 '{"jobs":[{"memoryMap":[["a","b"]],"stacks":[[[0,-1]]]}]}', '{"a":1,"a":2}', "\0" * 100,
                 '{"jobs":[{"memoryMap":[["a","b"]],"stacks":[' + "[[0,1]]," * 120000 + '[[0,1]]]}]}'):
        status, _, answer = server.ask("POST", path, body)
        assert status == 200 and set(json.loads(answer)) == {"error"}, body[:50]
    lines = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    slow = []
    for _ in range(20):
        slow.append(socket.create_connection((server.host, server.port)))
        slow[-1].sendall((lines + "Content-Length: 1000\r\n\r\n{").encode())
    assert server.ask("GET", f"/{server.token}/profile.json")[0] == 200
    with socket.create_connection((server.host, server.port), timeout=30) as s:
        s.sendall((lines + "Content-Length: 999999999999\r\n\r\n").encode())
        assert re.match(rb"HTTP/1.1 413 ", s.recv(100))
    for other in ("evil.example", f"127.0.0.1:{server.port}"):
        with socket.create_connection((server.host, server.port), timeout=30) as s:
            s.sendall((lines + f"Host: {other}\r\nContent-Length: 0\r\n\r\n").encode())
            assert re.match(rb"HTTP/1.1 400 ", s.recv(100)), other
    # A stranger's body is not even read.
    with socket.create_connection((server.host, server.port), timeout=30) as s:
        s.sendall((lines.replace(server.token, "x" * 32) + "Content-Length: 1000\r\n\r\n").encode())
        assert re.match(rb"HTTP/1.1 403 ", s.recv(100))
    with socket.create_connection((server.host, server.port), timeout=30) as s:
        s.sendall(("GET / HTTP/1.1\r\n" + "X: " + "y" * 100000 + "\r\n\r\n").encode())
        assert re.match(rb"HTTP/1.1 4\d\d ", s.recv(100))
    for s in slow:
        s.close()


def parallel(server, profile):
    """50 requests at once, each with its own answer."""
    _, lib = find_lib(profile, "inlines")

    def one(number):
        if number % 3 == 0:
            return server.ask("GET", f"/{server.token}/profile.json")[0] == 200
        addresses = [0x1000 + number * 8 + k for k in range(20)]
        return len(symbolicate(server, lib, addresses)[1]) == 20

    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        assert all(pool.map(one, range(50)))


def files(server, profile):
    """A front-end of one's own: its files for those who came with the token, none beside it."""
    status, headers, _ = server.ask("GET", f"/{server.token}/")
    cookie = headers["Set-Cookie"].split(";")[0]
    assert status == 302 and server.token not in cookie
    # A strict one is not sent by a browser that a local page led here.
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Lax" in headers["Set-Cookie"]
    assert "/from-url/" in headers["Location"] and "symbolServer=" in headers["Location"]
    get = lambda path: server.ask("GET", path, Cookie="a=b; " + cookie)
    assert get("/app.js")[2] == b"front();"
    assert get("/app.js")[1]["Content-Type"] == "text/javascript"
    assert get("/from-url/whatever/")[2] == b"<p>front-end"
    for path in ("/../secret", "/%2e%2e/secret", "/link", "/x/../../secret", "//etc/passwd"):
        assert get(path)[2] == b"<p>front-end", path
    assert get("/missing.js")[0] == get("/..%2fsecret.txt")[0] == 404
    assert server.ask("GET", "/app.js")[0] == 403
    assert server.ask("GET", "/app.js", Cookie=cookie[:-1])[0] == 403
    # It opens the front-end, nothing else.
    assert get("/profile.json")[0] == 404
    assert server.ask("POST", "/symbolicate/v5", "{}", Cookie=cookie)[0] == 403


def script(server, _):
    """The text of script.py, and everything else as it is in the file."""
    _, _, body = server.ask("GET", f"/{server.token}/profile.json")
    served, file = json.loads(body), load("script.json.gz")
    strings, sources = served["shared"]["stringArray"], served["shared"]["sources"]
    texts = {strings[name]: text for name, text in zip(sources["filename"], sources["content"])}
    path = next(name for name in texts if name.endswith("/script.py"))
    assert "def spin():" in texts[path], texts[path]
    sources["content"] = file["shared"]["sources"]["content"]
    assert served == file, [key for key in file if served[key] != file[key]]


def small(server, profile):
    """Memory of the server, given by its pid."""
    status = open(f"/proc/{os.environ['VIEW_PID']}/status").read()
    kib = int(re.search(r"VmRSS:\s*(\d+)", status)[1])
    assert kib < 100 * 1024, kib


def main():
    check, url, path = sys.argv[1:]
    globals()[check](Server(url), load(path))


if __name__ == "__main__":
    main()
