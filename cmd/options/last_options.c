/* SPDX-License-Identifier: MIT */
#include "cmd/options/last_options.h"

#include <signal.h>

#include "lib/base/program.h"

#define NS_PER_SECOND 1e9
#define NS_PER_MS 1e6
#define KEEP_BYTES_DEFAULT ((uint64_t)256 << 20)
#define KEEP_BYTES_MIN ((uint64_t)4 << 20)
#define KEEP_BYTES_MAX ((uint64_t)64 << 30)
#define EVERY_NS_DEFAULT 60000000000ull
/* Converts n of exit(n) to a wait(2) status. */
#define STATUS_SHIFT 8

void last_options_init(struct last_options *o)
{
	*o = (struct last_options){.every_ns = EVERY_NS_DEFAULT};
}

void last_options_release(struct last_options *o)
{
	vec_release(&o->triggers);
}

static const struct size_range keep_range = {KEEP_BYTES_MIN, KEEP_BYTES_MAX, "4M and 64G"};

/* Sets the time or the size to keep. */
static int set_last(void *at, const char *value, struct error *err)
{
	struct last_options *o = at;
	const char *comma = strchr(value, ',');
	_cleanup_free_ char *time = comma ? xstrndup(value, (size_t)(comma - value))
					  : xstrdup(value);
	int ret = option_parse_time("--last", time, NS_PER_SECOND, &o->keep_ns, err);

	o->keep_bytes = KEEP_BYTES_DEFAULT;
	if (ret || !comma)
		return ret;
	return option_parse_size("--last", comma + 1, &keep_range, &o->keep_bytes, err);
}

static int add(struct last_options *o, enum trigger_kind kind, const char *value, size_t name_size,
	       uint64_t number)
{
	vec_push(&o->triggers, ((struct trigger){kind, value, name_size, number}));
	return 0;
}

/* Returns the signal of that name, with or without SIG; 0 if unknown. */
static int signal_of(const char *name)
{
	bool is_bare = strncasecmp(name, "SIG", 3) != 0;

	for (int signal = 1; signal < NSIG; signal++) {
		char known[SIGNAL_NAME_SIZE];

		signal_name(signal, known);
		if (strcasecmp(known + (is_bare ? 3 : 0), name) == 0)
			return signal;
	}
	return 0;
}

static int add_exit(void *at, const char *value, struct error *err)
{
	uint64_t status;

	if (strcmp(value, "fail") == 0)
		return add(at, TRIGGER_EXIT, value, 0, EXIT_FAILED);
	if (text_to_u64(value, 10, &status) && status <= 255)
		return add(at, TRIGGER_EXIT, value, 0, status << STATUS_SHIFT);
	if (signal_of(value))
		return add(at, TRIGGER_EXIT, value, 0, (uint64_t)signal_of(value));
	return error_text(err, -EINVAL,
			  "--when-exit %s: must be a status of 0 to 255, a signal's name or fail",
			  value);
}

static int add_file(void *at, const char *value, struct error *err)
{
	if (!*value)
		return error_text(err, -EINVAL, "--when-file: the name must not be empty");
	return add(at, TRIGGER_FILE, value, 0, 0);
}

static int add_pressure(void *at, const char *value, struct error *err)
{
	static const char *const resources[] = {"cpu", "io", "memory"};
	size_t size = strcspn(value, "=");
	uint64_t percent;

	for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++) {
		if (strlen(resources[i]) == size && strncmp(value, resources[i], size) == 0 &&
		    value[size] && text_to_u64(value + size + 1, 10, &percent) && percent &&
		    percent <= 100)
			return add(at, TRIGGER_PRESSURE, value, size, percent * 10000);
	}
	return error_text(
		err, -EINVAL,
		"--when-psi %s: must be cpu, io or memory, followed by = and a percentage from 1 to 100",
		value);
}

static int add_stall(void *at, const char *value, struct error *err)
{
	uint64_t ns;

	return option_parse_time("--when-stall", value, NS_PER_MS, &ns, err)
		       ?: add(at, TRIGGER_STALL, value, 0, ns);
}

static int add_marker(void *at, const char *value, struct error *err)
{
	size_t size = strcspn(value, ">");
	uint64_t ns = 0;
	int ret = 0;

	if (!size)
		return error_text(err, -EINVAL, "--when-marker %s: the name must not be empty",
				  value);
	if (value[size])
		ret = option_parse_time("--when-marker", value + size + 1, NS_PER_MS, &ns, err);
	return ret ? ret : add(at, TRIGGER_MARKER, value, size, ns);
}

#define AT(member) OPTION_AT(last_options, member)

const struct option_row last_options[] = {
	{.help = "\nFlight recorder, for the last seconds only:"},
	{0, "last", "S[,SIZE]",
	 "keep only the last seconds, in memory (at most 256M); write them\n"
	 "at the end, on SIGUSR2 or by 'prof snapshot'",
	 OPTION_CALL, .set = set_last},
	{0, "when-exit", "STATUS",
	 "write them only when a recorded process ends with:\nstatus 1, SIGSEGV, or fail for any but 0",
	 OPTION_CALL, .set = add_exit},
	{0, "when-file", "FILE", "... when FILE appears or is written", OPTION_CALL,
	 .set = add_file},
	{0, "when-psi", "RESOURCE=PERCENT",
	 "... when tasks wait this share of a second for cpu, io or memory", OPTION_CALL,
	 .set = add_pressure},
	{0, "when-stall", "MS", "... when no recorded thread has run for this long", OPTION_CALL,
	 .set = add_stall},
	{0, "when-marker", "NAME[>MS]", "... after a marker of this name that took longer",
	 OPTION_CALL, .set = add_marker},
	{0, "after", "S", "go on recording for this long before writing them", OPTION_TIME,
	 AT(after_ns), .unit_ns = NS_PER_SECOND},
	{0, "snapshot-every", "S", "shortest time between writes for --when-... (default: 60)",
	 OPTION_TIME, AT(every_ns), .unit_ns = NS_PER_SECOND},
	{0},
};

#define TRIGGERS "when-exit when-file when-psi when-stall when-marker"

const struct option_rule last_rules[] = {
	{"last",
	 "raw stats fail-on-loss report no-spool keep-capture spool-dir epoch format all-threads "
	 "no-limit",
	 NULL, "--last: @, which need a recording that is kept from its start"},
	{"when-exit", .without = "last"},
	{"when-file", .without = "last"},
	{"when-psi", .without = "last"},
	{"when-stall", .without = "last"},
	{"when-marker", .without = "last"},
	{"after", .without = "last"},
	{"snapshot-every", NULL, TRIGGERS, NULL},
	{0},
};
