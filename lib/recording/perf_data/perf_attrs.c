/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_attrs.h"

#include <linux/perf_event.h>

/* Flags of struct perf_event_attr, by bit. */
enum {
	ATTR_INHERIT = 1,
	ATTR_FREQUENCY = 10,
	ATTR_TRAILER = 18,
	ATTR_SWITCHES = 26,
};

#define NAME_MAX_SIZE 256

void perf_attrs_release(struct perf_attrs *a)
{
	vec_for_each(&a->rows, struct perf_attr *, attr)
		free(attr->name);
	vec_release(&a->rows);
	vec_release(&a->ids);
	index_release(&a->by_id);
}

/* The other byte order also reverses the bits of each byte. */
static uint64_t read_flags(struct ordered_bytes *b)
{
	uint64_t flags = bytes_u64(&b->bytes), mirrored = 0;

	if (!b->is_swapped)
		return flags;
	for (unsigned int bit = 0; bit < 64; bit++) {
		if (flags >> bit & 1)
			mirrored |= 1ull << ((bit & ~7u) + 7 - (bit & 7));
	}
	return mirrored;
}

static bool has(uint64_t mask, uint64_t bits)
{
	return mask & bits;
}

static void set_layout(struct perf_attr *attr)
{
	const uint64_t type = attr->sample_type;
	uint8_t at = has(type, PERF_SAMPLE_IDENTIFIER) + has(type, PERF_SAMPLE_IP) +
		     has(type, PERF_SAMPLE_TID);
	uint8_t end = has(type, PERF_SAMPLE_IDENTIFIER) + has(type, PERF_SAMPLE_CPU) +
		      has(type, PERF_SAMPLE_STREAM_ID);

	attr->time_at = attr->id_at = PERF_NOT_THERE;
	if (has(type, PERF_SAMPLE_TIME))
		attr->time_at = at++;
	at += has(type, PERF_SAMPLE_ADDR);
	if (has(type, PERF_SAMPLE_IDENTIFIER))
		attr->id_at = 0;
	else if (has(type, PERF_SAMPLE_ID))
		attr->id_at = at;
	if (!attr->has_trailer)
		return;
	if (has(type, PERF_SAMPLE_IDENTIFIER))
		attr->id_before_end = 1;
	else if (has(type, PERF_SAMPLE_ID))
		attr->id_before_end = end + 1;
	if (has(type, PERF_SAMPLE_TIME))
		attr->time_before_end = end + has(type, PERF_SAMPLE_ID) + 1;
	attr->trailer_words = end + has(type, PERF_SAMPLE_ID) + has(type, PERF_SAMPLE_TIME) +
			      has(type, PERF_SAMPLE_TID);
}

static bool has_layout_of(const struct perf_attr *a, const struct perf_attr *b)
{
	return a->id_at == b->id_at && a->id_before_end == b->id_before_end;
}

bool perf_attrs_add(struct perf_attrs *a, struct ordered_bytes *bytes, size_t size)
{
	const uint8_t *data = bytes_take(&bytes->bytes, size);
	struct perf_attr attr = {.event = UINT32_MAX};
	struct ordered_bytes b;
	uint64_t flags;

	if (!data || size < PERF_ATTR_SIZE_MIN || a->rows.count >= PERF_ATTRS_MAX)
		return false;
	b = ordered_bytes_of(data, size, bytes->is_swapped);
	attr.type = ordered_u32(&b);
	ordered_u32(&b); /* skip the size of the attribute as defined by the writer */
	attr.config = ordered_u64(&b);
	attr.period = ordered_u64(&b);
	attr.sample_type = ordered_u64(&b);
	attr.read_format = ordered_u64(&b);
	flags = read_flags(&b);
	bytes_skip(&b.bytes, 8 + 16); /* skip wakeup, breakpoint type, config1, config2 */
	/* Older kernels lack the last members, which read as zeros. */
	attr.branch_type = ordered_u64(&b);
	attr.user_regs = ordered_u64(&b);
	bytes_skip(&b.bytes, 8); /* skip the size of the stack dump, clock */
	attr.interrupt_regs = ordered_u64(&b);
	attr.is_inherited = flags >> ATTR_INHERIT & 1;
	attr.is_frequency = flags >> ATTR_FREQUENCY & 1;
	attr.has_trailer = flags >> ATTR_TRAILER & 1;
	attr.has_switches = flags >> ATTR_SWITCHES & 1;
	set_layout(&attr);
	a->has_one_layout = !a->rows.count ||
			    (a->has_one_layout && has_layout_of(&a->rows.items[0], &attr));
	vec_push(&a->rows, attr);
	return true;
}

INDEX_HAS(id_equal, struct perf_attrs, ids, id)

uint32_t perf_attrs_find(const struct perf_attrs *a, uint64_t id)
{
	uint32_t row = index_find(&a->by_id, hash_u64(id), id_equal, a, &id);

	return row == INDEX_NONE ? UINT32_MAX : a->ids.items[row].attr;
}

void perf_attrs_add_id(struct perf_attrs *a, uint64_t id)
{
	struct perf_id row = {id, (uint32_t)a->rows.count - 1};

	if (!a->rows.count || a->ids.count >= PERF_IDS_MAX || perf_attrs_find(a, id) != UINT32_MAX)
		return;
	index_add(&a->by_id, hash_u64(id), (uint32_t)a->ids.count);
	vec_push(&a->ids, row);
}

void perf_attrs_name(struct perf_attrs *a, uint32_t attr, const char *name, size_t size)
{
	size = strnlen(name, size < NAME_MAX_SIZE ? size : NAME_MAX_SIZE);
	if (attr >= a->rows.count || !size)
		return;
	free(a->rows.items[attr].name);
	a->rows.items[attr].name = xstrndup(name, size);
}

static bool perf_attr_is_clock(const struct perf_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool perf_attr_is_off_cpu(const struct perf_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_BPF_OUTPUT &&
	       attr->name && strcmp(attr->name, "offcpu-time") == 0;
}

static const char *const hardware_names[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software_names[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static char *default_name(const struct perf_attr *attr)
{
	if (attr->type == PERF_TYPE_HARDWARE && attr->config < COUNT_OF(hardware_names))
		return xstrdup(hardware_names[attr->config]);
	if (attr->type == PERF_TYPE_SOFTWARE && attr->config < COUNT_OF(software_names))
		return xstrdup(software_names[attr->config]);
	if (attr->type == PERF_TYPE_RAW)
		return xasprintf("r%" PRIx64, attr->config);
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return xasprintf("tracepoint %" PRIu64, attr->config);
	return xasprintf("event %" PRIu32 "/%" PRIx64, attr->type, attr->config);
}

uint32_t perf_attrs_number(struct perf_attrs *a, uint32_t max)
{
	uint32_t next = 1;
	bool has_clock = false, has_switches = false;

	vec_for_each(&a->rows, const struct perf_attr *, attr)
		has_switches |= attr->has_switches;
	vec_for_each(&a->rows, struct perf_attr *, attr) {
		if (!attr->name)
			attr->name = default_name(attr);
		attr->is_wait = !has_switches && perf_attr_is_off_cpu(attr);
		if (attr->is_wait)
			continue;
		if (!has_clock && attr->period && perf_attr_is_clock(attr)) {
			has_clock = true;
			attr->event = 0;
		} else if (next <= max) {
			attr->event = next++;
		}
	}
	return next;
}
