#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An engine on this machine that speaks as much of ClickHouse as prof does: fake_engine.py FOLDER [PORT].

Writes FOLDER/port, and FOLDER/log with the statements. It refuses what a real one of version 18.16
refuses: unknown databases, tables and columns, its keywords as names of columns, rows that are cut
off, arrays of unequal length, texts that are not closed, and a second JOIN; and, as newer ones, subqueries
without names in a JOIN. FOLDER/mode, if it is there: "broken" (503), "garbage", "denied" (wrong password),
"newer" (tables of a newer prof), "portal" (a page), "clock" (a collector that takes no other type).
What is sent to it as to a collector goes into FOLDER/otlp; it refuses two profiles by "partial". As Pyroscope, it
refuses what that refuses.
"""

import gzip
import http.server
import os
import re
import socket
import sqlite3
import ssl
import struct
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import engine_rules  # noqa: E402
import otlp_rules  # noqa: E402

folder = sys.argv[1]
KEYWORDS = {"interval", "end", "order", "group", "from", "select", "case"}
TYPES = {"UInt8": 1, "UInt16": 2, "UInt32": 4, "UInt64": 8, "DateTime": 4, "FixedString(16)": 16}


class Refusal(Exception):
    pass


class Rows:
    """Untrusted RowBinary."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if self.at + size > len(self.data):
            raise Refusal("Code: 33, Cannot read all data")
        self.at += size
        return self.data[self.at - size:self.at]

    def count(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def value(self, kind):
        if kind == "String":
            return self.take(self.count())
        if kind.startswith("FixedString"):
            return self.take(TYPES[kind])
        if kind.startswith("Array"):
            return self.array(kind)
        value = int.from_bytes(self.take(TYPES[kind]), "little")
        return value - (1 << 64) if value >= 1 << 63 else value

    def array(self, kind):
        """Its bytes, and its length, which others of the row may have to have."""
        start, self.length = self.at, self.count()
        texts = [self.value(kind[6:-1]) for _ in range(self.length)]
        if kind == "Array(String)":
            self.texts = texts
        return self.data[start:self.at]


def counted(data):
    out, size = bytearray(), len(data)
    while size >= 0x80:
        out.append(size & 0x7f | 0x80)
        size >>= 7
    return bytes(out) + bytes([size]) + data


class ArgMax:
    def __init__(self):
        self.best = None

    def step(self, value, by):
        if self.best is None or by > self.best[0]:
            self.best = (by, value)

    def finalize(self):
        return self.best and self.best[1]


class Unique:
    def __init__(self):
        self.seen = set()

    def step(self, value):
        self.seen.add(value)

    def finalize(self):
        return len(self.seen)


def array_texts(data):
    rows = Rows(data)
    return [rows.take(rows.count()) for _ in range(rows.count())]


def extract(text, pattern):
    found = re.search(pattern, text)
    return found[1] if found else b""


def check_joins(sql):
    """A statement has one JOIN of subqueries with names; those in parentheses have their own."""
    if re.search(r"\) (LEFT JOIN|USING)", sql):
        raise Refusal("Code: 206, No alias for subquery or table function in JOIN")
    counts = [0]
    for token in re.findall(r"\(|\)|\bJOIN\b", sql):
        if token == "(":
            counts.append(0)
        elif token == ")":
            counts.pop()
        else:
            counts[-1] += 1
            if counts[-1] > 1:
                raise Refusal("Code: 48, Support for more than one JOIN in query is not implemented")


class Engine:
    def __init__(self):
        self.databases, self.tables = {}, {}

    def connect(self, name):
        if name not in self.databases:
            raise Refusal(f"Code: 81, Database {name} doesn't exist")
        return self.databases[name]

    def create_database(self, name):
        if name in self.databases:
            return
        db = self.databases[name] = sqlite3.connect(":memory:")
        for function in ("toDateTime", "toUInt32", "toUInt64"):
            db.create_function(function, 1, lambda value: value)
        # Rows without a partner have zeros and empty texts.
        db.create_function("toString", 1, lambda v: v if isinstance(v, bytes) else str(v or 0).encode())
        db.create_function("intDiv", 2, lambda a, b: (a or 0) // b)
        db.create_function("greatest", 2, lambda a, b: max(a or 0, b))
        db.create_function("extract", 2, extract)
        db.create_function("like", 2, lambda pattern, text: bool(re.fullmatch(pattern.replace(b"%", b".*"), text)))
        db.execute("ATTACH ':memory:' AS system")
        db.execute("CREATE TABLE system.tables (database, name, engine, engine_full)")
        db.execute("CREATE TABLE system.parts (database, 'table', active, rows, bytes_on_disk, partition)")
        db.create_function("has", 2, lambda array, text: text in array_texts(array))
        db.create_function("arrayStringConcat", 2, lambda array, by: by.join(array_texts(array)))
        db.create_function("now", 0, lambda: 1800000000)
        db.create_aggregate("argMax", 2, ArgMax)
        db.create_aggregate("any", 1, type("Any", (ArgMax,), {"step": lambda s, v: ArgMax.step(s, v, 0)}))
        db.create_aggregate("uniqExact", 1, Unique)

    def create_table(self, db, database, sql):
        name, rest, engine_full = re.match(
            r"CREATE TABLE IF NOT EXISTS (\w+) \((.*)\) ENGINE = (Replacing.*)", sql).groups()
        columns = re.findall(r"(\w+) ([A-Z]\w*(?:\(\w+\))?)(?:, |$)", rest)
        for column, _ in columns:
            if column in KEYWORDS:
                raise Refusal(f"Code: 62, Syntax error: {column}")
        if (database, name) not in self.tables:
            db.execute("INSERT INTO system.tables VALUES (?, ?, ?, ?)",
                       [text.encode() for text in (database, name, "ReplacingMergeTree",
                                                   engine_full + " SETTINGS index_granularity = 8192")])
        self.tables.setdefault((database, name), columns)
        db.execute(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(c for c, _ in columns)})")

    def insert(self, db, database, table, body):
        if (database, table) not in self.tables:
            raise Refusal(f"Code: 60, Table {database}.{table} doesn't exist")
        columns, rows, at = self.tables[database, table], Rows(body), []
        while rows.at < len(body):
            row, lengths = [], set()
            for _, kind in columns:
                row.append(rows.value(kind))
                if kind.startswith("Array"):
                    lengths.add(rows.length)
            if len(lengths) > 1:
                raise Refusal("arrays of unequal length")
            at.append(row)
        db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(columns))})", at)
        self.add_parts(db, database, table, at, len(body))

    def add_parts(self, db, database, table, rows, size):
        """A part for each day, or one where there is no time."""
        is_timed = self.tables[database, table][0][0] == "time"
        days = [row[0] // 86400 if is_timed else "tuple()" for row in rows]
        for day in set(days):
            db.execute("INSERT INTO system.parts VALUES (?, ?, 1, ?, ?, ?)",
                       (database.encode(), table.encode(), days.count(day), size * days.count(day) // len(days), day))

    def set_ttl(self, db, sql):
        """Tables have it since 19.6."""
        table, ttl = re.fullmatch(r"ALTER TABLE (\w+) MODIFY TTL (.*)", sql).groups()
        db.execute("UPDATE system.tables SET engine_full = CAST(replace(engine_full, ' SETTINGS', ?) AS BLOB) "
                   "WHERE name = ?", (f" TTL {ttl} SETTINGS", table.encode()))

    def translate(self, sql):
        """sqlite's way to say it, and the texts."""
        texts = []

        def literal(match):
            text = re.sub(rb"\\x([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), match[1].encode())
            texts.append(text)
            return "?"

        sql = re.sub(r"'((?:[^'\\]|\\x[0-9A-F]{2})*)'", literal, sql)
        if re.search(r"['\"\\;]|--", sql) or not sql.endswith(" FORMAT RowBinary"):
            raise Refusal(f"Code: 62, Syntax error: {sql}")
        sql = sql.removesuffix(" FORMAT RowBinary").replace("GLOBAL ", "").replace("ANY LEFT JOIN", "LEFT JOIN")
        check_joins(sql)
        sql = re.sub(r"\btable\b", '"table"', sql).replace('USING "table"', 'USING ("table")')
        sql = sql.replace("if(", "iif(").replace("USING one", "USING (one)")
        return sql.replace(" LIMIT 1 BY stack", " GROUP BY stack"), texts

    def select(self, db, sql):
        sql, texts = self.translate(sql)
        try:
            found = db.execute(sql, texts).fetchall()
        except sqlite3.Error as error:
            raise Refusal(f"Code: 47, {error} in {sql}") from None
        out = bytearray()
        is_stacks = sql.startswith("SELECT stack, name")
        numbers = {2: 1} if is_stacks else {}
        for row in found:
            for i, value in enumerate(row):
                if isinstance(value, bytes) and (is_stacks or len(value) == 16 and " AS bucket" in sql and i == 4):
                    out += value
                elif isinstance(value, bytes):
                    out += counted(value)
                else:
                    out += ((value or 0) & (1 << 64) - 1).to_bytes(numbers.get(i, 8), "little")
        return bytes(out)

    def answer(self, parameters, body):
        query = parameters.get("query")
        sql = query or body.decode("ascii", "replace")
        with open(f"{folder}/log", "a") as log:
            print(sql, file=log)
        if sql.startswith("SELECT count() FROM system."):
            names = re.findall(r"= '(\w+)'", sql)
            there = tuple(names) in self.tables if len(names) == 2 else names[0] in self.databases
            return int(there).to_bytes(8, "little")
        if sql.startswith("CREATE DATABASE"):
            self.create_database(sql.split()[-1])
            return b""
        database = parameters["database"]
        db = self.connect(database)
        if sql.startswith("CREATE TABLE"):
            self.create_table(db, database, sql)
        elif sql.startswith("ALTER TABLE"):
            self.set_ttl(db, sql)
        elif query:
            self.insert(db, database, re.fullmatch(r"INSERT INTO (\w+) FORMAT RowBinary", sql)[1], body)
        elif sql.startswith("INSERT INTO prof_schema SELECT"):
            db.execute(sql)
            self.add_parts(db, database, "prof_schema", [(0,)], 8)
        else:
            return self.select(db, sql)
        return b""


engine = Engine()


class Handler(http.server.BaseHTTPRequestHandler):
    messages = 0

    def reply(self, status, body, headers=(), kind="text/plain; charset=UTF-8"):
        with open(f"{folder}/requests", "a") as log:
            print(status, self.headers["Content-Length"], self.headers["Content-Encoding"], file=log)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for header in headers:
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def fail(self, mode, size):
        """Does what the mode says before the request is looked at. True: it is answered."""
        words = mode.split(" ", 2)
        if words[0] == "status":
            self.reply(int(words[1]), b"so it is", [("Retry-After", words[2])] if len(words) > 2 else [])
        elif words[0] == "limit" and size > int(words[1]):
            self.reply(413, b"too much")
        elif words[0] == "portal":
            self.reply(200, b"<!DOCTYPE html>\n<p>Welcome", kind="text/html; charset=utf-8")
        elif words[0] == "typeless":
            self.reply(200, b"<!DOCTYPE html>\n<p>Welcome", kind="")
        elif words[0] == "slow":
            try:
                for byte in b"HTTP/1.1 200 OK\r\n" * 9:
                    self.wfile.write(bytes([byte]))
                    time.sleep(1)
            except OSError:
                pass
            self.close_connection = True
        else:
            return False
        return True

    def take_message(self, mode, body):
        for name in ("otlp", f"each/{Handler.messages}"):
            if os.path.isdir(os.path.dirname(f"{folder}/{name}")):
                with open(f"{folder}/{name}", "wb") as out:
                    out.write(body)
        Handler.messages += 1
        with open(f"{folder}/headers", "w") as out:
            print(self.headers["Content-Type"], self.headers["Authorization"], self.headers["X-Scope"],
                  file=out)
        answer = {"partial": b"\n\x07\x08\x02\x12\x03no\x1b", "shapeless": b"\n\x7f?"}.get(mode, b"")
        self.reply(200, answer, kind=self.headers["Content-Type"])

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        mode = open(f"{folder}/mode").read().strip() if os.path.exists(f"{folder}/mode") else ""
        if mode == "reset":
            self.rfile.read(size // 2)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return None
        body = self.rfile.read(size)
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        with open(f"{folder}/user", "w") as out:
            print(self.headers["X-ClickHouse-User"], self.headers["X-ClickHouse-Key"], file=out)
        if self.fail(mode, len(body)):
            return None
        if self.path == "/v1development/profiles":
            try:
                # A collector tells its machine.
                is_forwarded = "(linux" in self.headers.get("User-Agent", "")
                kinds = otlp_rules.judge(body, is_forwarded)["all"]
                otlp_rules.demand(mode != "clock" or "samples" in kinds, f"no such type: {kinds}")
            except otlp_rules.Refusal as refusal:
                return self.reply(400, str(refusal).encode())
            return self.take_message(mode, body)
        if self.path == "/querier.v1.QuerierService/SelectMergeProfile":
            try:
                engine_rules.keep_query(folder, "pyroscope", body)
            except engine_rules.Refusal as refusal:
                return self.reply(400, b'{"code":"invalid_argument","message":"%s"}' % str(refusal).encode())
            merged = gzip.decompress(open(f"{folder}/merged.pb.gz", "rb").read()) if mode != "empty" else b""
            return self.reply(200, merged, kind=self.headers["Content-Type"])
        if self.path == "/push.v1.PusherService/Push":
            try:
                engine_rules.judge("pyroscope", body)
            except engine_rules.Refusal as refusal:
                return self.reply(400, b'{"code":"invalid_argument","message":"%s"}' % str(refusal).encode())
            return self.take_message(mode, body)
        if mode == "broken":
            return self.reply(503, b"no idea\n\x1b[31m")
        if mode == "denied":
            return self.reply(401, b"Code: 193, Wrong password")
        if mode == "garbage":
            return self.reply(200, b"\xff" * 1000)
        if mode == "newer":
            return self.reply(200, (9).to_bytes(8, "little"))
        parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        try:
            return self.reply(200, engine.answer(parameters, body))
        except Refusal as refusal:
            return self.reply(400, str(refusal).encode())

    def log_message(self, *args):
        pass


port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = http.server.HTTPServer(("127.0.0.1", port), Handler)
# FOLDER/tls.pem makes it one of https, which asks for certificates that FOLDER/client.pem has signed.
if os.path.exists(f"{folder}/tls.pem"):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(f"{folder}/tls.pem")
    if os.path.exists(f"{folder}/client.pem"):
        tls.verify_mode = ssl.CERT_REQUIRED
        tls.load_verify_locations(f"{folder}/client.pem")
    server.socket = tls.wrap_socket(server.socket, server_side=True)
with open(f"{folder}/port.new", "w") as out:
    out.write(str(server.server_port))
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
