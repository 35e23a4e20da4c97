/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/counters/machine_counters.h"

#include <math.h>

#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/live/process/cgroup_limits.h"

static uint32_t announce(struct counter_values *t, const struct counter_schema *schema,
			 uint32_t pid, uint64_t time)
{
	const char *texts[] = {schema->name, schema->category, schema->description,
			       schema->name, schema->unit,     schema->color};
	struct rec_counter_info sizes = {
		.name_size = (__u16)strlen(texts[0]),
		.category_size = (__u16)strlen(texts[1]),
		.description_size = (__u16)strlen(texts[2]),
		.label_size = (__u16)strlen(texts[3]),
		.unit_size = (__u16)strlen(texts[4]),
		.color_size = (__u16)strlen(texts[5]),
	};
	size_t size = rec_counter_info_size(&sizes);
	_cleanup_free_ struct rec_counter_info *rec = xcalloc(1, size);
	char *to = rec->text;

	*rec = sizes;
	record_init(&rec->rec, REC_COUNTER_INFO, size, time, pid, pid);
	rec->counter = ++t->last_id;
	rec->graph = (__u8)schema->graph;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		memcpy(to, texts[i], strlen(texts[i]));
		to += strlen(texts[i]);
	}
	t->sink(t->ctx, &rec->rec);
	return rec->counter;
}

static void send_delta(const struct counter_values *t, struct sent_counter *counter, uint64_t time,
		       int64_t delta)
{
	struct rec_counter rec = {.counter = counter->id, .delta = delta};

	counter->row_ns = time;
	record_init(&rec.rec, REC_COUNTER, sizeof(rec), time, 0, 0);
	t->sink(t->ctx, &rec.rec);
}

void counter_values_send(struct counter_values *t, struct sent_counter *counter,
			 const struct counter_schema *schema, uint32_t pid, int64_t value,
			 uint64_t now)
{
	bool is_level = schema->graph == COUNTER_LEVEL, was_known = counter->is_known;
	int64_t delta = (int64_t)((uint64_t)value - (uint64_t)counter->sent);

	counter->sent = value;
	counter->is_known = true;
	if (!was_known)
		counter->id = announce(t, schema, pid, now);
	/* The first change of a rate dates from the previous reading. */
	counter->is_flat |= !was_known && !is_level;
	if (!was_known && !is_level)
		return;
	if (!is_level && (delta < 0 || t->is_resuming))
		delta = 0;
	if (!delta) {
		/* Charts draw a line from row to row: a rate of 0 needs a row at its start. */
		if (!is_level && !counter->is_flat)
			send_delta(t, counter, now, 0);
		counter->is_flat = true;
		return;
	}
	if (counter->is_flat && counter->row_ns < t->last_ns)
		send_delta(t, counter, t->last_ns, 0);
	counter->is_flat = false;
	send_delta(t, counter, now, delta);
}

/* Bytes of a file to read; numbers further on are not found. */
#define TEXT_MAX 65536

static void release(struct file_counter *row)
{
	free(row->name);
	free(row->path);
	free(row->key);
	free(row->unit);
	fd_close(row->fd);
}

/*
 * Cuts the path at the last `c` in its last component. Returns the text after it, NULL if it does
 * not occur.
 */
static char *cut_at(char *path, char c)
{
	char *at = strrchr(path, c);

	if (!at || strchr(at, '/'))
		return NULL;
	*at++ = '\0';
	return at;
}

static bool parse(const char *value, struct file_counter *row)
{
	const char *equals = strchr(value, '=');
	char *extra, *key;

	*row = (struct file_counter){.fd = -1, .graph = COUNTER_LEVEL};
	if (!equals || equals == value)
		return false;
	row->name = xstrndup(value, (size_t)(equals - value));
	row->path = xstrdup(equals + 1);
	/* Parse from the end: at most a unit and a word. */
	for (int i = 0; i < 2 && (extra = cut_at(row->path, ',')); i++) {
		if (strcmp(extra, "rate") == 0) {
			row->graph = COUNTER_RATE;
		} else if (strcmp(extra, "level") != 0) {
			free(row->unit);
			row->unit = xstrdup(extra);
		}
	}
	key = cut_at(row->path, ':');
	if (key)
		row->key = xstrdup(key);
	if (!row->unit)
		row->unit = xstrdup("");
	return row->path[0] && (!row->key || row->key[0]);
}

