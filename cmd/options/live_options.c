/* SPDX-License-Identifier: MIT */
#include "cmd/options/live_options.h"

#include <dirent.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>

#include "bpf/unwind.h"
#include "lib/base/option_value.h"
#include "lib/base/program.h"
#include "lib/live/process/cgroup_filter.h"
#include "lib/live/unwind_methods.h"

#define GROUPS_MAX 10000
#define NAME_SIZE 64

struct values {
	VEC(const char *) list;
};

static const char *const *finish(struct values *v)
{
	vec_push(&v->list, NULL);
	return v->list.items;
}

static bool is_made(const struct values *v)
{
	return v->list.count;
}

/* Reads a process's name in a single call, as completion may read thousands. */
static bool read_name(int proc, const char *pid, char name[NAME_SIZE])
{
	char path[sizeof("/comm") + NAME_MAX];
	_cleanup_close_ int fd = -1;
	ssize_t size;

	snprintf(path, sizeof(path), "%s/comm", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, name, NAME_SIZE - 1);
	if (size < 0)
		return false;
	name[size] = '\0';
	name[strcspn(name, "\n")] = '\0';
	text_to_line(name);
	return true;
}

typedef void process_fn(struct values *v, const char *pid, const char *name);

/* Makes the list at the first call. */
static const char *const *list_processes(struct values *v, process_fn *fn)
{
	_cleanup_closedir_ DIR *proc = NULL;
	struct dirent *entry;

	if (is_made(v))
		return v->list.items;
	proc = opendir("/proc");
	while (proc && (entry = readdir(proc))) {
		char name[NAME_SIZE];

		if (isdigit((unsigned char)entry->d_name[0]) &&
		    read_name(dirfd(proc), entry->d_name, name))
			fn(v, entry->d_name, name);
	}
	return finish(v);
}

static void add_pid(struct values *v, const char *pid, const char *name)
{
	vec_push(&v->list, xasprintf("%s\t%s", pid, name));
}

const char *const *live_pids(void)
{
	static struct values v;

	return list_processes(&v, add_pid);
}

