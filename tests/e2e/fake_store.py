#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A store of profiles on this machine: fake_store.py FOLDER. Writes FOLDER/port, and what comes to it.

FOLDER/mode says how it answers: "jwt" (as the real one), "plain", "large", "garbage", "broken".
"""

import base64
import http.server
import json
import os
import sys

folder = sys.argv[1]


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


class Store(http.server.BaseHTTPRequestHandler):
    def write(self, status, text=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def note(self, body=b""):
        with open(f"{folder}/request.json", "w") as out:
            json.dump({"method": self.command, "path": self.path, "headers": dict(self.headers)}, out)
        with open(f"{folder}/body", "wb") as out:
            out.write(body)

    def do_POST(self):
        mode = open(f"{folder}/mode").read()
        self.note(self.rfile.read(int(self.headers["Content-Length"])))
        if mode == "large":
            self.write(413, "too large")
        elif mode == "broken":
            self.write(500, "no idea\n\x1b[31m")
        elif mode == "garbage":
            self.write(200, "<html>../../etc/passwd</html>")
        elif mode == "plain":
            self.write(200, "plainname")
        else:
            self.write(200, ".".join((part({"alg": "HS256"}), part({"profileToken": "tok3n"}), "sig")))

    def do_DELETE(self):
        self.note()
        self.write(200 if self.headers["Authorization"].startswith("Bearer ") else 401)

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Store)
with open(f"{folder}/port.new", "w") as out:
    out.write(str(server.server_port))
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
