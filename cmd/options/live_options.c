/* SPDX-License-Identifier: MIT */
#include "cmd/options/live_options.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "bpf/unwind.h"
#include "lib/live/unwind_methods.h"
#include "lib/base/cleanup.h"
#include "lib/base/option_value.h"
#include "lib/base/text.h"

#define NS_PER_SECOND 1e9
#define RING_BYTES_MIN (64u << 10)
#define RING_BYTES_MAX (1ull << 30)
/* The memory is a number of tables of this size. */
#define UNWIND_BYTES_MIN UNWIND_SHARD_BYTES
#define UNWIND_BYTES_MAX ((uint64_t)UNWIND_SHARDS_MAX * UNWIND_SHARD_BYTES)

/*
 * Help lines of options without an instrument: a name, which `after` of other options refers to,
 * and the line.
 */
static const struct {
	const char *name, *line;
} lines[] = {
	{"duration", "  -d, --duration S       stop recording after so many seconds\n"},
	{"per-cpu",
	 "  --per-cpu              also show what ran on each CPU, as rows of their own\n"},
	{"ring-size", "  --ring-size SIZE       of the buffer per CPU, with suffix K, M or G\n"},
	{"unwind", "  --unwind METHOD        of user stacks: auto (default), cfi, fp or none\n"},
	{"unwind-memory",
	 "  --unwind-memory SIZE   kernel memory that tables for it may take (default 512M)\n"},
	{"no-arguments",
	 "  --no-arguments         leave what programs are executed with out of the profile\n"},
	{"ready-fd",
	 "  --ready-fd N           write a line to descriptor N once recording has begun\n"},
	{"ready-file", "  --ready-file FILE      write that line to FILE\n"},
};

const char command_options_help[] =
	"  --kill                 with -d: end the command, too, which goes on otherwise\n"
	"  --as-root              under sudo: run the command as root, not as the invoking user\n";

void live_options_init(struct live_options *o)
{
	*o = (struct live_options){.ready_fd = -1};
	instrument_settings_init(&o->instruments);
}

void live_options_release(struct live_options *o)
{
	instrument_settings_release(&o->instruments);
}

static bool takes_optional(const struct instrument_option *option)
{
	return option->argument && option->argument[0] == '[';
}

static int argument_of(const struct instrument_option *option)
{
	if (takes_optional(option))
		return optional_argument;
	return option->argument ? required_argument : no_argument;
}

static int option_value(const struct instrument_option *option, size_t number)
{
	return option->letter ? option->letter : OPT_INSTRUMENTS + (int)number;
}

void live_options_getopt(struct live_getopt *g, const char *shorts, const struct option *longs)
{
	const struct instrument_option *option;
	const struct instrument *owner;

	strbuf_adds(&g->shorts, shorts);
	for (; longs->name; longs++)
		vec_push(&g->longs, *longs);
	for (size_t i = 0; (option = instrument_option_at(i, &owner)); i++) {
		vec_push(&g->longs, (struct option){option->name, argument_of(option), NULL,
						    option_value(option, i)});
		if (option->letter)
			strbuf_addf(&g->shorts, "%c%s", option->letter,
				    option->argument ? ":" : "");
	}
	vec_push(&g->longs, (struct option){0});
}

void live_getopt_release(struct live_getopt *g)
{
	vec_release(&g->longs);
	strbuf_release(&g->shorts);
}

static void add_help(const struct instrument_option *option, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};

	if (option->letter)
		strbuf_addf(&name, "-%c, ", option->letter);
	strbuf_addf(&name, "--%s%s%s", option->name,
		    option->argument && !takes_optional(option) ? " " : "",
		    option->argument ? option->argument : "");
	strbuf_addf(out, "  %-22s %s\n", strbuf_text(&name), option->help);
}

/* Adds the options of instruments that follow `name`; NULL: those that come first. */
static void add_followers(const char *name, struct strbuf *out)
{
	const struct instrument_option *option;
	const struct instrument *owner, *before = NULL;
	bool follows = false;

	for (size_t i = 0; (option = instrument_option_at(i, &owner)); i++) {
		if (option->after || owner != before)
			follows = name && option->after ? strcmp(name, option->after) == 0
							: name == option->after;
		before = owner;
		if (!follows)
			continue;
		add_help(option, out);
		add_followers(option->name, out);
	}
}

void live_options_help(struct strbuf *out)
{
	add_followers(NULL, out);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		strbuf_adds(out, lines[i].line);
		add_followers(lines[i].name, out);
	}
}

static int parse_unwind(const char *value, enum recorder_unwind *unwind, struct error *err)
{
	if (unwind_method_parse(value, unwind))
		return error_text(err, -EINVAL, "--unwind %s: must be auto, cfi, fp or none",
				  value);
	return 0;
}

static int parse_fd(const char *value, int *fd, struct error *err)
{
	uint64_t number;

	if (!text_to_u64(value, 10, &number) || number > INT_MAX)
		return error_text(err, -EINVAL, "--ready-fd %s: not a descriptor", value);
	*fd = (int)number;
	return 0;
}

/* -ENOENT: no instrument has this option. */
static int set_instrument(struct live_options *o, int opt, const char *value, struct error *err)
{
	const struct instrument_option *option;
	const struct instrument *owner;

	for (size_t i = 0; (option = instrument_option_at(i, &owner)); i++) {
		if (option_value(option, i) == opt)
			return option->set(instrument_settings_of(&o->instruments, owner), value,
					   err);
	}
	return -ENOENT;
}

int live_options_set(struct live_options *o, int opt, const char *value, struct error *err)
{
	static const struct size_range ring = {RING_BYTES_MIN, RING_BYTES_MAX, "64K and 1G"};
	static const struct size_range unwind = {UNWIND_BYTES_MIN, UNWIND_BYTES_MAX, "4M and 4G"};

	switch (opt) {
	case 'd':
		return option_parse_time("--duration", value, NS_PER_SECOND, &o->duration_ns, err);
	case OPT_PER_CPU:
		o->per_cpu = true;
		return 0;
	case OPT_RING_SIZE:
		return option_parse_size("--ring-size", value, &ring, &o->ring_bytes, err);
	case OPT_UNWIND:
		return parse_unwind(value, &o->unwind, err);
	case OPT_UNWIND_MEMORY:
		return option_parse_size("--unwind-memory", value, &unwind, &o->unwind_bytes, err);
	case OPT_READY_FD:
		return parse_fd(value, &o->ready_fd, err);
	case OPT_READY_FILE:
		if (!*value)
			return error_text(err, -EINVAL, "--ready-file: the name must not be empty");
		o->ready_path = value;
		return 0;
	case OPT_NO_ARGUMENTS:
		o->no_arguments = true;
		return 0;
	case OPT_KILL:
		o->kill = true;
		return 0;
	case OPT_AS_ROOT:
		o->as_root = true;
		return 0;
	default:
		return set_instrument(o, opt, value, err);
	}
}

int live_options_check(struct live_options *o, struct error *err)
{
	int code = instrument_settings_judge(&o->instruments, err);

	if (!code && o->kill && !o->duration_ns)
		code = error_text(err, -EINVAL, "--kill: needs --duration");
	return code;
}
