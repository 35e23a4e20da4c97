/* SPDX-License-Identifier: MIT */
/* Counters from files of the kernel, and from files that were asked for. */
#include <errno.h>
#include <string.h>

#include "bpf/record.h"
#include "lib/live/instruments/counters/machine_counters.h"
#include "tests/machine/machine.h"
#include "tests/unit/test.h"

#define COUNTERS_MAX 32

/* Sums of the records, by counter. */
struct told {
	struct {
		char name[64], unit[16];
		int64_t sum;
		unsigned int values;
		enum counter_graph graph;
	} rows[COUNTERS_MAX + 1]; /* by id */
	uint64_t last_time;
	unsigned int values; /* of all */
	uint64_t times[16]; /* of the first values */
	int64_t deltas[16];
};

static struct told told;
static struct counter_values counters;

static void copy(char *to, size_t room, const char *from, size_t size)
{
	assert_true(size < room);
	memcpy(to, from, size);
	to[size] = '\0';
}

static void take(void *ctx, const struct rec *rec)
{
	const struct rec_counter_info *info = (const struct rec_counter_info *)rec;
	const struct rec_counter *value = (const struct rec_counter *)rec;

	if (rec->kind == REC_COUNTER_INFO) {
		assert_true(info->counter <= COUNTERS_MAX);
		copy(told.rows[info->counter].name, 64, info->text, info->name_size);
		copy(told.rows[info->counter].unit, 16,
		     info->text + info->name_size + info->category_size + info->description_size +
			     info->label_size,
		     info->unit_size);
		told.rows[info->counter].graph = info->graph;
	} else if (rec->kind == REC_COUNTER) {
		told.rows[value->counter].sum += value->delta;
		told.rows[value->counter].values++;
		if (told.values < 16) {
			told.times[told.values] = rec->time;
			told.deltas[told.values] = value->delta;
		}
		told.values++;
	}
	told.last_time = rec->time;
}

static int setup(void **state)
{
	machine_start("0");
	told = (struct told){0};
	counters = (struct counter_values){.sink = take};
	return 0;
}

static int teardown(void **state)
{
	return machine_stop() ? -1 : 0;
}

/* Sum of what was told of the counter; INT64_MIN: nothing. */
static int64_t sum_of(const char *name)
{
	for (size_t i = 0; i <= COUNTERS_MAX; i++) {
		if (strcmp(told.rows[i].name, name) == 0)
			return told.rows[i].sum;
	}
	return INT64_MIN;
}

static void pass(struct machine_counters *m, uint64_t now)
{
	machine_counters_read(m, &counters, now);
	counters.last_ns = now;
}

static void write_files(const char *cpu, const char *memory, const char *network)
{
	machine_write_file("/proc/stat", cpu);
	machine_write_file("/proc/meminfo", memory);
	machine_write_file("/proc/net/dev", network);
}