int file_counter_add(struct file_counter_settings *s, const char *value, struct error *err)
{
	struct file_counter row;
	bool is_valid = parse(value, &row);

	release(&row);
	if (!is_valid)
		return error_text(err, -EINVAL,
				  "--counter %s: expected NAME=FILE[:KEY][,rate|level][,UNIT]",
				  value);
	if (s->count == FILE_COUNTERS_MAX)
		return error_text(err, -EINVAL, "--counter %s: at most %d are recorded", value,
				  FILE_COUNTERS_MAX);
	s->values[s->count++] = value;
	return 0;
}

/* Finds the text after the key: the first word of a line, which a ':' or '=' may end. */
static const char *find_key(const char *text, const char *key)
{
	size_t size = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		at += strspn(at, " \t");
		if (strncmp(at, key, size) == 0 && at[size] && strchr(" \t:=", at[size]))
			return at + size;
	}
	return NULL;
}

/* Reads the first number of a text, or of a line if there is a key. A following "kB" is a unit. */
static bool find_number(const char *text, bool is_line, int64_t *value)
{
	const char *at = text;
	double number;
	char *end;

	while (*at && !isdigit((unsigned char)*at) && !(is_line && *at == '\n'))
		at++;
	if (!isdigit((unsigned char)*at))
		return false;
	if (at > text && at[-1] == '-')
		at--;
	number = strtod(at, &end);
	if (strncmp(end, " kB", 3) == 0)
		number *= 1024;
	if (!(fabs(number) < 9e18))
		return false;
	*value = (int64_t)llround(number);
	return true;
}

static bool read_row(const struct file_counter *row, int64_t *value)
{
	char *text = xmalloc(TEXT_MAX);
	size_t filled = 0;
	ssize_t size = 1;
	const char *at;
	bool is_found;

	while (size > 0 && filled < TEXT_MAX - 1) {
		size = pread(row->fd, text + filled, TEXT_MAX - 1 - filled, (off_t)filled);
		filled += size > 0 ? (size_t)size : 0;
	}
	text[filled] = '\0';
	at = row->key ? find_key(text, row->key) : text;
	is_found = at && find_number(at, row->key, value);
	free(text);
	return is_found;
}

static int open_row(struct file_counter *row, const char *value, struct error *err)
{
	int64_t number;

	row->fd = open_regular(row->path);
	if (row->fd == -ENXIO)
		return error_text(err, -EINVAL, "--counter %s: %s is not a readable file", value,
				  row->path);
	if (row->fd < 0)
		return error_set(err, row->fd, "--counter %s: cannot open %s", value, row->path);
	if (!read_row(row, &number))
		return error_text(err, -EINVAL, "--counter %s: no number%s%s in %s", value,
				  row->key ? " after " : "", row->key ? row->key : "", row->path);
	return 0;
}

int file_counters_open(struct file_counters *f, const struct file_counter_settings *settings,
		       struct error *err)
{
	struct identity invoker = identity_of_invoker();
	struct identity before = identity_assume_all(&invoker);
	int code = before.failure;

	if (code)
		error_set(err, code, "cannot open counter files as the invoking user");
	while (!code && f->count < settings->count) {
		struct file_counter *row = &f->rows[f->count];
		const char *value = settings->values[f->count++];

		parse(value, row);
		code = open_row(row, value, err);
	}
	identity_restore_files(&before);
	return code;
}

void file_counters_close(struct file_counters *f)
{
	for (size_t i = 0; i < f->count; i++)
		release(&f->rows[i]);
	f->count = 0;
}

void file_counters_read(struct file_counters *f, struct counter_values *t, uint64_t now)
{
	struct identity invoker, before;

	if (!f->count)
		return;
	invoker = identity_of_invoker();
	before = identity_assume_all(&invoker);
	for (size_t i = 0; i < f->count; i++) {
		struct file_counter *row = &f->rows[i];
		const struct counter_schema text = {row->name, "Other", row->path,
						    row->unit, "ink",	row->graph};
		int64_t value;

		if (!before.failure && read_row(row, &value))
			counter_values_send(t, &row->counter, &text, 0, value, now);
		else
			f->missing++;
	}
	identity_restore_files(&before);
}

