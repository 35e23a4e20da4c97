/* SPDX-License-Identifier: MIT */
#include "cmd/options/live_options.h"

#include <dirent.h>
#include <limits.h>
#include <pwd.h>

#include "bpf/unwind.h"
#include "lib/base/option_value.h"
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
#define RING_BYTES_MIN (64u << 10)
#define RING_BYTES_MAX (1ull << 30)
/* Size of a single table, the unit of the memory. */
#define UNWIND_BYTES_MIN (4u << 20)
#define UNWIND_BYTES_MAX ((uint64_t)UNWIND_SHARDS_MAX * UNWIND_SHARD_BYTES)

void live_options_init(struct live_options *o)
{
	*o = (struct live_options){.ready_fd = -1, .control_fd = -1, .ack_fd = -1};
	instrument_settings_init(&o->instruments);
	last_options_init(&o->last);
}

void live_options_release(struct live_options *o)
{
	instrument_settings_release(&o->instruments);
	last_options_release(&o->last);
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
