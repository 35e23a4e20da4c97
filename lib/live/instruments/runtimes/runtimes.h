/* SPDX-License-Identifier: MIT */
/* Converts functions of runtimes to code records. */
#pragma once

#include "lib/code/runtimes/runtime.h"
#include "lib/live/bpf/programs.h"
#include "lib/stream/record/records.h"

/*
 * Sends the function's code: one record or, if it has more lines than fit into one, several for
 * consecutive ranges of its positions.
 */
void send_code_records(const struct runtime *runtime, const struct rec_function *function,
		       const struct managed_code *code, record_sink_fn *sink, void *ctx);

/* Layouts of the interpreters found so far, by the numbers used by the BPF programs. */

struct found_layout {
	struct runtime_layout file; /* derived from the file alone */
	struct runtime_layout layout;
	char version[16];
	bool has_functions; /* functions of it were seen */
};

/* Empty when zeroed. */
struct layouts {
	VEC(struct found_layout) rows;
	uint64_t refused; /* layouts beyond RUNTIME_LAYOUTS_MAX */
};

void layouts_release(struct layouts *l);
/*
 * Appends "Python 3.11, Node.js 20": each version once, of one kind or, with RUNTIME_NONE, of all.
 * Leaves out runtimes that are only mapped, as by an editor that could run scripts: those known not
 * to have started, and those without functions if others have some.
 */
void layouts_list_versions(const struct layouts *l, uint32_t kind, struct strbuf *out);