#define PACKAGES_MAX 16
#define PICOWATTHOURS_PER_MICROJOULE (1e6 / 3600)

enum file {
	FILE_CPU,
	FILE_MEMORY,
	FILE_NETWORK,
	FILE_GROUP,
	FILE_COUNT,
};

/* By kind, starting with the machine's first one. */
#define KIND_COUNT (COUNTER_KIND_COUNT - COUNTERS_OF_PROCESS)
#define KIND(id) (COUNTER_MACHINE_##id - COUNTERS_OF_PROCESS)

struct package {
	int fd;
	uint64_t last, range; /* in µJ; the counter wraps at `range` */
	bool is_known;
};

struct machine_counters {
	int files[FILE_COUNT]; /* descriptors; -1: none */
	bool group_has_ns; /* the group's times are in ns, as in version 1 */
	struct package packages[PACKAGES_MAX];
	size_t package_count;
	double energy; /* in µJ, since the first reading */
	struct sent_counter counters[KIND_COUNT];
	char text[TEXT_MAX];
};

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void open_group(struct machine_counters *m)
{
	_cleanup_free_ char *text = text_read_file("/proc/self/cgroup", TEXT_MAX, NULL);
	_cleanup_free_ char *path = NULL, *file = NULL;
	struct cgroup_hierarchy hierarchy;

	cgroup_hierarchy_find(&hierarchy, "cpu");
	path = text ? cgroup_hierarchy_path(&hierarchy, text) : NULL;
	if (path) {
		m->group_has_ns = hierarchy.is_version_1;
		file = xasprintf("%s%s/cpu.stat", hierarchy.mount, path);
		m->files[FILE_GROUP] = open_file(file);
	}
	cgroup_hierarchy_release(&hierarchy);
}

static bool read_number(int fd, uint64_t *value)
{
	char text[32];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

	if (size <= 0)
		return false;
	text[size] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text_to_u64(text, 10, value);
}

static void open_packages(struct machine_counters *m)
{
	for (unsigned int i = 0; i < PACKAGES_MAX; i++) {
		_cleanup_free_ char *energy =
			xasprintf("/sys/class/powercap/intel-rapl:%u/energy_uj", i);
		_cleanup_free_ char *range =
			xasprintf("/sys/class/powercap/intel-rapl:%u/max_energy_range_uj", i);
		struct package package = {.fd = open_file(energy)};
		_cleanup_close_ int range_fd = open_file(range);

		if (package.fd < 0)
			return;
		if (range_fd >= 0)
			read_number(range_fd, &package.range);
		m->packages[m->package_count++] = package;
	}
}

struct machine_counters *machine_counters_open(void)
{
	struct machine_counters *m = xcalloc(1, sizeof(*m));
	/* Energy usage reveals other users' computations, so only root may read it. */
	struct identity invoker = identity_of_invoker();
	struct identity before = identity_assume_files(&invoker);

	m->files[FILE_CPU] = open_file("/proc/stat");
	m->files[FILE_MEMORY] = open_file("/proc/meminfo");
	m->files[FILE_NETWORK] = open_file("/proc/net/dev");
	m->files[FILE_GROUP] = -1;
	open_group(m);
	if (!before.failure)
		open_packages(m);
	identity_restore_files(&before);
	return m;
}

void machine_counters_free(struct machine_counters *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < FILE_COUNT; i++)
		fd_close(m->files[i]);
	for (size_t i = 0; i < m->package_count; i++)
		close(m->packages[i].fd);
	free(m);
}

/* Reads the file, or the beginning of it, into m->text. */
static bool read_file(struct machine_counters *m, enum file file)
{
	size_t filled = 0, most = file == FILE_CPU ? 512 : TEXT_MAX - 1;
	ssize_t size = 1;

	if (m->files[file] < 0)
		return false;
	while (size > 0 && filled < most) {
		size = pread(m->files[file], m->text + filled, most - filled, (off_t)filled);
		filled += size > 0 ? (size_t)size : 0;
	}
	m->text[filled] = '\0';
	return filled;
}

