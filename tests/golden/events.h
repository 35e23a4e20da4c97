/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Records as text, one a line, for people to write and read. bpf/record.def has the fields of each:
 *
 *	# comment
 *	module id=0 path=/bin/app build-id=00ff segment=0x0:0x1000:0x400000:x
 *	map time=1ms pid=1 start=0x1000 end=0x3000 offset=0x1000 module=0
 *	map time=1ms start=0xffff0000 end=0xffff8000 module=1 flags=kernel
 *	fork time=2ms pid=2 parent=1 name=child
 *	name time=2ms pid=2 name=ls flags=exec
 *	arguments time=2ms pid=2 folder=/src arguments=ls,-l flags=scan
 *	stack time=3ms id=7 kernel=0xffff0010 user=0x1010,0x2020 kinds=kernel,native,guess
 *	sample time=3ms pid=1 leaf=0x1030 stack=7 cpu-time=1ms weight=1 flags=leaf-kernel,…
 *	event-name event=1 name=page-faults
 *	event time=3ms pid=1 leaf=0x1030 stack=7 event=1 period=5 flags=…
 *	exit time=4ms pid=1 flags=process
 *	lost time=4ms cpu=1 cause=ring-full count=3 event=0
 *	throttled time=9ms cpu=1 duration=4ms
 *	cpu time=4ms cpu=1 flags=online
 *
 * (module=none: anonymous memory; tid=N and parent-tid=N where they differ from the pid; a name
 * without flags is a rename, its flags are new-space, exec and scan)
 *
 * and what is no record:
 *
 *	end time=5ms flags=cpus
 *	answer module=app offset=0x1030 symbol=main start=0x1000 size=64 func=main file=/a.c line=3
 *
 * (cpus: the file has a row for each CPU; answer: a symbolizer's for the frames at that place; func,
 * file and line again for each inlined function, outermost first; module=none: a plain address).
 * Times are relative to EVENTS_START_NS and take ns, us, ms or s. A list is separated by commas.
 * \xNN in a text is a byte.
 */
/* clang-format on */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/base.h"

#define EVENTS_START_NS 5000000000ull
#define EVENTS_CHAIN_MAX 8

struct events_name {
	const char *func, *file; /* NULL: unknown */
	uint32_t line, start_line;
};

/* Texts are valid as long as the events. */
struct events_answer {
	const char *module; /* the module's name; NULL: none */
	uint64_t offset;
	const char *symbol; /* NULL: none */
	uint64_t symbol_start, symbol_size;
	struct events_name chain[EVENTS_CHAIN_MAX];
	size_t depth;
};

struct events {
	VEC(uint64_t) words; /* records, one after the other */
	VEC(struct events_answer) answers;
	VEC(char *) texts;
	uint64_t end_ns;
	bool cpus;
};

/* Returns -EINVAL naming the line. Release *e in any case. */
int events_parse(struct events *e, const char *text, struct error *err);
void events_release(struct events *e);
static inline void events_release_cleanup(struct events *e)
{
	events_release(e);
}
/*
 * Checks that each valid record equals itself after being printed and read again. Returns -EINVAL
 * showing one that does not.
 */
int events_check_text(const struct events *e, struct error *err);
/* Returns the record at *word and advances; NULL after the last. */
const struct rec *events_next(const struct events *e, size_t *word);
