#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures prof beside the converters of other tools on files that both read.

    converters.py [--jfrconv JAR] [--trace-processor FOLDER] [--rounds N] FILE...

    flight recordings    prof convert to pprof, and jfrconv -o pprof (async-profiler's jfr-converter.jar)
    trace events         prof report, and trace_processor that counts slices, as WebAssembly in node;
                         FOLDER as in tests/prove/perfetto
    perf.data            prof script, and perf script

The two take turns, N (3) times. Prints medians of CPU time, their ratio, and prof's peak memory.
Targets: 2 times as fast as the other tool; 300 MB for files of 1 GB.
"""

import argparse
import os
import statistics
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(ROOT, os.environ.get("BUILD", "build"), "prof")))
FIELDS = "comm,tid,time,ip,sym,dso"


def measure(words):
    """CPU seconds and peak memory in MB of a command."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        text = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{words[0]}: status {child.returncode}: {text.decode(errors='replace').strip()[-200:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def commands(path, options, folder):
    """prof's command and the other's for a file; None: the other is not there."""
    with open(path, "rb") as file:
        head = file.read(8)
    out = os.path.join(folder, "out")
    if head[:4] == b"FLR\0":
        return ([PROF, "convert", "-q", path, "-o", out + ".pb.gz"],
                options.jfrconv and ["java", "-jar", options.jfrconv, "-o", "pprof", path, out + ".pprof"])
    if head in (b"PERFILE2", b"2ELIFREP"):
        return [PROF, "script", path], ["perf", "script", "-F", FIELDS, "-i", path]
    return ([PROF, "report", "--no-config", "--limit", "1", path],
            options.trace_processor and ["node", os.path.join(ROOT, "tests/prove/trace_processor.mjs"),
                                         options.trace_processor, path, "select count(*) from slice"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--jfrconv")
    parser.add_argument("--trace-processor")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prof-converters.") as folder:
        for path in options.files:
            own, other = commands(path, options, folder)
            rows = [(measure(own), measure(other) if other else None) for _ in range(options.rounds)]
            cpu = statistics.median(row[0][0] for row in rows)
            text = (f"{os.path.basename(path)}: {os.path.getsize(path) / 1e6:.0f} MB, prof {cpu:.2f} s, "
                    f"{max(row[0][1] for row in rows):.0f} MB")
            if other:
                peer = statistics.median(row[1][0] for row in rows)
                text += f"; {os.path.basename(other[0])} {peer:.2f} s: {peer / cpu:.1f} times"
            print(text, flush=True)


if __name__ == "__main__":
    main()
