#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A server of debug information as debuginfod is one, on loopback.

    debug_server.py FOLDER    FOLDER/BUILDID/{executable,debuginfo}, FOLDER/BUILDID/source/PATH

Prints its port. Tells what it was asked for in FOLDER/asked, a line each.
"""

import http.server
import os
import sys
import urllib.parse

FOLDER = sys.argv[1]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = urllib.parse.unquote(self.path)
        file = os.path.normpath(FOLDER + "/" + path.removeprefix("/buildid/"))
        with open(FOLDER + "/asked", "a", encoding="utf-8") as asked:
            print(path, file=asked)
        if not path.startswith("/buildid/") or not os.path.isfile(file):
            return self.send_error(404)
        body = open(file, "rb").read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