/* Returns the number after `key` at the start of a line, or `otherwise`. */
static uint64_t number_of(const char *text, const char *key, uint64_t otherwise)
{
	const char *at = text;

	while (at) {
		if (text_starts_with(at, key))
			return strtoull(at + strlen(key), NULL, 10);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return otherwise;
}

static void read_cpu(struct machine_counters *m, int64_t *values, bool *has)
{
	/* user nice system idle iowait irq softirq steal, in ticks of USER_HZ */
	unsigned long long t[8] = {0};
	long long unit = 1000000 / sysconf(_SC_CLK_TCK);

	if (!read_file(m, FILE_CPU) ||
	    sscanf(m->text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
		   &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		return;
	values[KIND(USER)] = (int64_t)(t[0] + t[1]) * unit;
	values[KIND(SYSTEM)] = (int64_t)t[2] * unit;
	values[KIND(INTERRUPTS)] = (int64_t)(t[5] + t[6]) * unit;
	values[KIND(STEAL)] = (int64_t)t[7] * unit;
	has[KIND(USER)] = has[KIND(SYSTEM)] = has[KIND(INTERRUPTS)] = has[KIND(STEAL)] = true;
}

static void read_memory(struct machine_counters *m, int64_t *values, bool *has)
{
	uint64_t all, left;

	if (!read_file(m, FILE_MEMORY))
		return;
	all = number_of(m->text, "MemTotal:", 0);
	left = number_of(m->text, "MemAvailable:", UINT64_MAX);
	has[KIND(MEMORY)] = left <= all;
	values[KIND(MEMORY)] = (int64_t)(all - left) * 1024;
}

static void read_network(struct machine_counters *m, int64_t *values, bool *has)
{
	char *save = NULL;

	if (!read_file(m, FILE_NETWORK))
		return;
	for (char *line = strtok_r(m->text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':');
		unsigned long long in, out;

		line += strspn(line, " ");
		if (!colon || text_starts_with(line, "lo:") ||
		    sscanf(colon + 1, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &in, &out) != 2)
			continue;
		values[KIND(RECEIVED)] += (int64_t)in;
		values[KIND(SENT)] += (int64_t)out;
		has[KIND(RECEIVED)] = has[KIND(SENT)] = true;
	}
}

static void read_group(struct machine_counters *m, int64_t *values, bool *has)
{
	const char *key = m->group_has_ns ? "throttled_time " : "throttled_usec ";
	uint64_t time;

	if (!read_file(m, FILE_GROUP))
		return;
	time = number_of(m->text, key, UINT64_MAX);
	has[KIND(THROTTLED)] = time != UINT64_MAX;
	values[KIND(THROTTLED)] = (int64_t)(m->group_has_ns ? time / 1000 : time);
}

static void read_energy(struct machine_counters *m, int64_t *values, bool *has)
{
	for (size_t i = 0; i < m->package_count; i++) {
		struct package *package = &m->packages[i];
		uint64_t last = package->last;

		if (!read_number(package->fd, &package->last))
			continue;
		if (package->is_known && package->last >= last)
			m->energy += (double)(package->last - last);
		else if (package->is_known && package->range > last)
			m->energy += (double)(package->range - last + package->last);
		package->is_known = true;
		has[KIND(ENERGY)] = true;
	}
	values[KIND(ENERGY)] = (int64_t)(m->energy * PICOWATTHOURS_PER_MICROJOULE);
}

void machine_counters_read(struct machine_counters *m, struct counter_values *t, uint64_t now)
{
	int64_t values[KIND_COUNT] = {0};
	bool has[KIND_COUNT] = {0};

	read_cpu(m, values, has);
	read_memory(m, values, has);
	read_network(m, values, has);
	read_group(m, values, has);
	read_energy(m, values, has);
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		if (has[kind])
			counter_values_send(t, &m->counters[kind],
					    counter_schema(COUNTERS_OF_PROCESS + kind), 0,
					    values[kind], now);
	}
}
