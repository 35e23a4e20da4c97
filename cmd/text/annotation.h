/* SPDX-License-Identifier: MIT */
/* Source lines of a function with their weights. */
#pragma once

#include "cmd/text/query_listing.h"
#include "lib/base/open_file.h"
#include "symbolize/disassemble.h"

/* Instructions of a function with their weights. */

struct assembly_row {
	uint64_t address; /* RVA; for generated code, its address at run time */
	uint64_t self, total;
	char *text; /* text of the instruction; owned */
};

/* A function in machine code, including the functions inlined into it. */
struct assembly_function {
	symbol_id symbol;
	bool is_kernel;
	uint64_t address; /* address of the first instruction, as in the operands of jumps */
	uint64_t total; /* at most the sum of the rows */
	VEC(struct assembly_row) rows; /* in ascending order */
};

struct assembly {
	VEC(struct assembly_function) functions; /* heaviest first */
	uint64_t without_code; /* self weight in runtimes that report no address */
};

/*
 * Finds the local code of all functions of that name, by build id, with the permissions of the
 * invoking user, which also apply to the modules' files. Returns -ENODATA if no sample has such a
 * function; otherwise the reason why the code of the heaviest one cannot be shown. `dirs`: folders
 * of --debug-dir, NULL-terminated.
 */
int assembly_make(struct assembly *a, struct profile *p, const struct query *q,
		  const char *function, const char *const *dirs, struct error *err);
/*
 * Finds the local code of the `count` functions with the most samples of their own, with the same
 * permissions. Rows have no weights, and functions whose code is not here no rows. Returns the
 * reason why the code of the heaviest one cannot be shown.
 */
int assembly_make_heaviest(struct assembly *a, struct profile *p, const struct query *q,
			   size_t count, const char *const *dirs, struct error *err);
/*
 * Appends functions with rows, as many as fit into a page:
 * [[module, build id, RVA, [[offset, text], …]], …].
 */
void assembly_print_json(const struct assembly *a, const struct profile *p, struct strbuf *out);
void assembly_release(struct assembly *a);
/* Lists one function, for display. */
void assembly_list_function(struct listing *l, const struct assembly_function *function,
			    const struct query *q, const struct query_listing_options *options);
/* Lists all functions, machine-readable. */
void assembly_list(struct listing *l, const struct assembly *a, const struct query *q,
		   const struct query_listing_options *options);

struct annotation_line {
	uint32_t line; /* 0 if unknown */
	uint64_t self, total;
};

/* Lines of one file in functions of that name, ascending. */
struct annotation_file {
	char *path, *module; /* owned; NULL if unknown */
	char *text; /* text of the line, owned; NULL: none */
	size_t size;
	bool is_changed; /* the source file was modified after the recording */
	uint64_t total; /* at most the sum of the lines */
	VEC(struct annotation_line) lines;
};

struct annotation {
	VEC(struct annotation_file) files; /* heaviest first */
};

/*
 * Finds the lines of all functions of that name, and their text: from the profile, or else from a
 * local file of that name which both the invoking user and the writer of the profile may read.
 */
void annotation_make(struct annotation *a, const struct query *q, const char *function,
		     struct reader writer);
void annotation_release(struct annotation *a);

/* Returns the text of a line without tabs, which the caller frees; NULL if it is unknown. */
char *annotation_line_text(const struct annotation_file *file, uint32_t line);

/* Lists weighted lines and their context, for display. */
void annotation_list_file(struct listing *l, const struct annotation_file *file,
			  const struct query *q, const struct query_listing_options *options);
/* Lists the weighted lines of all files, machine-readable. */
void annotation_list(struct listing *l, const struct annotation *a, const struct query *q,
		     const struct query_listing_options *options);
