#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector on this machine that speaks gRPC, by HTTP/2: fake_grpc.py FOLDER [PORT].

Writes FOLDER/port, each message as FOLDER/each/NUMBER, and FOLDER/requests as fake_engine.py does. Heads of
requests are not read. FOLDER/mode, if it is there: "status CODE [SECONDS]" (of gRPC, and when to try again),
"limit BYTES", "partial" (two profiles are refused), "http CODE", "silent" (no status), "reset", "portal" (a page),
"early" (the service is missing, and the stream ends before the message is there). With FOLDER/parca,
it is one, and refuses what that refuses. FOLDER/tls.pem makes it one of TLS, which agrees on HTTP/2 alone.
"""

import base64
import gzip
import os
import socket
import socketserver
import ssl
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import engine_rules  # noqa: E402
import otlp_rules  # noqa: E402

folder = sys.argv[1]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
CANCEL = 8
END_STREAM, ACK, END_HEADERS, PADDED = 1, 1, 4, 8
PARTIAL = b"\n\x07\x08\x02\x12\x03no\x1b"


def delayed(seconds):
    """A google.rpc.Status whose details say when to try again."""
    delay = b"\x0a\x02\x08" + bytes([seconds])
    kind = b"type.googleapis.com/google.rpc.RetryInfo"
    any_of = b"\x0a" + bytes([len(kind)]) + kind + b"\x12" + bytes([len(delay)]) + delay
    return base64.b64encode(b"\x1a" + bytes([len(any_of)]) + any_of).rstrip(b"=").decode()


def response(pprof):
    """A parca.query.v1alpha1.QueryResponse: the file, and the number of its samples."""
    size, rest = b"", len(pprof)
    while rest >= 128:
        size, rest = size + bytes([rest & 127 | 128]), rest >> 7
    return b"\x32" + size + bytes([rest]) + pprof + b"\x48\x07"


class Handler(socketserver.StreamRequestHandler):
    messages = 0

    def frame(self, kind, flags, stream, payload=b""):
        self.wfile.write(struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) +
                         struct.pack(">I", stream) + payload)

    def head(self, stream, pairs, is_end, status=0):
        packed = b"" if not status else b"\x88" if status == 200 else b"\x08\x03" + str(status).encode()
        for name, value in pairs:
            for text in (name, value):
                # Longer texts would have their size in more bytes.
                assert len(text) < 127 + 128
                packed += b"\x00" * (text is name) + (bytes([len(text)]) if len(text) < 127 else
                                                     bytes([127, len(text) - 127])) + text.encode()
        self.frame(HEADERS, END_HEADERS | END_STREAM * is_end, stream, packed)

    def answer(self, stream, body, mode):
        words = mode.split()
        size = struct.unpack_from(">I", body, 1)[0]
        assert size == len(body) - 5
        with open(f"{folder}/requests", "a") as log:
            print(mode or "ok", len(body), "gzip" if body[0] else "None", file=log)
        message = gzip.decompress(body[5:]) if body[0] else body[5:]
        kind = ("content-type", "application/grpc")
        if words[:1] == ["portal"]:
            self.head(stream, [("content-type", "text/html; charset=utf-8")], False, 200)
            return self.frame(DATA, END_STREAM, stream, b"<!DOCTYPE html>")
        if words[:1] == ["http"]:
            return self.head(stream, [], True, int(words[1]))
        if words[:1] == ["status"]:
            pairs = [kind, ("grpc-status", words[1]), ("grpc-message", "it is 100%25 so")]
            if len(words) > 2:
                pairs.append(("grpc-status-details-bin", delayed(int(words[2]))))
            return self.head(stream, pairs, True, 200)
        if words[:1] == ["limit"] and len(message) > int(words[1]):
            return self.head(stream, [kind, ("grpc-status", "8"), ("grpc-message", "received message larger than max")],
                             True, 200)
        out = PARTIAL if mode == "partial" else b""
        if os.path.exists(f"{folder}/each"):
            try:
                # A mode comes first in requests for profiles, and nothing but messages in the others.
                if os.path.exists(f"{folder}/parca") and message[:1] == b"\x08":
                    engine_rules.keep_query(folder, "parca", message)
                    out = response(open(f"{folder}/merged.pb.gz", "rb").read())
                elif os.path.exists(f"{folder}/parca"):
                    engine_rules.judge("parca", message)
                else:
                    otlp_rules.judge(message)
            except engine_rules.Refusal as refusal:
                return self.head(stream, [kind, ("grpc-status", "3"), ("grpc-message", str(refusal)[:200])], True, 200)
        with open(f"{folder}/each/{Handler.messages}", "wb") as file:
            file.write(message)
        Handler.messages += 1
        self.head(stream, [kind], False, 200)
        self.frame(DATA, 0, stream, b"\0" + struct.pack(">I", len(out)) + out)
        return self.head(stream, [("x-other", "1")] if mode == "silent" else [("grpc-status", "0")], True)

    def handle(self):
        if self.rfile.read(len(PREFACE)) != PREFACE:
            return
        # All may come at once.
        self.frame(SETTINGS, 0, 0, struct.pack(">HI", 4, (1 << 31) - 1))
        self.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30))
        bodies = {}
        while True:
            head = self.rfile.read(9)
            if len(head) < 9:
                return
            size, kind, flags = struct.unpack(">I", b"\0" + head[:3])[0], head[3], head[4]
            stream = struct.unpack(">I", head[5:])[0]
            payload = self.rfile.read(size)
            mode = open(f"{folder}/mode").read().strip() if os.path.exists(f"{folder}/mode") else ""
            if kind == SETTINGS and not flags & ACK:
                self.frame(SETTINGS, ACK, 0)
            elif kind == PING and not flags & ACK:
                self.frame(PING, ACK, 0, payload)
            elif kind == HEADERS and mode == "early":
                self.head(stream, [("content-type", "application/grpc"), ("grpc-status", "12"),
                                   ("grpc-message", "unknown service")], False, 200)
                # libcurl may drop a head that arrives together with a reset.
                time.sleep(0.05)
                self.frame(RESET, 0, stream, struct.pack(">I", CANCEL))
            elif kind == DATA and mode != "early":
                if mode == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                    return
                if flags & PADDED:
                    payload = payload[1:len(payload) - payload[0]]
                bodies[stream] = bodies.get(stream, b"") + payload
                if flags & END_STREAM:
                    self.answer(stream, bodies.pop(stream), mode)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    tls = None

    def finish_request(self, request, client_address):
        if self.tls:
            request = self.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
if os.path.exists(f"{folder}/tls.pem"):
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(f"{folder}/tls.pem")
    server.tls.set_alpn_protocols(["h2"])
with open(f"{folder}/port.new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