static void add_name(struct values *v, const char *pid, const char *name)
{
	vec_push(&v->list, xstrdup(name));
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *const *live_names(void)
{
	static struct values v, all;

	if (is_made(&v))
		return v.list.items;
	list_processes(&all, add_name);
	all.list.count--; /* drop the end of the list */
	vec_sort(&all.list, compare);
	for (size_t i = 0; i < all.list.count; i++) {
		if (!i || strcmp(all.list.items[i], all.list.items[i - 1]) != 0)
			vec_push(&v.list, all.list.items[i]);
	}
	return finish(&v);
}

const char *const *live_users(void)
{
	static struct values v;
	struct passwd *user;

	if (is_made(&v))
		return v.list.items;
	setpwent();
	while ((user = getpwent()))
		vec_push(&v.list, xstrdup(user->pw_name));
	endpwent();
	return finish(&v);
}

static bool add_group(void *ctx, const char *path)
{
	struct values *v = ctx;

	if (v->list.count < GROUPS_MAX)
		vec_push(&v->list, xstrdup(path));
	return v->list.count < GROUPS_MAX;
}

const char *const *live_groups(void)
{
	static struct values v;

	if (is_made(&v))
		return v.list.items;
	cgroup_folders(add_group, &v);
	return finish(&v);
}

const char *const *live_units(void)
{
	static struct values v;

	if (is_made(&v))
		return v.list.items;
	for (const char *const *group = live_groups(); *group; group++) {
		if (text_ends_with(*group, ".service"))
			vec_push(&v.list, strrchr(*group, '/') + 1);
	}
	return finish(&v);
}

static void add_recorder(struct values *v, const char *pid, const char *name)
{
	if (strcmp(name, "prof") == 0)
		vec_push(&v->list, xstrdup(pid));
}

const char *const *live_recorders(void)
{
	static struct values v;

	return list_processes(&v, add_recorder);
}

const char *const *live_nothing(void)
{
	static const char *const nothing[] = {NULL};

	return nothing;
}

#define NS_PER_SECOND 1e9
#define NS_PER_MS 1e6
#define KEEP_BYTES_DEFAULT ((uint64_t)256 << 20)
#define KEEP_BYTES_MIN ((uint64_t)4 << 20)
#define KEEP_BYTES_MAX ((uint64_t)64 << 30)
#define EVERY_NS_DEFAULT 60000000000ull
#define RING_BYTES_MIN (64u << 10)
#define RING_BYTES_MAX (1ull << 30)
/* Size of a single table, the unit of the memory. */
#define UNWIND_BYTES_MIN (4u << 20)
#define UNWIND_BYTES_MAX ((uint64_t)UNWIND_SHARDS_MAX * UNWIND_SHARD_BYTES)

void live_options_init(struct live_options *o)
{
	*o = (struct live_options){
		.ready_fd = -1,
		.control_fd = -1,
		.ack_fd = -1,
		.last.every_ns = EVERY_NS_DEFAULT,
	};
	instrument_settings_init(&o->instruments);
}

void live_options_release(struct live_options *o)
{
	instrument_settings_release(&o->instruments);
	vec_release(&o->last.triggers);
}

static int set_unwind(void *at, const char *value, struct error *err)
{
	if (unwind_method_parse(value, at))
		return error_text(err, -EINVAL, "--unwind %s: must be auto, cfi, fp or none",
				  value);
	return 0;
}

/* Sets the two descriptors, the second of which is optional. */
static int set_control(void *at, const char *value, struct error *err)
{
	int *fds = at;
	const char *comma = strchr(value, ',');
	_cleanup_free_ char *first = comma ? xstrndup(value, (size_t)(comma - value))
					   : xstrdup(value);
	uint64_t number, ack = 0;

	if (!text_to_u64(first, 10, &number) || number > INT_MAX ||
	    (comma && (!text_to_u64(comma + 1, 10, &ack) || ack > INT_MAX)))
		return error_text(err, -EINVAL, "--control-fd %s: must be N or N,M", value);
	fds[0] = (int)number;
	fds[1] = comma ? (int)ack : -1;
	return 0;
}

static const struct size_range ring_range = {RING_BYTES_MIN, RING_BYTES_MAX, "64K and 1G"};
static const struct size_range fd_range = {0, INT_MAX, "not a descriptor"};
static const struct size_range unwind_range = {UNWIND_BYTES_MIN, UNWIND_BYTES_MAX, "4M and 4G"};

#define AT(member) OPTION_AT(live_options, member)

/* Instruments refer to these options by name in `after`. */
static const struct option_row rows[] = {
	{'d', "duration", "S", "stop recording after this many seconds", OPTION_TIME,
	 AT(duration_ns), .unit_ns = NS_PER_SECOND},
	{0, "delay", "S", "start recording after this many seconds; -d counts from then",
	 OPTION_TIME, AT(delay_ns), .unit_ns = NS_PER_SECOND},
	{0, "start-paused", NULL, "record nothing until SIGUSR1 or 'prof resume'", OPTION_FLAG,
	 AT(starts_paused)},
	{0, "max-overhead", "PERCENT",
	 "take fewer samples, or pause, if recording uses more of the CPU time", OPTION_SHARE,
	 AT(max_overhead)},
	{0, "control-fd", "N[,M]",
	 "obey 'enable', 'disable', 'snapshot' and 'stop' on descriptor N,\nanswer 'ack' on M",
	 OPTION_CALL, AT(control_fd), .set = set_control},
	{0, "per-cpu", NULL, "also show what ran on each CPU, in separate rows", OPTION_FLAG,
	 AT(per_cpu)},
	{0, "ring-size", "SIZE", "size of each CPU's buffer, with suffix K, M or G", OPTION_SIZE,
	 AT(ring_bytes), .range = &ring_range},
	{0, "unwind", "METHOD", "how to find user stacks: auto (default), cfi, fp or none",
	 OPTION_CALL, AT(unwind), .choices = unwind_method_names, .set = set_unwind},
	{0, "unwind-memory", "SIZE", "kernel memory for unwind tables (default 512M)", OPTION_SIZE,
	 AT(unwind_bytes), .range = &unwind_range},
	{0, "no-arguments", NULL, "leave program arguments out of the profile", OPTION_FLAG,
	 AT(no_arguments)},
	{0, "ready-fd", "N", "write a line to descriptor N once recording has begun", OPTION_NUMBER,
	 AT(ready_fd), .range = &fd_range, .is_guarded = true},
	{0, "ready-file", "FILE", "write that line to FILE", OPTION_NAME, AT(ready_path)},
	{0},
};

const struct option_row command_options[] = {
	{0, "kill", NULL, "with -d: also end the command, which otherwise continues", OPTION_FLAG,
	 AT(kill)},
	{0, "as-root", NULL, "under sudo: run the command as root, not as the invoking user",
	 OPTION_FLAG, AT(as_root), .is_guarded = true},
	{0},
};

const struct option_rule command_rules[] = {{.option = "kill", .without = "duration"}, {0}};

static void add_instrument(struct option_table *t, const struct instrument_option *option,
			   void *settings)
{
	const struct option_row row = {
		.letter = option->letter,
		.name = option->name,
		.argument = option->argument,
		.help = option->help,
		.type = OPTION_CALL,
		.set = option->set,
		.live = option->values,
		.is_plain = option->is_plain,
	};

	option_table_add_row(t, &row, settings);
}

/* Adds the options of instruments that follow option `name`; NULL: those at the beginning. */
static void add_followers(struct option_table *t, struct live_options *o, const char *name)
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
		add_instrument(t, option, instrument_settings_of(&o->instruments, owner));
		add_followers(t, o, option->name);
	}
}

void live_options_table(struct option_table *t, struct live_options *o)
{
	add_followers(t, o, NULL);
	for (const struct option_row *row = rows; row->name; row++) {
		option_table_add_row(t, row, o);
		add_followers(t, o, row->name);
	}
}

/* Converts n of exit(n) to a wait(2) status. */
#define STATUS_SHIFT 8

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

#define LAST_AT(member) OPTION_AT(last_options, member)

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
	 LAST_AT(after_ns), .unit_ns = NS_PER_SECOND},
	{0, "snapshot-every", "S", "shortest time between writes for --when-... (default: 60)",
	 OPTION_TIME, LAST_AT(every_ns), .unit_ns = NS_PER_SECOND},
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
