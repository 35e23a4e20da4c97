/* SPDX-License-Identifier: MIT */
/*
 * Probes in the kernel whose records become markers of one schema, one per row:
 *
 *	ROW(name, NAME, SENT, "sent", TYPE, " of those", with)
 *
 * name      of the instrument and its BPF object. --stats counts records as "name.sent" and as
 *           "name.lost"
 * NAME      these facts are FACT_<NAME>_<SENT> and FACT_<NAME>_LOST
 * TYPE      of the programs whose stacks may show functions of runtimes: RAW tracepoints, TYPED
 *           tracepoints or PERF events; NONE: there are no such stacks
 * of those  says which stacks, in messages
 * with      is passed through
 */
#pragma once

#define MARKER_PROBES(ROW, with) \
	ROW(signals, SIGNALS, DELIVERED, "delivered", RAW, " of signals", with) \
	ROW(syscalls, SYSCALLS, RECORDED, "recorded", RAW, " of system calls", with) \
	ROW(io, IO, RECORDED, "recorded", RAW, " of I/O", with) \
	ROW(faults, FAULTS, RECORDED, "recorded", PERF, " of major faults", with) \
	ROW(net, NET, CONNECTIONS, "connections", RAW, " of connections", with) \
	ROW(jank, JANK, LONG_TASKS, "long_tasks", NONE, "", with)

/* Listed among waits, to which it belongs. */
#define WAKERS_PROBE(ROW, with) ROW(wakers, WAKERS, RECORDED, "told", TYPED, " of wakers", with)
