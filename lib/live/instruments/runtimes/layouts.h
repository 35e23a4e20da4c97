/* SPDX-License-Identifier: MIT */
/* Layouts of the interpreters that were met, as the kernel's programs have them: by number. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_LAYOUTS_H
#define PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/live/bpf/programs.h"
#include "lib/code/runtimes/runtime.h"

struct found_layout {
	struct runtime_layout file; /* as the file alone tells it */
	struct runtime_layout layout;
	char version[16];
};

/* Empty when zeroed. */
struct layouts {
	VEC(struct found_layout) rows;
	uint64_t refused; /* beyond RUNTIME_LAYOUTS_MAX */
};

void layouts_release(struct layouts *l);
/* Finds the layout of a file: those that are equal as far as the kernel is concerned share one. */
bool layouts_find(const struct layouts *l, const struct runtime_layout *file, uint32_t *number);
/* True if there is no room for one more; counts the refusal. */
bool layouts_are_full(struct layouts *l);
/*
 * Stores a layout as row `number`, which is there or is the next one, for the programs, too.
 * -ENOSPC if there is no room, or a negative errno of theirs.
 */
int layouts_store(struct layouts *l, struct programs *programs, uint32_t number,
		  const struct runtime_layout *layout, struct error *err);
/*
 * Finds the row of what a process has told of its file, *number. The first one completes the row;
 * one that tells something else, which may be a lie, gets another one, alone. Errors: as above.
 */
int layouts_complete(struct layouts *l, struct programs *programs, uint32_t *number,
		     const struct runtime_layout *layout, struct error *err);
/*
 * Appends "Python 3.11, Node.js 20": each version once. A runtime that is only mapped, as by an
 * editor that could run scripts, is left out if it is known not to have started.
 */
void layouts_list_versions(const struct layouts *l, struct strbuf *out);

#endif
