/* SPDX-License-Identifier: MIT */
/*
 * Code that processes generated, as reported by perf maps and jitdumps. Reports come later than
 * samples of the code, and an address may hold different code at different times. So code is
 * collected here, and frames are named once all reports have arrived (code_frames.c).
 */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/frames.h"
#include "lib/model/tables/profile.h"
#include "lib/model/tables/strings.h"
#include "lib/stream/session/tasks/process.h"

/* Properties of each kind of frame in stack records. */

/* Address space of a frame. */
enum frame_place {
	FRAME_PLACE_UNKNOWN, /* unknown kind: the frame is left out of stacks */
	FRAME_PLACE_KERNEL,
	/*
	 * In a mapping of the process. The stack ends at an address outside of all mappings, which
	 * is not code.
	 */
	FRAME_PLACE_PROCESS,
	/*
	 * Not in memory: mappings are not searched, and the stack continues on both sides of the
	 * frame.
	 */
	FRAME_PLACE_NONE,
};

struct frame_kind_info {
	enum frame_place place;
	enum profile_frame_kind kind; /* kind of frame in the profile */
	/*
	 * The address is that of the next instruction, not a return address; so is that of the next
	 * inner frame, which the kernel started.
	 */
	bool is_interrupted;
};

/* Accepts any byte as kind. is_kernel_part: the frame is in the stack's kernel part. */
const struct frame_kind_info *frame_kind_info(uint8_t kind, bool is_kernel_part);

struct code_line {
	uint32_t offset; /* from the start of the code */
	uint32_t line;
	string_id file; /* string in `names`; NO_STRING: unknown */
	string_id inlined; /* string in `names`, as in rec_code_line; NO_STRING: the code's own
			      function */
};

struct code_entry {
	uint64_t since;
	uint64_t start, end; /* [start, end) */
	process_id process;
	string_id name; /* string in `names` */
	uint32_t first_line, line_count; /* range in `lines` */
	bool is_exact; /* the code did not exist before `since` */
	uint32_t dump; /* index into `dumps`; NO_DUMP: the code bytes are not stored */
	uint64_t dump_offset; /* offset of the load record */
};

#define NO_DUMP UINT32_MAX

/* Lines of code, which several processes may share. */
struct code_lines {
	uint32_t first, count; /* range in `lines` */
};

/* A jitdump written by a process. */
struct code_dump {
	process_id process;
	uint8_t id[sizeof(((struct rec_code_dump *)NULL)->id)];
};

/* An exec: from this time on, the process runs a different program. */
struct code_exec {
	process_id process;
	uint64_t time;
};

struct code_table {
	VEC(struct code_entry) rows; /* in order of arrival */
	VEC(struct code_entry) managed; /* code of runtimes, by position, in order of arrival */
	VEC(struct code_line) lines;
	VEC(struct code_lines) pieces; /* distinct line ranges */
	struct index by_lines; /* index of `pieces` */
	VEC(struct code_exec) execs;
	VEC(struct code_dump) dumps;
	struct strings names; /* separate from the profile, because most code is never sampled */
};

/* A zeroed struct is an empty table. */
void code_table_release(struct code_table *t);
/* `space_start`: time at which the process's current program began. */
void code_table_add(struct code_table *t, process_id process, uint64_t space_start,
		    const struct rec_code *rec);
/*
 * Names frames in anonymous memory after the code that lay there when they were sampled. Call once
 * all samples and all code have arrived. Notes in each process whether its generated code had a
 * map.
 */
void code_frames_name(struct profile *p, struct code_table *table,
		      const struct process_table *processes);
