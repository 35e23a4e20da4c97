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
	/* Values on this machine now, for completion alone: see live_options.h. */
	const char *const *(*live)(void);
	option_set_fn *set;
	/*
	 * A caller may set it by default where this process has more rights than he: it names no
	 * file, descriptor or command, and lets nobody see more. Options of plain types, which have
	 * values of their own, are unless `is_guarded`.
	 */
	bool is_plain, is_guarded;
};

/* Says where the value of a row is. */
#define OPTION_AT(s, member) \
	.offset = offsetof(struct s, member), .size = sizeof(((struct s *)0)->member)
/* Names the bool that is set if it was given. */
#define OPTION_GIVEN(s, member) .given = offsetof(struct s, member)

/*
 * Refuses `option` together with one of `with`, or without all of `without`: names separated by
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
	bool runs; /* operands are a command with its arguments */
	const char *const *(*operands)(void); /* for completion; NULL: files */
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
/* Returns the row of that option, NULL if none. */
const struct option_row *option_table_find(const struct option_table *t, const char *name);
/* Is it plain, as struct option_row says? */
bool option_is_plain(const struct option_row *row);
/*
 * Calls fn for each option of the words without setting any; *taken is the number of words before
 * the first that is not an option. Counts them as given. Returns 0 or what fn returned; -EINVAL
 * with err.
 */
typedef int option_scan_fn(void *ctx, const struct option_row *row, const char *value);
int option_table_scan(struct option_table *t, int argc, char **argv, option_scan_fn *fn, void *ctx,
		      int *taken, struct error *err);
/* Counts it as given. */
void option_table_give(struct option_table *t, const char *name);
/* Does a rule keep these two apart? */
bool option_table_excludes(const struct option_table *t, const char *one, const char *other);
/* Does it need an option that was not given? */
bool option_table_lacks(const struct option_table *t, const char *name);
/* Tells whether one of these options was given: names separated by spaces. */
bool option_table_has(const struct option_table *t, const char *names);
/* Applies the rules to what was given: 0, or -EINVAL with the first that is broken. */
int option_table_judge(const struct option_table *t, struct error *err);

/* Appends the help. */
void option_table_help(const struct option_table *t, struct strbuf *out);
/* Returns what is chosen from, an empty list if it is anything. */
const char *const *option_choices(const struct option_row *row);
/* Can its value be left out, so that it is part of the same word? */
bool option_is_optional(const struct option_row *row);
/*
 * option_complete.c: appends what the last word may become, one a line, with a description after a
 * tab where there is one. A last line ":files", ":folders" or ":command N" says that the word is
 * the name of a file, of a folder, or belongs to the command that begins with words[N]. `words`
 * follow the name of prof's command; there is at least one.
 */
void option_table_complete(const struct option_table *t, int count, char *const *words,
			   struct strbuf *out);

/* The row of --no-config, for commands that take defaults. */
extern const struct option_row option_config[];
/* The row of --help, and the end of a group. */
extern const struct option_row option_help[];

#endif
