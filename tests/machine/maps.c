/* SPDX-License-Identifier: MIT */
/* BPF maps: arrays are memory, rings are rings, of all others there are only the keys. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/live/machine/host.h"
#include "tests/machine/internal.h"

int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size,
			  __u32 value_size, __u32 max_entries,
			  const struct bpf_map_create_opts *opts);
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
int __wrap_bpf_map_delete_elem(int fd, const void *key);
int __wrap_bpf_map_lookup_elem(int fd, const void *key, void *value);

/* A key of 32 bits in a map that is no array. */
struct map_key {
	char map[32];
	uint32_t key;
};

static VEC(struct map_key) keys;
static struct bpf_counters counters[FAKE_CPUS_MAX];
static struct program_costs costs[FAKE_CPUS_MAX];
static struct event_state event_states[EVENTS_MAX][FAKE_CPUS_MAX];
static struct cpu_list possible;

void maps_start(const char *cpus)
{
	if (cpu_list_parse(cpus, &possible))
		abort();
	memset(counters, 0, sizeof(counters));
	memset(costs, 0, sizeof(costs));
	memset(event_states, 0, sizeof(event_states));
}

void maps_stop(void)
{
	vec_release(&keys);
	cpu_list_release(&possible);
}

struct bpf_counters *machine_counters(uint32_t cpu)
{
	return &counters[cpu];
}

struct program_costs *machine_costs(uint32_t cpu)
{
	return &costs[cpu];
}

struct event_state *machine_event_state(uint32_t event, uint32_t cpu)
{
	return &event_states[event][cpu];
}

static int fail(int code)
{
	errno = -code;
	return code;
}

int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size,
			  __u32 value_size, __u32 max_entries,
			  const struct bpf_map_create_opts *opts)
{
	bool is_ring = type == BPF_MAP_TYPE_RINGBUF;
	int code = machine_judge("bpf_map_create");
	struct descriptor *d;

	if (code)
		return fail(code);
	d = descriptor_new(is_ring ? DESCRIPTOR_RING : DESCRIPTOR_MAP,
			   (size_t)value_size * max_entries);
	if (!d)
		return -errno;
	d->size = max_entries;
	strncpy(d->name, name, sizeof(d->name) - 1);
	return d->fd;
}

static struct map_key *find(const char *map, uint32_t key)
{
	vec_for_each(&keys, struct map_key *, row) {
		if (row->key == key && strcmp(row->map, map) == 0)
			return row;
	}
	return NULL;
}

bool machine_map_has(const char *map, uint32_t key)
{
	bool has;

	machine_lock();
	has = find(map, key);
	machine_unlock();
	return has;
}

void machine_map_remove(const char *map, uint32_t key)
{
	struct map_key *row;

	machine_lock();
	row = find(map, key);
	if (row)
		*row = keys.items[--keys.count];
	machine_unlock();
}

size_t machine_map_keys(const char *map, uint32_t *to, size_t max)
{
	size_t count = 0;

	vec_for_each(&keys, const struct map_key *, row) {
		if (strcmp(row->map, map) == 0 && count < max)
			to[count++] = row->key;
	}
	return count;
}

int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	struct descriptor *d = descriptor_find(fd);
	struct map_key row = {0};
	char call[64];
	int code;

	if (!d)
		return fail(-EBADF);
	snprintf(call, sizeof(call), "update:%s", d->name);
	code = machine_judge(call);
	if (code)
		return fail(code);
	memcpy(&row.key, key, sizeof(row.key));
	strcpy(row.map, d->name);
	if (strcmp(d->name, "rings") == 0) {
		int ring;

		memcpy(&ring, value, sizeof(ring));
		if (!descriptor_find(ring))
			return fail(-EBADF);
		descriptor_find(ring)->cpu = row.key;
		return 0;
	}
	machine_lock();
	if (!find(row.map, row.key))
		vec_push(&keys, row);
	machine_unlock();
	return 0;
}

int __wrap_bpf_map_delete_elem(int fd, const void *key)
{
	struct descriptor *d = descriptor_find(fd);
	uint32_t number;

	memcpy(&number, key, sizeof(number));
	if (d && strcmp(d->name, "rings") == 0 && machine_ring(number))
		machine_ring(number)->cpu = UINT32_MAX;
	else if (d)
		machine_map_remove(d->name, number);
	return 0;
}

int __wrap_bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	int code = machine_judge("bpf_map_lookup_elem");
	struct descriptor *d = descriptor_find(fd);
	uint32_t number;

	memcpy(&number, key, sizeof(number));
	if (code || !d)
		return fail(code ? code : -EBADF);
	for (uint32_t i = 0; i < possible.count; i++) {
		uint32_t cpu = possible.cpus[i];

		if (strcmp(d->name, "counters") == 0)
			((struct bpf_counters *)value)[i] = counters[cpu];
		else if (strcmp(d->name, "program_costs") == 0)
			((struct program_costs *)value)[i] = costs[cpu];
		else if (strcmp(d->name, "event_states") == 0)
			((struct event_state *)value)[i] = event_states[number][cpu];
		else
			return fail(-ENOENT);
	}
	return 0;
}