#define HEADER "Inter-|   Receive |  Transmit\n face |bytes packets errs |bytes packets\n"

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(what_the_machine_does)
{
	struct machine_counters *m;

	write_files("cpu  100 10 50 1000 5 1 2 7 0 0\ncpu0 100\n",
		    "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\n",
		    HEADER "    lo: 9000 1 0 0 0 0 0 0 9000 1 0 0 0 0 0 0\n"
			   "  eth0: 500 1 0 0 0 0 0 0 70 1 0 0 0 0 0 0\n");
	machine_write_file("/proc/self/mountinfo",
			   "24 23 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	machine_write_file("/proc/self/cgroup", "1:name=systemd:/other\n0::/jobs/one\n");
	machine_write_file("/sys/fs/cgroup/jobs/one/cpu.stat",
			   "usage_usec 5\nnr_throttled 1\nthrottled_usec 1000\n");
	m = machine_counters_open();
	pass(m, 1);
	/* Rates begin now: only the level of memory has a value. All have their place. */
	assert_int_equal(sum_of("Machine: memory"), 600 * 1024);
	assert_int_equal(told.values, 1);
	assert_string_equal(told.rows[1].name, "Machine: programs");
	assert_string_equal(told.rows[5].name, "Machine: memory");

	write_files("cpu  150 10 60 1000 5 2 4 9 0 0\n",
		    "MemTotal:  1000 kB\nMemAvailable:  300 kB\n",
		    HEADER "    lo: 19000 1 0 0 0 0 0 0 19000 1 0 0 0 0 0 0\n"
			   "  eth0: 700 1 0 0 0 0 0 0 75 1 0 0 0 0 0 0\n"
			   "wlan0:11 1 0 0 0 0 0 0 3 1 0 0 0 0 0 0\n");
	machine_write_file("/sys/fs/cgroup/jobs/one/cpu.stat", "throttled_usec 1700\n");
	pass(m, 2);
	/* A tick of the kernel's is 10 ms. */
	assert_int_equal(sum_of("Machine: programs"), 500000);
	assert_int_equal(sum_of("Machine: kernel"), 100000);
	assert_int_equal(sum_of("Machine: interrupts"), 30000);
	assert_int_equal(sum_of("Machine: steal"), 20000);
	assert_int_equal(sum_of("Machine: memory"), 700 * 1024);
	assert_int_equal(sum_of("Machine: received"), 211);
	assert_int_equal(sum_of("Machine: sent"), 8);
	assert_int_equal(sum_of("Throttled group"), 700);
	assert_int_equal(sum_of("Machine: energy"), INT64_MIN);

	/* The first change of a rate took the time since the pass before: a value of 0 is there. */
	assert_int_equal(told.rows[1].values, 2);
	assert_int_equal(told.rows[5].values, 2);

	/*
	 * Nothing has changed: rates fall to nothing once, then nothing is told. An interface that
	 * is gone counts back nothing.
	 */
	pass(m, 3);
	assert_int_equal(told.rows[1].values, 3);
	assert_int_equal(told.rows[5].values, 2);
	told.last_time = 0;
	pass(m, 4);
	assert_int_equal(told.last_time, 0);
	machine_write_file("/proc/net/dev", HEADER);
	pass(m, 4);
	assert_int_equal(sum_of("Machine: received"), 211);
	machine_counters_free(m);
}

CASE(an_old_control_group)
{
	struct machine_counters *m;

	machine_write_file("/proc/self/mountinfo",
			   "24 23 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
			   "25 23 0:23 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
			   "26 23 0:24 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
	machine_write_file("/proc/self/cgroup", "3:cpuset:/no\n4:cpu,cpuacct:/job\n0::/\n");
	machine_write_file("/sys/fs/cgroup/cpu/job/cpu.stat", "throttled_time 5000000\n");
	m = machine_counters_open();
	pass(m, 1);
	machine_write_file("/sys/fs/cgroup/cpu/job/cpu.stat", "throttled_time 9000000\n");
	pass(m, 2);
	assert_int_equal(sum_of("Throttled group"), 4000);
	/* There are no other files. */
	assert_int_equal(counters.last_id, 1);
	machine_counters_free(m);
}

CASE(energy_wraps)
{
	struct machine_counters *m;

	machine_write_file("/sys/class/powercap/intel-rapl:0/energy_uj", "900\n");
	machine_write_file("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000\n");
	machine_write_file("/sys/class/powercap/intel-rapl:1/energy_uj", "0\n");
	m = machine_counters_open();
	pass(m, 1);
	machine_write_file("/sys/class/powercap/intel-rapl:0/energy_uj", "260\n");
	machine_write_file("/sys/class/powercap/intel-rapl:1/energy_uj", "3600\n");
	pass(m, 2);
	/* 360 and 3600 µJ; 3600 µJ are 1 µWh. */
	assert_int_equal(sum_of("Machine: energy"), 1100000);
	machine_counters_free(m);
}

static void read_files(struct file_counters *f, uint64_t now)
{
	file_counters_read(f, &counters, now);
	counters.last_ns = now;
}

CASE(files_that_were_asked_for)
{
	static const char *const values[] = {
		"Queue=/sys/queue,items",
		"Read=/proc/9/io:read_bytes,rate,bytes",
		"Anon=/proc/9/status:RssAnon",
		"Heat=/sys/devices/0000:00:1f/temp,level,m°C",
	};
	struct file_counter_settings settings = {0};
	struct file_counters files = {0};
	struct error err = {0};

	machine_write_file("/sys/queue", "depth 7 of 9\n");
	machine_write_file("/proc/9/io", "read_bytes_all: 1\nread_bytes: 100\n");
	machine_write_file("/proc/9/status", "Name:\tx\nRssAnon:\t      3 kB\n");
	machine_write_file("/sys/devices/0000:00:1f/temp", "-41.6\n");
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(file_counter_add(&settings, values[i], &err), 0);
	assert_int_equal(file_counters_open(&files, &settings, &err), 0);
	read_files(&files, 1);
	assert_int_equal(sum_of("Queue"), 7);
	assert_string_equal(told.rows[1].unit, "items");
	assert_int_equal(sum_of("Anon"), 3072);
	assert_int_equal(sum_of("Heat"), -42);
	assert_int_equal(sum_of("Read"), 0);

	machine_write_file("/sys/queue", "none\n");
	machine_write_file("/proc/9/io", "read_bytes: 150\n");
	read_files(&files, 2);
	assert_int_equal(sum_of("Queue"), 7);
	assert_int_equal(sum_of("Read"), 50);
	assert_int_equal(files.missing, 1);
	file_counters_close(&files);
}

static void expect_refused(const char *value, int code, const char *text)
{
	struct file_counter_settings settings = {0};
	struct file_counters files = {0};
	struct error err = {0};
	int found = file_counter_add(&settings, value, &err);

	if (!found)
		found = file_counters_open(&files, &settings, &err);
	assert_int_equal(found, code);
	if (!strstr(err.text, text))
		fail_msg("%s", err.text);
	file_counters_close(&files);
}

CASE(files_that_cannot_be_read)
{
	struct file_counter_settings settings = {0};
	struct error err = {0};

	machine_write_file("/sys/text", "line one2\nkey\nnumber:\nnext 7\n");
	expect_refused("=/sys/text", -EINVAL, "expected NAME=FILE");
	expect_refused("Name", -EINVAL, "expected NAME=FILE");
	expect_refused("Name=", -EINVAL, "expected NAME=FILE");
	expect_refused("Name=/sys/text:", -EINVAL, "expected NAME=FILE");
	expect_refused("Name=/sys/none", -ENOENT, "cannot open /sys/none");
	expect_refused("Name=/sys", -EINVAL, "not a readable file");
	expect_refused("Name=/sys/text:absent", -EINVAL, "no number after absent");
	/* The number of another line is not the key's. */
	expect_refused("Name=/sys/text:number", -EINVAL, "no number after number");
	for (int i = 0; i < FILE_COUNTERS_MAX; i++)
		assert_int_equal(file_counter_add(&settings, "Name=/sys/text", &err), 0);
	assert_int_equal(file_counter_add(&settings, "Name=/sys/text", &err), -EINVAL);
}

/* Values of one counter at the times 1, 2, … of passes. */
static void tell_all(enum counter_graph graph, const int64_t *values, uint64_t count)
{
	const struct counter_schema text = {"Name", "", "", "", "grey", graph};
	struct sent_counter counter = {0};

	for (uint64_t now = 1; now <= count; now++) {
		counter_values_send(&counters, &counter, &text, 0, values[now - 1], now);
		counters.last_ns = now;
	}
}

static void expect_values(const uint64_t *times, const int64_t *deltas, unsigned int count)
{
	assert_int_equal(told.values, count);
	assert_memory_equal(told.times, times, count * sizeof(*times));
	assert_memory_equal(told.deltas, deltas, count * sizeof(*deltas));
}

/* It falls to nothing at once, not by the next change, and no time has two values. */
CASE(a_rate_that_pauses)
{
	tell_all(COUNTER_RATE, (int64_t[]){5, 9, 9, 9, 9, 10, 10, 11}, 8);
	expect_values((uint64_t[]){1, 2, 3, 5, 6, 7, 8}, (int64_t[]){0, 4, 0, 0, 1, 0, 1}, 7);
}

CASE(a_level_that_rests)
{
	tell_all(COUNTER_LEVEL, (int64_t[]){5, 5, 5, 9}, 4);
	expect_values((uint64_t[]){1, 3, 4}, (int64_t[]){5, 0, 4}, 3);
}
