#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The process that sends windows, against an engine with faults: each sample arrives once, or is counted
as lost. Prints TAP. pusher.py PROF ENGINE_SCRIPT GRPC_SCRIPT, in an empty folder."""

import array
import gzip
import json
import multiprocessing
import os
import signal
import shutil
import socket
import struct
import subprocess
import sys
import time

prof, engine_script, grpc_script = (os.path.realpath(path) for path in sys.argv[1:4])
view = os.path.join(os.path.dirname(prof), "prof-view")
STACKS = [(f"main;part_{i % 7};function_number_{i};leaf_{i * i}", i % 5 + 1) for i in range(300)]
TICKS = sum(weight for _, weight in STACKS)
with open("stacks.folded", "w") as out:
    for stack, weight in STACKS:
        print(stack, weight, file=out)
subprocess.run([prof, "convert", "-q", "stacks.folded", "-o", "window.json"], check=True)
window = json.load(open("window.json"))
window["meta"]["interval"] = 1.0
SECOND = 10**9
START = 1_700_000_000 * SECOND
FIELDS = ("id", "sent_windows", "sent_samples", "lost_windows", "lost_samples", "refused", "waiting_windows",
          "waiting_bytes", "failures")
results = []


def ok(description, holds, details=""):
    results.append((bool(holds), description, str(details)))


class Engine:
    script = engine_script

    def __init__(self):
        shutil.rmtree("engine", ignore_errors=True)
        os.makedirs("engine/each")
        self.port = 0
        self.start()

    def start(self):
        if os.path.exists("engine/port"):
            os.remove("engine/port")
        self.process = subprocess.Popen([sys.executable, self.script, "engine", str(self.port)],
                                        stderr=subprocess.DEVNULL)
        while not os.path.exists("engine/port"):
            time.sleep(0.01)
        self.port = int(open("engine/port").read())

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()

    def mode(self, text):
        with open("engine/mode.new", "w") as out:
            out.write(text)
        os.rename("engine/mode.new", "engine/mode")

    def url(self, is_otlp=False):
        return f"otlp+http://127.0.0.1:{self.port}" if is_otlp else f"clickhouse+http://127.0.0.1:{self.port}/many"

    def ticks(self):
        """Sums over all windows, with waits, and their losses."""
        out = subprocess.run([prof, "fleet", "windows", "--json", self.url()], capture_output=True, text=True)
        rows = json.loads(out.stdout or "[]")
        return sum(row["ticks"] + row["waits"] for row in rows), len(rows), sum(row["lost"] for row in rows)

    def requests(self):
        return [line.split() for line in open("engine/requests")] if os.path.exists("engine/requests") else []


def collected(script, *arguments):
    """Sums over all messages that were taken."""
    rules = os.path.join(os.path.dirname(grpc_script), script)
    messages = [f"engine/each/{name}" for name in os.listdir("engine/each")]
    result = subprocess.run([sys.executable, rules, *arguments, *messages], capture_output=True, check=True)
    return sum(json.loads(line)["all"]["samples"] for line in result.stdout.splitlines())


class GrpcEngine(Engine):
    script = grpc_script

    def url(self):
        return f"otlp+grpc://127.0.0.1:{self.port}"

    def ticks(self):
        return collected("otlp_rules.py")


class Pyroscope(Engine):
    faults = ("status 429 1", "status 503", "status 502", "reset")
    refusals = ("status 400", "status 401")

    def url(self):
        return f"pyroscope+http://127.0.0.1:{self.port}"

    def ticks(self):
        return collected("engine_rules.py", "pyroscope")


class Parca(GrpcEngine):
    faults = ("status 14", "status 8 1", "reset")
    refusals = ("status 3", "status 12")

    def __init__(self):
        super().__init__()
        open("engine/parca", "w").close()

    def url(self):
        return f"parca+http://127.0.0.1:{self.port}"

    def ticks(self):
        return collected("engine_rules.py", "parca")


class Pusher:
    def __init__(self, url, spool="", first=0.02, environment=()):
        self.environment = dict(environment)
        self.settings = [url, spool, str(int(first * SECOND)), "h1", "web", "", "0", "a=b"]
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.theirs = theirs
        self.start()

    def start(self):
        fd = self.theirs.fileno()
        settings = os.memfd_create("settings", 0)
        os.write(settings, "".join(text + "\0" for text in self.settings).encode())
        os.lseek(settings, 0, os.SEEK_SET)
        self.process = subprocess.Popen([view, "__push", str(fd), str(settings)], pass_fds=[fd, settings],
                                        stderr=open("stderr", "a"), env=dict(os.environ, **self.environment))
        os.close(settings)

    def send(self, number, samples=0, lost=0, size=0):
        """A window, which is a profile; its answer is left there if `samples` is None."""
        data = dict(window, meta=dict(window["meta"], startTime=START / 1e6 + number * 10_000))
        fd = os.memfd_create("window")
        if size:
            data["meta"] = dict(data["meta"], comment=os.urandom(size // 2).hex())
        os.write(fd, gzip.compress(json.dumps(data).encode(), 1))
        job = struct.pack("<QQQ", START + number * 10 * SECOND, samples, lost)
        self.ours.sendmsg([job], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        os.close(fd)

    def ask(self):
        self.ours.send(struct.pack("<QQQ", 0, 0, 0))
        while True:
            answer = self.answer()
            if answer["id"] == 0:
                return answer

    def answer(self):
        data = self.ours.recv(4096)
        assert data, "the pusher is gone: " + open("stderr").read()
        report = dict(zip(FIELDS, struct.unpack_from("<9Q", data)))
        report["words"] = data[72:].split(b"\0")[0].decode()
        return report

    def wait_for(self, condition, seconds=60):
        end = time.time() + seconds
        report = self.ask()
        while not condition(report) and time.time() < end:
            time.sleep(0.02)
            report = self.ask()
        return report

    def end(self, seconds=30):
        self.theirs.close()
        self.ours.close()
        return self.process.wait(seconds)


def ready():
    engine = Engine()
    subprocess.run([prof, "fleet", "init", engine.url()], check=True, stderr=subprocess.DEVNULL)
    open("stderr", "w").close()
    return engine


def arrives(name, begin, end, windows=6, first=0.02, failures=2):
    """Windows are sent while there is a fault, and arrive after it."""
    engine = ready()
    pusher = Pusher(engine.url(), "", first)
    begin(engine, pusher)
    for number in range(windows):
        pusher.send(number, TICKS)
        pusher.answer()
    report = pusher.wait_for(lambda r: r["failures"] >= failures)
    ok(f"{name}: will be retried", report["failures"] >= failures and not report["sent_windows"], report)
    end(engine, pusher)
    report = pusher.wait_for(lambda r: r["sent_windows"] == windows)
    ok(f"{name}: all is sent", report["sent_windows"] == windows and not report["waiting_windows"] and
       not report["lost_windows"], report)
    ok(f"{name}: each sample once", engine.ticks()[:2] == (windows * TICKS, windows), engine.ticks())
    ok(f"{name}: it ends", pusher.end() == 0, open("stderr").read())
    engine.stop()


def mode(text):
    return lambda engine, pusher: engine.mode(text)


def healthy(engine, pusher):
    engine.mode("")


def start_again(engine, pusher):
    engine.start()
    subprocess.run([prof, "fleet", "init", engine.url()], check=True, stderr=subprocess.DEVNULL)


def certificate(name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", f"{name}.key",
                    "-out", f"{name}.crt", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, stderr=subprocess.DEVNULL)
    with open(f"{name}.pem", "w") as out:
        out.write(open(f"{name}.key").read() + open(f"{name}.crt").read())


def fails(name, address, words, environment=()):
    open("stderr", "w").close()
    pusher = Pusher(address, environment=environment)
    pusher.send(10**7, TICKS)
    pusher.answer()
    # A busy machine may exceed the time limit of a request, before or between: then all is sent again.
    def messages():
        return open("stderr").read().splitlines()
    report = pusher.wait_for(lambda r: r["failures"] >= 3 and any(words in line for line in messages()))
    ok(f"{name}: will be retried, and nothing is lost", report["failures"] >= 3 and report["waiting_windows"] == 1 and
       not report["lost_windows"], report)
    lines = messages()
    answers = {line for line in lines if "Timeout was reached" not in line}
    # Without a certificate, the server ends the connection while something is sent, or before.
    ok(f"{name}: it is said in a line", 0 < len(answers) <= (3 if words.startswith("127") else 1) and
       all(words in line and line.endswith("will be retried") for line in answers) and
       all(line != following for line, following in zip(lines, lines[1:])), lines)
    pusher.end()


def faults():
    arrives("an engine that is down", lambda e, p: e.stop(), start_again)
    arrives("503", mode("status 503"), healthy)
    arrives("429", mode("status 429"), healthy)
    arrives("a reset in the middle of a body", mode("reset"), healthy)
    arrives("an answer that is none", mode("garbage"), healthy)
    arrives("a portal's page", mode("portal"), healthy)
    arrives("a server of a byte a second", mode("slow"), healthy, windows=2, first=0.03, failures=1)
    arrives("a stopped server", lambda e, p: e.process.send_signal(signal.SIGSTOP),
            lambda e, p: e.process.send_signal(signal.SIGCONT), windows=3, first=0.03, failures=1)


def retry_after():
    """Retry-After, in both forms."""
    for form in ("seconds", "a date"):
        engine = ready()
        pusher = Pusher(engine.url())
        then = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 6))
        engine.mode("status 429 " + ("6" if form == "seconds" else then))
        pusher.send(0, TICKS)
        pusher.answer()
        pusher.wait_for(lambda r: r["failures"] == 1)
        asked = len(engine.requests())
        time.sleep(0.5)
        ok(f"Retry-After in {form}: nothing is sent before", len(engine.requests()) == asked, engine.requests())
        engine.mode("")
        ok(f"Retry-After in {form}: it is sent then", pusher.wait_for(lambda r: r["sent_windows"] == 1)["sent_windows"] == 1)
        pusher.end()
        engine.stop()


def too_large():
    """Too large: halves, down to what it takes."""
    engine = ready()
    pusher = Pusher(engine.url())
    engine.mode("limit 9000")
    for number in range(3):
        pusher.send(number, TICKS)
        pusher.answer()
    report = pusher.wait_for(lambda r: r["sent_windows"] == 3)
    ok("413: halves arrive", report["sent_windows"] == 3 and engine.ticks()[:2] == (3 * TICKS, 3), (report, engine.ticks()))
    ok("413: it was refused before", "413" in [row[0] for row in engine.requests()])
    sizes = [int(row[1]) for row in engine.requests() if row[2] == "gzip"]
    ok("bodies are packed", sizes, engine.requests())
    pusher.end()
    engine.stop()


def refused():
    """Refused: given up, counted, said once."""
    for status in (400, 401):
        engine = ready()
        pusher = Pusher(engine.url())
        engine.mode(f"status {status}")
        for number in range(3):
            pusher.send(number, TICKS)
            pusher.answer()
        report = pusher.wait_for(lambda r: r["lost_windows"] == 3)
        ok(f"{status}: given up and counted", (report["lost_windows"], report["lost_samples"], report["waiting_windows"]) ==
           (3, 3 * TICKS, 0), report)
        engine.mode("")
        pusher.send(9, TICKS)
        report = pusher.wait_for(lambda r: r["sent_windows"] == 1)
        ok(f"{status}: later ones go on", report["sent_windows"] == 1 and engine.ticks()[0] == TICKS, report)
        ok(f"{status}: said once", open("stderr").read().count(f"status {status}") == 1, open("stderr").read())
        pusher.end()
        engine.stop()


def spool():
    """A spool survives a kill, and the next process goes on."""
    os.mkdir("spool")
    if os.geteuid() == 0:
        os.chown("spool", 65534, 65534)
    folder = os.path.realpath("spool")
    engine = ready()
    engine.mode("status 503")
    pusher = Pusher(engine.url(), folder)
    for number in range(4):
        pusher.send(number, TICKS, 1 if number == 2 else 0)
        pusher.answer()
    pusher.send(4, TICKS)
    pusher.process.kill()
    pusher.process.wait()
    ok("killed: windows are in the spool", len(os.listdir("spool")) >= 4, os.listdir("spool"))
    engine.mode("")
    pusher.start()
    report = pusher.wait_for(lambda r: r["sent_windows"] == 5)
    ok("killed: what it was told last is not lost either", engine.ticks()[:2] == (5 * TICKS, 5), (report, engine.ticks()))
    ok("samples lost before a window are told", engine.ticks()[2] == 1, engine.ticks())
    pusher.wait_for(lambda r: not os.listdir("spool"), 10)
    ok("nothing is left", os.listdir("spool") == [], os.listdir("spool"))
    pusher.send(4, TICKS)
    pusher.answer()
    pusher.wait_for(lambda r: not r["waiting_windows"])
    ok("a window that comes twice counts once", engine.ticks()[0] == 5 * TICKS, engine.ticks())

    # At the end, what cannot be sent stays in the spool, and the status says so.
    engine.mode("status 503")
    pusher.send(5, TICKS)
    pusher.answer()
    began = time.time()
    ok("the end: it ends soon", pusher.end() == 4 and time.time() - began < 10)
    ok("the end: the spool has the rest", len(os.listdir("spool")) == 1, os.listdir("spool"))
    engine.mode("")
    pusher = Pusher(engine.url(), folder)
    pusher.wait_for(lambda r: r["sent_windows"] == 1)
    ok("the end: the next process sends it", engine.ticks()[0] == 6 * TICKS, engine.ticks())
    pusher.end()
    engine.stop()


def memory():
    """Too much: the oldest go, and are counted. Without a folder, 16 MB of memory are there."""
    engine = ready()
    engine.mode("status 503")
    pusher = Pusher(engine.url())
    for number in range(32):
        pusher.send(number, TICKS, size=1 << 20)
        pusher.answer()
    report = pusher.ask()
    ok("memory is bounded", report["waiting_bytes"] <= 16 << 20 and report["lost_windows"] > 0, report)
    engine.mode("")
    report = pusher.wait_for(lambda r: not r["waiting_windows"])
    ok("memory: each is sent or counted", report["sent_windows"] + report["lost_windows"] == 32 and
       report["lost_samples"] == report["lost_windows"] * TICKS and
       engine.ticks()[0] == report["sent_windows"] * TICKS, (report, engine.ticks()))
    pusher.end()
    engine.stop()


def collector():
    """A collector: parts of a window are not sent again."""
    engine = ready()
    pusher = Pusher(engine.url(True))
    pusher.send(10**7, TICKS)  # newer than what is too old
    pusher.answer()
    report = pusher.wait_for(lambda r: r["sent_windows"] == 1)
    whole = report["sent_samples"]
    engine.mode("limit 12000")
    pusher.send(10**7 + 1, TICKS)
    pusher.answer()
    report = pusher.wait_for(lambda r: r["sent_windows"] == 2)
    messages = os.listdir("engine/each")
    ok("a collector: all of it", whole == TICKS, whole)
    ok("a collector: halves arrive", len(messages) > 2 and report["sent_samples"] == 2 * whole, (report, messages))
    for fault, words in (("portal", "answered with text/html: a proxy"), ("typeless", "answered with data of no type"),
                         ("shapeless", "answer is damaged")):
        engine.mode(fault)
        pusher.send(10**7 + 1, TICKS)
        pusher.answer()
        before = pusher.wait_for(lambda r: r["failures"] >= 2)
        ok(f"a collector, {fault}: the window waits", before["waiting_windows"] == 1 and not before["lost_windows"] and
           words in before["words"], before)
        engine.mode("")
        report = pusher.wait_for(lambda r: not r["waiting_windows"])
        ok(f"a collector, {fault}: it is sent", report["sent_windows"] == before["sent_windows"] + 1, report)
    engine.mode("partial")
    pusher.send(10**7 + 2, TICKS)
    pusher.answer()
    report = pusher.wait_for(lambda r: not r["waiting_windows"])
    ok("a collector: what it refuses is counted", report["refused"] == 2 and "rejected 2 profiles" in report["words"], report)
    pusher.send(1, TICKS)
    pusher.send(10**7 + 3, TICKS)
    report = pusher.wait_for(lambda r: r["lost_windows"] == 1)
    ok("a collector: what is too old is given up", report["lost_windows"] == 1, report)
    pusher.end()
    engine.stop()


def grpc():
    """A collector that speaks gRPC."""
    engine = GrpcEngine()
    open("stderr", "w").close()
    pusher = Pusher(engine.url())
    number = 10**7
    for fault, words in (("status 14", "UNAVAILABLE: it is 100% so"), ("status 4", "DEADLINE_EXCEEDED"), ("http 503", "status 503"),
                         ("silent", "does not speak gRPC"), ("portal", "answered with text/html"), ("reset", "127.0.0.1"), ("status 8 1", "RESOURCE_EXHAUSTED")):
        engine.mode(fault)
        pusher.send(number, TICKS)
        pusher.answer()
        number += 1
        before = pusher.wait_for(lambda r: r["failures"] >= 2)
        asked = time.time()
        ok(f"gRPC, {fault}: will be retried", before["failures"] >= 2 and words in before["words"], before)
        engine.mode("")
        report = pusher.wait_for(lambda r: not r["waiting_windows"])
        ok(f"gRPC, {fault}: it is sent", report["sent_windows"] == number - 10**7 and not report["lost_windows"], report)
    ok("gRPC: it waits as long as it is told to", time.time() - asked > 0.3, time.time() - asked)
    # Servers without a status may have taken it.
    again = sum(row[0] == "silent" for row in engine.requests())
    ok("gRPC: each sample once", engine.ticks() == report["sent_samples"] + again * TICKS ==
       (number - 10**7 + again) * TICKS, (engine.ticks(), report))
    for fault in ("status 3", "status 8", "status 13", "http 404", "early"):
        engine.mode(fault)
        pusher.send(number, TICKS)
        pusher.answer()
        number += 1
        report = pusher.wait_for(lambda r: not r["waiting_windows"])
        ok(f"gRPC, {fault}: a window is given up", report["lost_samples"] == report["lost_windows"] * TICKS > 0, report)
    ok("gRPC: what is given up is counted", report["lost_windows"] == 5, report)
    ok("gRPC: it says what is missing", "UNIMPLEMENTED: unknown service" in report["words"], report)
    engine.mode("limit 12000")
    asked = len(engine.requests())
    pusher.send(number, TICKS)
    pusher.answer()
    report = pusher.wait_for(lambda r: not r["waiting_windows"])
    ok("gRPC: halves arrive", report["sent_windows"] == 8 and 2 < len(engine.requests()) - asked < 8,
       (report, engine.requests()[asked:]))
    engine.mode("partial")
    pusher.send(number + 1, TICKS)
    pusher.answer()
    report = pusher.wait_for(lambda r: not r["waiting_windows"])
    ok("gRPC: what it refuses is counted", report["refused"] == 2 and "rejected 2 profiles" in report["words"], report)
    ok("gRPC: messages are packed", all(row[-1] == "gzip" for row in engine.requests()), engine.requests())
    ok("gRPC: it ends", pusher.end() == 0, open("stderr").read())
    engine.stop()


def pprof_engines():
    """Engines that take pprof."""
    for kind in (Pyroscope, Parca):
        name, engine = kind.__name__, kind()
        open("stderr", "w").close()
        pusher = Pusher(engine.url())
        for number, fault in enumerate(kind.faults):
            engine.mode(fault)
            pusher.send(10**7 + number, TICKS)
            pusher.answer()
            before = pusher.wait_for(lambda r: r["failures"] >= 2)
            ok(f"{name}, {fault}: will be retried", before["failures"] >= 2, before)
            engine.mode("")
            report = pusher.wait_for(lambda r: not r["waiting_windows"])
        ok(f"{name}: each sample once", engine.ticks() == report["sent_samples"] == len(kind.faults) * TICKS,
           (engine.ticks(), report, open("stderr").read()))
        for number, fault in enumerate(kind.refusals):
            engine.mode(fault)
            pusher.send(10**7 + 100 + number, TICKS)
            pusher.answer()
            report = pusher.wait_for(lambda r: not r["waiting_windows"])
        ok(f"{name}: what it refuses is given up and counted", report["lost_samples"] == len(kind.refusals) * TICKS, report)
        engine.mode("limit 6000")
        before = engine.ticks()
        pusher.send(10**7 + 200, TICKS)
        pusher.answer()
        report = pusher.wait_for(lambda r: not r["waiting_windows"])
        ok(f"{name}: halves arrive", engine.ticks() == before + TICKS and len(os.listdir("engine/each")) > len(kind.faults) + 1,
           (report, engine.requests()))
        ok(f"{name}: it ends", pusher.end() == 0, open("stderr").read())
        engine.stop()


def tls():
    """No DNS, a server that is not authentic, a certificate that is missing: said in one line, tried again,
    nothing is lost. The collector is the one that the environment names."""
    for name in ("server", "client", "other"):
        certificate(name)
    os.makedirs("engine/each")
    shutil.copy("server.pem", "engine/tls.pem")
    shutil.copy("client.crt", "engine/client.pem")
    secure = Engine.__new__(Engine)
    secure.port = 0
    secure.start()
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"https://127.0.0.1:{secure.port}", "OTEL_EXPORTER_OTLP_TIMEOUT": "60000",
            "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20s3cret,x-scope=team",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "none", "no_proxy": "*"}
    trusted = dict(base, OTEL_EXPORTER_OTLP_CERTIFICATE="server.crt")
    fails("no DNS", "otlp+http://no-such-host.invalid", "no-such-host.invalid", {"no_proxy": "*"})
    fails("an unknown authority", "otlp", "certificate", base)
    fails("another server's certificate", "otlp", "certificate", dict(base, OTEL_EXPORTER_OTLP_CERTIFICATE="other.crt"))
    fails("no certificate of our own", "otlp", f"127.0.0.1:{secure.port}", trusted)
    os.chmod("client.key", 0o600)
    known = dict(trusted, OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE="client.crt", OTEL_EXPORTER_OTLP_CLIENT_KEY="client.key")
    pusher = Pusher("otlp", environment=known)
    pusher.send(10**7, TICKS)
    pusher.answer()
    report = pusher.wait_for(lambda r: r["sent_windows"] == 1)
    ok("certificates of both: it is sent", report["sent_samples"] == TICKS, (report, open("stderr").read()))
    ok("headers of the environment", open("engine/headers").read().split(" ", 1)[1] == "Bearer s3cret team\n",
       open("engine/headers").read())
    ok("no packing", all(row[2] == "None" for row in secure.requests()), secure.requests())
    with open(f"/proc/{pusher.process.pid}/cmdline") as arguments:
        ok("arguments tell neither address nor names", not {"127.0.0.1", "h1", "web", "a=b"} & set(arguments.read().split("\0")))
    pusher.end()
    window["meta"]["startTime"] = START / 1e6
    json.dump(window, open("dated.json", "w"))
    run = subprocess.run([prof, "push", "dated.json", "otlp"], env=dict(os.environ, **known), capture_output=True, text=True)
    ok("prof push takes them, too", run.returncode == 0 and "sent" in run.stderr, run.stderr)
    secure.stop()
    shutil.rmtree("engine")

    # The same with gRPC.
    os.makedirs("engine/each")
    shutil.copy("server.pem", "engine/tls.pem")
    secure = GrpcEngine.__new__(GrpcEngine)
    secure.port = 0
    secure.start()
    address = secure.url().replace("grpc:", "grpcs:")
    fails("gRPC: an unknown authority", address, "certificate", {"no_proxy": "*"})
    fails("gRPC: another server's certificate", f"{address}?ca-file=other.crt", "certificate", {"no_proxy": "*"})
    pusher = Pusher(f"{address}?ca-file=server.crt", environment={"no_proxy": "*"})
    pusher.send(10**7, TICKS)
    pusher.answer()
    report = pusher.wait_for(lambda r: r["sent_windows"] == 1)
    ok("gRPC: with TLS it is sent", secure.ticks() == report["sent_samples"] == TICKS, (report, open("stderr").read()))
    pusher.end()
    secure.stop()
    shutil.rmtree("engine")


def rights():
    """Rights of the process."""
    engine = ready()
    engine.mode("status 503")
    pusher = Pusher(engine.url())
    pusher.send(0, TICKS)
    pusher.answer()
    status = dict(line.split(":", 1) for line in open(f"/proc/{pusher.process.pid}/status"))
    ok("no capability", all(int(status[key], 16) == 0 for key in ("CapPrm", "CapEff", "CapAmb")), status)
    ok("not root", status["Uid"].split()[0] != "0", status["Uid"])
    ok("system calls are filtered", status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "1", status)
    ok("windows that are in memory only are said", pusher.end() == 3 and "not sent" in open("stderr").read(), open("stderr").read())
    engine.stop()


# The longest first.
PARTS = (faults, grpc, retry_after, pprof_engines, tls, refused, spool, collector, memory, too_large, rights)


def run(part):
    """Runs a part in a process and a folder of its own; returns what it found."""
    os.mkdir(part.__name__)
    os.chdir(part.__name__)
    part()
    return results


def main():
    count = failed = 0
    # Most of the time is spent waiting.
    with multiprocessing.Pool(4, maxtasksperchild=1) as pool:
        for found in pool.imap(run, PARTS):
            for holds, description, details in found:
                count += 1
                failed += not holds
                print("ok" if holds else "not ok", count, "-", description, flush=True)
                if not holds:
                    print("#", details.replace("\n", "\n# "))
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
