/* SPDX-License-Identifier: MIT */
/* Options of all commands that write a profile: file, symbolization, verbosity. */
#pragma once

#include <signal.h>

#include "cmd/options/option_table.h"
#include "lib/base/outfile.h"
#include "lib/format/format.h"
#include "lib/query/sanitize/sanitize.h"

/* Values of --progress. */
enum progress_style {
	PROGRESS_AUTO, /* one line, on a terminal only */
	PROGRESS_PLAIN, /* plain lines */
	PROGRESS_JSON, /* one JSON object per line */
};

struct output_options {
	const char *path; /* "-": standard output */
	bool path_is_set; /* set by --output */
	const char *stats_path; /* NULL: not requested */
	const char *raw_path; /* capture to write instead of a profile; NULL: none */
	const char *spool_dir; /* folder of the spool; NULL: that of the profile */
	bool no_spool;
	bool keep_capture; /* keep the spool even after a success */
	bool sync; /* flush the spool to the disk once a second */
	uint64_t block_ns; /* maximum duration of a capture block; 0: the default */
	uint64_t epoch_ns; /* interval between epochs of the capture; 0: the default */
	/* Part of a capture to read; 0: from the beginning, or to the end. */
	uint64_t from_ns, until_ns;
	const struct format *format; /* never NULL after output_options_check() */
	VEC(const char *) debug_dirs;
	bool branches; /* also read the branches that the CPU recorded */
	bool no_symbols;
	bool no_cache; /* neither use nor keep unwind tables and debug files */
	bool all_threads;
	bool no_limit; /* keep all rows and markers */
	bool sources;
	bool fail_on_loss;
	bool report; /* print the heaviest functions at the end */
	bool no_file; /* do not keep the profile; set by output_options_check() */
	bool quiet;
	unsigned int verbose;
	int progress; /* enum progress_style */
	uint64_t stall_ns; /* time limit for final steps without progress */
	const volatile sig_atomic_t *finish_now; /* once set, naming ends early; may be NULL */
	/* Once set (atomically), writing the profile stops; may be NULL. */
	const bool *is_cancelled;
};

/* Adds the options of commands that record. */
/* Rules of these options, for tables that contain some of them. */
extern const struct option_rule output_rules[];
void output_options_table(struct option_table *t, struct output_options *o);
/* Functions of OPTION_CALL rows whose values are stored in output_options. */
option_set_fn output_set_format, output_add_debug_dir;
/* Sets the format by name. Returns -EINVAL with err, which names `option`. */
int output_choose_format(struct output_options *o, const char *option, const char *value,
			 struct error *err);

void output_options_init(struct output_options *o);
void output_options_release(struct output_options *o);
/*
 * Call after the last option. Returns 0, or -EINVAL with err. Afterwards debug_dirs.items is
 * NULL-terminated; the terminator is not counted.
 */
int output_options_check(struct output_options *o, struct error *err);

/* Only NULL-terminates debug_dirs, for commands with checks of their own. */
void output_options_end_dirs(struct output_options *o);

bool output_is_stdout(const struct output_options *o);
/* Warns about --debug-dir folders that this user cannot read. */
void output_check_debug_dirs(const struct output_options *o, const struct identity *owner);
/* Opens the file at `path` as that user; rejects a terminal. *out is NULL with no_file. */
int output_open(const struct output_options *o, const struct identity *owner, struct outfile **out,
		struct error *err);

/* Options of commands that write profiles for publication. */

struct sanitize_settings {
	bool is_asked; /* --sanitize was given */
	bool checks; /* --check-sanitized was given */
	struct sanitize_options options; /* key, user, home and host are not set yet */
	const char *key_path; /* NULL: use the user's own key */
};

/*
 * A group of options with a heading, after an empty line; values are stored in sanitize_settings.
 */
extern const struct option_row sanitize_options[];
/* OPTION_CALL function for sanitize_settings. Without a list, removes the default classes. */
option_set_fn sanitize_set;

/* Selects the default classes for removal. */
void sanitize_options_default(struct sanitize_settings *s);
