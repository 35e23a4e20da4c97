/* SPDX-License-Identifier: MIT */
/*
 * Options as tables: a row says how an option is called, what --help says of it, what its value is
 * and where that goes. Parsing, the help, what is missing or empty, and completion follow.
 */
#ifndef PROF_CMD_OPTIONS_OPTION_TABLE_H
#define PROF_CMD_OPTIONS_OPTION_TABLE_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/option_value.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

enum option_type {
	OPTION_HEADING, /* no option, only lines of help */
	OPTION_FLAG, /* bool */
	OPTION_COUNTED, /* unsigned int: how often it was given */
	OPTION_TEXT, /* const char *, borrowed */
	OPTION_WORD, /* const char *, borrowed, not empty */
	OPTION_NAME, /* the same, of a file or folder */
	OPTION_TIME, /* uint64_t, ns; `unit_ns` is what 1 means */
	OPTION_SIZE, /* uint64_t, bytes; within `range` */
	OPTION_CHOICE, /* int: which one of `choices` */
	OPTION_SHARE, /* double: "0.5" and "0.5%" are 0.005 */
	OPTION_NUMBER, /* an integer of `size` bytes; `range` has "must be a number of 1 to 5" */
	OPTION_CALL, /* `set` gets the address and the value, NULL if it has none */
	OPTION_HELP, /* prints the help */
};

typedef int option_set_fn(void *at, const char *value, struct error *err);

struct option_row {
	char letter; /* 0: none */
	const char *name; /* without dashes; NULL: a heading */
	const char *argument; /* "FILE"; "[=MS]": may be left out; NULL: it takes none */
	const char *help; /* lines; "@" stands for the choices; NULL: not in the help */
	enum option_type type;
	size_t offset, size; /* of its value in the group's struct */
	size_t given; /* of a bool that says that it was given; 0: nobody asks */
	double unit_ns;
	const struct size_range *range;
	const char *const *choices; /* end with NULL; of other types, for help and completion */
	const char *const *(*list)(void); /* the same, where they are not constant */
	option_set_fn *set;
};

/* Says where the value of a row is. */
#define OPTION_AT(s, member) \
	.offset = offsetof(struct s, member), .size = sizeof(((struct s *)0)->member)
/* Says where the bool is that tells that it was given. */
#define OPTION_GIVEN(s, member) .given = offsetof(struct s, member)

/*
 * Refuses `option` if one of `with` was given, too, or none of `without`: names separated by
 * spaces, or NULL. In the text, "@" stands for "not with --a, --b or --c" or "needs --a"; NULL:
 * "--option: @".
 */
struct option_rule {
	const char *option, *with, *without, *text;
};

/* Zeroed is empty. */
struct option_table {
	VEC(struct {
		struct option_row row;
		void *target; /* the group's struct */
		bool is_given;
	})
	rows;
	VEC(const struct option_rule *) rules;
	const char *usage, *after; /* text of the help before and after the options */
	int width; /* of names in the help; 0: by default */
	/* Takes an operand; options may follow. NULL: they end at the first one, as in POSIX. */
	int (*take)(void *ctx, const char *operand, struct error *err);
	bool divides; /* take() also gets the first "--", and all that follows it */
	/* For getopt_long(), made when it is needed. */
	VEC(struct option) longs;
	struct strbuf shorts;
};

void option_table_release(struct option_table *t);

static inline void option_table_release_cleanup(struct option_table *t)
{
	option_table_release(t);
}

/* Adds copies of rows, up to a zeroed one, and borrows their texts; their values go into `target`.
 */
void option_table_add(struct option_table *t, const struct option_row *rows, void *target);
/* Adds rules, up to a zeroed one, which are borrowed. */
void option_table_add_rules(struct option_table *t, const struct option_rule *rules);
/* Adds a copy of one row, whose texts are borrowed. */
void option_table_add_row(struct option_table *t, const struct option_row *row, void *target);

/*
 * Parses the next option, if optind is at one. Returns 1; 0 at another argument or the end;
 * -ECANCELED: the help was printed; -EINVAL with err: it is wrong.
 */
int option_table_next(struct option_table *t, int argc, char **argv, struct error *err);
/* Tells whether one of these options was given: names separated by spaces. */
bool option_table_has(const struct option_table *t, const char *names);
/* Applies the rules to what was given: 0, or -EINVAL with the first that is broken. */
int option_table_judge(const struct option_table *t, struct error *err);

/* Appends the help. */
void option_table_help(const struct option_table *t, struct strbuf *out);
/*
 * Appends what the last word may become, one a line: names of options, and values of those with
 * choices. Nothing if it is a file, or anything. `words` follow the command; there is at least one.
 */
void option_table_complete(const struct option_table *t, int count, char *const *words,
			   struct strbuf *out);

/* The row of --help, and the end of a group. */
extern const struct option_row option_help[];

#endif
