# SPDX-License-Identifier: MIT
"""The programs that the benches of unwinding record: those of a distribution, as they are, and a
few of our own in other languages. Each runs for longer than it is recorded.
"""
import glob
import os
import shlex
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "import json\nwhile 1: json.loads(json.dumps([{'a': [1, 2.5, 'x']}] * 50))"
NODE = """let n = 0;
for (;;) { n += JSON.parse(JSON.stringify({a: [1, 2, 'x'.repeat(n % 50)]})).a.length;
           [3, 1, 2].sort((a, b) => a - b); new RegExp('a+b').test('aaab'); }"""
PERL = "while (1) { my %h; $h{$_ % 97} .= 'x' for 1 .. 999; join ',', sort keys %h }"
# Some minutes of work for a compiler, and no deeper nested than usual.
CXX = """#include <algorithm>
#include <map>
#include <regex>
#include <string>
template <int N> struct table {
	std::map<std::string, std::basic_regex<char>> m;
	int f(std::string s)
	{
		m[s] = std::regex(s + std::to_string(N));
		std::sort(s.begin(), s.end(), [](char a, char b) { return a * N < b * N; });
		return (int)s[N % 7];
	}
};
""" + "".join(f"template struct table<{i}>;\n" for i in range(300))


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def make_data(folder):
    path = os.path.join(folder, "data")
    with open(path, "wb") as out:
        for name in ["/usr/bin/python3", "/usr/bin/perl", "/usr/bin/bash"] + \
                glob.glob("/usr/lib/*/libc.so.6"):
            with open(name, "rb") as file:
                out.write(file.read(4 << 20))
    return path


def forever(command):
    return ["/bin/sh", "-c", f"while :; do {command}; done"]


def make_tree(folder):
    """60 files in C, so small that most of the time goes into starting compilers."""
    tree = os.path.join(folder, "tree")
    os.mkdir(tree)
    write(tree, "Makefile", "all: $(patsubst %,f%.o,$(shell seq 60))\n")
    for i in range(1, 61):
        write(tree, f"f{i}.c", "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
              f"int f{i}(char *s) {{ return printf(\"%zu\", strlen(s)) + atoi(s); }}\n")
    return tree


def build(folder, tool, arguments, source, output):
    """A program of our own, or None where there is no toolchain for it."""
    found = shutil.which(tool) or next(
        (path for path in (f"/usr/local/go/bin/{tool}", os.path.expanduser(f"~/.cargo/bin/{tool}"))
         if os.access(path, os.X_OK)), None)
    output = os.path.join(folder, output)
    if not found:
        return None
    environment = dict(os.environ, GOCACHE=os.path.join(folder, "go-cache"), GO111MODULE="off")
    done = subprocess.run([found, *arguments, "-o", output, os.path.join(HERE, source)],
                          cwd=folder, env=environment, check=False)
    return [output] if done.returncode == 0 else None


def cc1plus(source):
    """The compiler itself as g++ would start it, or None."""
    if not shutil.which("g++"):
        return None
    output = subprocess.run(["g++", "-###", "-O2", "-S", "-o", "/dev/null", source],
                          stderr=subprocess.PIPE, check=False, text=True).stderr
    line = next((line for line in output.splitlines() if "cc1plus" in line.split(" -")[0]), None)
    return shlex.split(line) if line else None


def distribution(folder):
    """{name: command} of long-lived programs."""
    data, source = make_data(folder), write(folder, "source.cc", CXX)
    speed = ["/usr/bin/openssl", "speed", "-seconds", "60"]
    programs = {
        "python3": ["/usr/bin/python3", "-c", PYTHON],
        "node": ["/usr/bin/node", "-e", NODE],
        "perl": ["/usr/bin/perl", "-e", PERL],
        "gzip": ["/usr/bin/gzip", "-9", "-c", *[data] * 20],
        "xz": ["/usr/bin/xz", "-T1", "-6", "-c", *[data] * 20],
        "zstd": ["/usr/bin/zstd", "-b1", "-e19", "-i1", data],
        "openssl-rsa": [*speed, "rsa2048"],
        "openssl-aes-gcm": [*speed, "-evp", "aes-256-gcm"],
        "openssl-chacha20": [*speed, "-evp", "chacha20-poly1305"],
        "openssl-sha256": [*speed, "-evp", "sha256"],
    }
    compiler = cc1plus(source)
    if compiler:
        programs["cc1plus"] = compiler
    return {name: command for name, command in programs.items() if os.access(command[0], os.X_OK)}


def languages(folder):
    """{name: command} of our own programs."""
    built = {
        "c++": build(folder, "g++", ["-O2", "-std=c++17"], "exceptions.cc", "exceptions"),
        "rust": build(folder, "rustc", ["-O"], "trees.rs", "trees"),
        "rust-abort": build(folder, "rustc", ["-O", "-Cpanic=abort"], "trees.rs", "trees-abort"),
        "go": build(folder, "go", ["build"], "goroutines.go", "goroutines"),
    }
    return {name: command for name, command in built.items() if command}


def short_lived(folder):
    """{name: command} of many processes that end soon."""
    data = make_data(folder)
    small = os.path.join(folder, "small")
    with open(data, "rb") as file, open(small, "wb") as out:
        out.write(file.read(3 << 20))
    steps = [f"gzip -9 -c {small} >/dev/null", f"xz -T1 -1 -c {small} >/dev/null",
             "python3 -c 'for i in range(400): sorted(str(j) for j in range(900))'",
             "perl -e 'for (1 .. 500) { my @a = sort map { $_ * 7919 % 503 } 1 .. 999 }'"]
    return {
        "make": forever(f"make -s -B -j2 -C {make_tree(folder)}"),
        "loop": forever("; ".join(steps)),
    }
