# SPDX-License-Identifier: MIT
"""Judges the stacks of a Go program by its disassembly.

An edge of a stack is right if the caller's address is in a call instruction, and if a direct call
leads to the function that the callee's address is in. The frames of the runtime that end a stack or
lead from one stack to another are known by name.
"""

import collections
import gzip
import json
import re
import subprocess

# An instruction, or a label: "  401000:\tcall   402000 <main.f>", "0000000000401000 <main.main>:".
INSTRUCTION = re.compile(r" *([0-9a-f]+):\s+(\S+)\s*(.*)")
LABEL = re.compile(r"([0-9a-f]+) <(.*)>:")
# Code that makes another piece of code look called: a signal's frame, an injected call.
SEAMS = {"runtime.sigreturn", "runtime.sigreturn.abi0",
         "runtime.sigreturn__sigaction", "runtime.sigreturn__sigaction.abi0",
         "runtime.asyncPreempt", "runtime.asyncPreempt.abi0", "runtime.sigpanic",
         # The first function of a goroutine "returns" behind its first byte.
         "runtime.goexit", "runtime.goexit.abi0", "__restore_rt"}


ANYWHERE = -1  # target of an indirect jump


class Program:
    """The instructions of a file, by address."""

    def __init__(self, path):
        self.calls = {}  # address in a call -> target, or None
        self.starts = []
        self.tails = collections.defaultdict(set)  # function -> functions it jumps to
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        call, function = None, None
        for line in text.splitlines():
            if match := LABEL.match(line):
                function = int(match[1], 16)
                self.starts.append((function, match[2]))
                continue
            match = INSTRUCTION.match(line)
            if not match:
                continue
            at = int(match[1], 16)
            if call:
                for address in range(call[0], at):
                    self.calls[address] = call[1]
            call = None
            target = re.match(r"([0-9a-f]+) <", match[3])
            if match[2].startswith("call"):
                call = (at, int(target[1], 16) if target else None)
            elif match[2].startswith("j") and function is not None:
                self.tails[function].add(int(target[1], 16) if target else ANYWHERE)
        self.starts.sort()

    def function(self, address):
        low, high = 0, len(self.starts)
        while low < high:
            middle = (low + high) // 2
            if self.starts[middle][0] <= address:
                low = middle + 1
            else:
                high = middle
        return self.starts[low - 1] if low else (0, "")

    def leads_to(self, start, wanted):
        """Does a call of `start` lead into the function at `wanted`, by jumps at most?"""
        seen, todo = set(), [start]
        while todo:
            target = todo.pop()
            function = self.function(target)[0]
            if target == ANYWHERE or function == wanted:
                return True
            if function in seen or len(seen) > 20:
                continue
            seen.add(function)
            todo.extend(self.tails[function])
        return False


def judge(profile, path, first_vaddr=0):
    """Returns (edges, {why: count}) of the profile's stacks, weighted by samples."""
    program = Program(path)
    with gzip.open(profile) as file:
        data = json.load(file)
    shared = data["shared"]
    stacks, frames = shared["stackTable"], shared["frameTable"]
    name = path.rsplit("/", 1)[-1]
    libs = [lib["name"] for lib in data["libs"]]
    samples = collections.Counter(
        stack for thread in data["threads"] for stack in thread["samples"]["stack"]
        if stack is not None)
    below = collections.Counter(samples)
    length = stacks["length"]
    for row in range(length - 1, -1, -1):
        offset = stacks["prefixOffset"][row]
        if offset:
            below[row - offset] += below[row]

    def native(row):
        """The frame of a row without its inlined callers: the first of an address."""
        while frames["inlineDepth"][stacks["frame"][row]] and stacks["prefixOffset"][row]:
            row -= stacks["prefixOffset"][row]
        return row

    def is_in_kernel(lib):
        return lib is None or lib < 0 or libs[lib].startswith("[kernel")

    edges, wrong = 0, collections.Counter()
    for row in range(length):
        frame = stacks["frame"][row]
        offset = stacks["prefixOffset"][row]
        if not below[row] or not offset or frames["inlineDepth"][frame]:
            continue
        caller = stacks["frame"][native(row - offset)]
        lib, address = frames["lib"][caller], frames["address"][caller]
        if lib is None or lib < 0 or libs[lib] != name:
            continue
        address += first_vaddr
        caller_name = program.function(address)[1]
        edges += below[row]
        callee_lib = frames["lib"][frame]
        callee = frames["address"][frame] + first_vaddr if callee_lib == lib else None
        callee_start, callee_name = program.function(callee) if callee else (None, "?")
        if callee_name in SEAMS or caller_name in SEAMS or is_in_kernel(callee_lib):
            continue
        if address not in program.calls:
            wrong[f"{caller_name} +{address - program.function(address)[0]:#x}: no call, "
                  f"below {callee_name}"] += below[row]
            continue
        target = program.calls[address]
        if target is not None and callee_start is not None and \
                not program.leads_to(target, callee_start):
            wrong[f"{caller_name} calls {program.function(target)[1]}, not {callee_name}"] += \
                below[row]
    return edges, wrong
