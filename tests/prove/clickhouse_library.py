# SPDX-License-Identifier: MIT
"""Serves ClickHouse's engine as a library, chdb, over HTTP: the part of its protocol that prof uses.

usage: clickhouse_library.py FOLDER, for tables and for FOLDER/port, which has the port once it listens.
"""
import gzip
import http.server
import os
import sys
import urllib.parse

from chdb import session

folder = sys.argv[1]
engine = session.Session(f"{folder}/tables")


class Handler(http.server.BaseHTTPRequestHandler):
    def run(self, body):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        if "database" in query:
            engine.query(f"USE {query['database']}")
        sql = query.get("query") or body.decode()
        if "query" in query:
            with open(f"{folder}/rows", "wb") as out:
                out.write(body)
            sql = sql.replace(" FORMAT RowBinary", f" FROM INFILE '{folder}/rows' FORMAT RowBinary")
        return engine.query(sql, "RowBinary").bytes() or b""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        try:
            status, answer = 200, self.run(body)
        except RuntimeError as error:
            status, answer = 400, str(error).encode()
            print(answer.decode(), file=sys.stderr)
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(f"{folder}/port.new", "w") as out:
    out.write(str(server.server_port))
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
