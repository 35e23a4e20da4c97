#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges a recorded profile: judge.py FILE [ARGUMENT...] <CODE

Runs the Python code with these names; fails if an expectation is not met or the profile is not
valid:

    p, args                 the profile, the arguments
    expect(holds, text)     notes text unless it holds
    thread(name)            the only thread with this name; fails if there is another
    threads_of(pid)         of a process, a number
    samples(thread=None)    [(thread, time in ms, weight, frames)] of the ticks and other events,
                            frames outermost first
    waits(thread=None)      the same of the waits: their innermost frame is a label, "[read]"
    own(function, thread)   weight of the samples whose innermost frame has this name
    within(function, thread)  the same, with the function anywhere in the stack
    near(count, of, share)  count is a plausible result of `of` independent trials (5 sigma, 1 in 2 million)
    cpu_ms(thread)          sum of its threadCPUDelta
    told()                  {name: (wall, CPU time, time queued for a CPU, calls)} in ms, of the
                            arguments that tests/workloads/spent.h prints
    waited_ms(category=None, function=None, thread=None)
                            time of waits of that category or subcategory, in the function
    queued_ms(function=None, thread=None)
                            likewise of waits for a CPU
    about(got, wanted, sigma, what)
                            5 sigma at most, and an interval, between them
    at_least(ms, function)  it has the ticks of that CPU time, minus those known to be missed
    spent(ms, function, *threads)  are there as many samples in it as that CPU time has ticks? As near
                            as the recording and the kernel say that it can be; for record()
"""

import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import check_profile  # noqa: E402


class Judge:
    def __init__(self, path):
        self._stem = path.removesuffix(".gz").removesuffix(".json")
        self.p = check_profile.load(path)
        self.problems = [f"invalid: {text}" for text in check_profile.check(self.p)]

    def expect(self, holds, text):
        if not holds:
            self.problems.append(str(text))

    def thread(self, name):
        found = [t for t in self.p["threads"] if t["name"] == name]
        if len(found) != 1:
            sys.exit(f"{len(found)} threads with the name {name} among "
                     f"{check_profile.thread_names(self.p)}")
        return found[0]

    def threads_of(self, pid):
        return [t for t in self.p["threads"] if t["pid"] == str(pid)]

    def samples(self, thread=None):
        return [row for row in check_profile.samples(self.p, thread)
                if not check_profile.is_wait(row[3])]

    def waits(self, thread=None):
        return [row for row in check_profile.samples(self.p, thread)
                if check_profile.is_wait(row[3])]

    def own(self, function, thread=None):
        return sum(weight for _, _, weight, frames in self.samples(thread)
                   if frames and frames[-1]["name"] == function)

    def within(self, function, thread=None):
        return sum(weight for _, _, weight, frames in self.samples(thread)
                   if any(frame["name"] == function for frame in frames))

    def near(self, count, of, share):
        # One more on each side: the timer's phase at begin and end.
        self.expect(abs(count - of * share) <= 5 * math.sqrt(of * share * (1 - share)) + 2,
                    f"{count} of {of}, expected a share of {share}")

    def _read(self, suffix):
        with open(self._stem + suffix, encoding="utf-8") as file:
            return file.read()

    def at_least(self, ms, function):
        stats = json.loads(self._read(".stats"))
        count = self.within(function)
        low = 0.95 * ms / stats["interval_ms"] - stats["skipped_ticks"] - stats["lost"]
        self.expect(count >= low, f"{count} samples in {function}, at least {low:.0f} for {ms} ms")

    def spent(self, ms, function, *threads):
        stats = json.loads(self._read(".stats"))
        interval = stats["interval_ms"]
        after, before = map(float, self._read(".taken").split("-"))
        count = runs = 0
        for thread in threads:
            found = [(time, weight) for _, time, weight, frames in self.samples(thread)
                     if any(frame["name"] == function for frame in frames)]
            times = [time for time, _ in found]
            count += sum(weight for _, weight in found)
            runs += 1 + sum(b - a > 1.5 * interval for a, b in zip(times, times[1:]))
        # Whenever another thread takes over, chance decides who gets the next tick: 5 sigma of
        # that, and one tick more at begin and end.
        chance = 2.5 * math.sqrt(runs) + 2
        # Time stolen from a CPU is not the thread's, but its tick still comes, late. The kernel's
        # accounts have steps of 10 ms. The recorder is woken by ticks and done before the next:
        # those that it interrupts get the ticks of its time.
        late = (after - before + 10 + stats["recorder_cpu_ms"]) / interval
        low = ms / interval - stats["skipped_ticks"] - stats["lost"] - chance
        high = ms / interval + late + chance
        self.expect(low <= count <= high,
                    f"{count} samples in {function}, {ms} ms in {runs} runs: {low:.0f} to {high:.0f}; "
                    f"{stats['skipped_ticks']} skipped, {stats['lost']} lost, {late:.0f} late")

    def cpu_ms(self, thread):
        units = {"ns": 1e6, "µs": 1e3, "ms": 1}[self.p["meta"]["sampleUnits"]["threadCPUDelta"]]
        # A row of several processes has at most the time that passed, and the sum beside.
        return thread.get("profCPUTime",
                          sum(delta or 0 for delta in thread["samples"]["threadCPUDelta"])) / units

    @staticmethod
    def told(words=None):
        words = sys.argv[2:] if words is None else words
        return {name: (int(wall) / 1e6, int(cpu) / 1e6, int(queued) / 1e6, int(calls))
                for name, wall, cpu, queued, calls in zip(*[iter(words)] * 5)}

    def waited_ms(self, category=None, function=None, thread=None):
        return self.p["meta"]["interval"] * sum(
            weight for _, _, weight, frames in self.waits(thread)
            if category in (None, frames[-1]["category"], frames[-1]["subcategory"])
            and (not function or any(frame["name"] == function for frame in frames)))

    def queued_ms(self, function=None, thread=None):
        return sum(self.waited_ms(kind, function, thread) for kind in ("Preempted", "Queued"))

    def about(self, got, wanted, sigma, what):
        self.expect(abs(got - wanted) <= 5 * sigma + self.p["meta"]["interval"],
                    f"{what}: {got:.1f} ms, in truth {wanted:.1f}, sigma {sigma:.1f}")


def main():
    judge = Judge(sys.argv[1])
    names = {name: getattr(judge, name) for name in dir(judge) if not name.startswith("_")}
    names["args"] = sys.argv[2:]
    names["check_profile"] = check_profile
    exec(compile(sys.stdin.read(), "judgement", "exec"), names)  # pylint: disable=exec-used
    for problem in judge.problems:
        print(problem)
    return 1 if judge.problems else 0


if __name__ == "__main__":
    sys.exit(main())
