/* SPDX-License-Identifier: MIT */
/* Instructions of a function with their weights. */
#ifndef PROF_CMD_TEXT_ASSEMBLY_H
#define PROF_CMD_TEXT_ASSEMBLY_H

#include "cmd/text/query_listing.h"
#include "symbolize/disassemble.h"

struct assembly_row {
	uint64_t address; /* RVA; of generated code: where it was */
	uint64_t self, total;
	char *text; /* of the instruction; owned */
};

/* A function in machine code, with all that is inlined into it. */
struct assembly_function {
	symbol_id symbol;
	bool is_kernel;
	uint64_t address; /* of its first instruction, as jumps in it see it */
	uint64_t total; /* at most what all rows have */
	VEC(struct assembly_row) rows; /* ascending */
};

struct assembly {
	VEC(struct assembly_function) functions; /* the heaviest first */
	uint64_t without_code; /* self weight that a runtime told of without an address */
};

/*
 * Finds the code of all functions of that name here, by build id, with the permissions of the
 * invoking user, who also finds the files of the profile's modules thereby. -ENODATA: no sample has
 * such a function; else why the code of the heaviest cannot be shown. `dirs`: folders of
 * --debug-dir, NULL-terminated.
 */
int assembly_make(struct assembly *a, struct profile *p, const struct query *q,
		  const char *function, const char *const *dirs, struct error *err);
void assembly_release(struct assembly *a);
/* For people; a listing of its own. */
void assembly_list_function(struct listing *l, const struct assembly_function *function,
			    const struct query *q, const struct query_listing_options *options);
/* For programs: all functions. */
void assembly_list(struct listing *l, const struct assembly *a, const struct query *q,
		   const struct query_listing_options *options);

#endif
