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
# Part of the vDSO that arm64's kernel has signal handlers return to.
VDSO_SEAMS = {"__kernel_rt_sigreturn"}


ANYWHERE = -1  # target of an indirect jump
ARM64_JUMPS = re.compile(r"b$|b\.|br$|cbn?z$|tbn?z$")


class Program:
    """The instructions of a file, by address; of x86-64 or arm64."""

    def __init__(self, path, objdump="objdump"):
        self.calls = {}  # address in a call -> target, or None
        self.starts = []
        self.tails = collections.defaultdict(set)  # function -> functions it jumps to
        text = subprocess.run([objdump, "-d", "--no-show-raw-insn", path],
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
            # The last operand; only compare-and-branch of arm64 has others.
            target = re.search(r"(?:^|, )([0-9a-f]+) <", match[3])
            if match[2].startswith("call") or match[2] in ("bl", "blr"):
                call = (at, int(target[1], 16) if target else None)
            elif function is not None and (match[2].startswith("j") or
                                           ARM64_JUMPS.match(match[2])):
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


class Stacks:
    """The stacks of a profile, and how many samples have each row on theirs."""

    def __init__(self, profile):
        with gzip.open(profile) as file:
            data = json.load(file)
        shared = data["shared"]
        self.frames = shared["frameTable"]
        self.frame = shared["stackTable"]["frame"]
        self.parent = [row - offset if offset else None
                       for row, offset in enumerate(shared["stackTable"]["prefixOffset"])]
        self.libs = [lib["name"] for lib in data["libs"]]
        self.categories = data["meta"]["categories"]
        self.markers = [thread["markers"] for thread in data["threads"]]
        self.count = collections.Counter(
            stack for thread in data["threads"] for stack in thread["samples"]["stack"]
            if stack is not None)
        self.leave_out_guesses()
        self.leaves = collections.Counter(self.count)
        functions = shared["funcTable"]["name"]
        self.strings = shared["stringArray"]
        self.name = [functions[function] for function in self.frames["func"]]
        for row in range(len(self.frame) - 1, -1, -1):
            if self.parent[row] is not None:
                self.count[self.parent[row]] += self.count[row]

    def leave_out_guesses(self):
        """A frame that was guessed, and those outward of it, are said to be uncertain."""
        guessed = []
        for row, frame in enumerate(self.frame):
            category = self.frames["category"][frame]
            name = "" if category is None else \
                self.categories[category]["subcategories"][self.frames["subcategory"][frame]]
            parent = self.parent[row]
            guessed.append(name == "Guess" or (parent is not None and guessed[parent]))
            if guessed[row]:
                self.count.pop(row, None)

    def names(self, row):
        """The names of the functions from a row outward."""
        found = set()
        while row is not None:
            found.add(self.strings[self.name[self.frame[row]]])
            row = self.parent[row]
        return found

    def lib(self, frame):
        """Name of the frame's file; "" for the kernel's frames and those of no file."""
        lib = self.frames["lib"][frame]
        name = "" if lib is None or lib < 0 else self.libs[lib]
        return "" if name.startswith("[kernel") else name

    def edges(self):
        """Yields (frame of the caller, frame of the callee, samples), without inlined calls."""
        for row, parent in enumerate(self.parent):
            frame = self.frame[row]
            if parent is None or not self.count[row] or self.frames["inlineDepth"][frame]:
                continue
            while self.frames["inlineDepth"][self.frame[parent]]:
                parent = self.parent[parent]
            yield self.frame[parent], frame, self.count[row]


def judge(profile, path, first_vaddr):
    """Returns (edges, {why: count}) of the profile's stacks, weighted by samples."""
    return judge_by(Program(path), profile, path, first_vaddr)


def judge_by(program, profile, path, first_vaddr):
    """judge() by another file's disassembly."""
    stacks = Stacks(profile)
    address = stacks.frames["address"]
    name = path.rsplit("/", 1)[-1]
    edges, wrong = 0, collections.Counter()
    for caller, callee, count in stacks.edges():
        # A signal's frame in libc has no caller, but interrupted code.
        if stacks.lib(caller) != name or stacks.lib(callee) not in (name, "[vdso]"):
            continue
        at = address[caller] + first_vaddr
        start, caller_name = program.function(at)
        is_own = stacks.lib(callee) == name
        callee_start, callee_name = program.function(address[callee] + first_vaddr) \
            if is_own else (None, stacks.lib(callee))
        if callee_name in SEAMS or caller_name in SEAMS or \
                stacks.strings[stacks.name[callee]] in VDSO_SEAMS:
            continue
        edges += count
        # On arm64 this is as a signal's frame: its address and the caller's are behind the calls.
        if at not in program.calls and \
                "runtime.morestack" in (caller_name[:17], callee_name[:17]):
            at -= 1
        if at not in program.calls:
            wrong[f"{caller_name} +{at - start:#x}: no call, below {callee_name}"] += count
            continue
        target = program.calls[at]
        if target is not None and is_own and not program.leads_to(target, callee_start):
            wrong[f"{caller_name} calls {program.function(target)[1]}, not {callee_name}"] += count
    return edges, wrong
