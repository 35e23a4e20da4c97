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

/* Returns true for the attribute of perf record --off-cpu. */
static bool perf_attr_is_off_cpu(const struct perf_attr *attr)
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

#define CPU_UNKNOWN UINT32_MAX

/* Bits that older kernel headers lack. */
#define READ_LOST (1u << 4)
#define BRANCH_COUNTERS (1u << 19)

static void skip_words(struct ordered_bytes *b, uint64_t count)
{
	if (count > bytes_left(&b->bytes) / 8)
		b->bytes.failed = true;
	else
		bytes_skip(&b->bytes, count * 8);
}

static const void *take_words(struct ordered_bytes *b, uint64_t count)
{
	const void *words = b->bytes.at;

	skip_words(b, count);
	return b->bytes.failed ? NULL : words;
}

/* Reads counter values; values of a group only if they have ids. */
static void read_values(struct perf_sample *s, uint64_t format, struct ordered_bytes *b)
{
	unsigned int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			     !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint8_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_LOST);
	const void *values;
	uint64_t count = 1;

	if (format & PERF_FORMAT_GROUP)
		count = ordered_u64(b);
	skip_words(b, times);
	if (count > bytes_left(&b->bytes) / 8) {
		b->bytes.failed = true;
		return;
	}
	values = take_words(b, count * each);
	if (!values || !(format & PERF_FORMAT_GROUP) || !(format & PERF_FORMAT_ID))
		return;
	s->values = values;
	s->value_count = count;
	s->value_words = each;
}

static void read_branches(struct perf_sample *s, const struct perf_attr *attr,
			  struct ordered_bytes *b)
{
	s->branch_count = ordered_u64(b);
	if (attr->branch_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		ordered_u64(b);
	if (s->branch_count > bytes_left(&b->bytes) / 24) {
		b->bytes.failed = true;
		return;
	}
	s->branches = take_words(b, s->branch_count * 3);
	if (attr->branch_type & BRANCH_COUNTERS)
		skip_words(b, s->branch_count);
}

static void read_regs(struct perf_sample *s, const struct perf_attr *attr, struct ordered_bytes *b)
{
	s->regs_abi = ordered_u64(b);
	if (s->regs_abi)
		s->regs = take_words(b, (uint64_t)__builtin_popcountll(attr->user_regs));
}

/* Reads the copied stack: full size first, used size last. */
static void read_stack(struct perf_sample *s, struct ordered_bytes *b)
{
	uint64_t room = ordered_u64(b), used;

	if (!room)
		return;
	if (room > bytes_left(&b->bytes)) {
		b->bytes.failed = true;
		return;
	}
	s->stack = bytes_take(&b->bytes, room);
	used = ordered_u64(b);
	s->stack_size = (used < room ? used : room) & ~7ull;
}

/* Reads the leading members of at most one word. */
static void read_first(struct perf_sample *s, uint64_t type, struct ordered_bytes *b)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		ordered_u64(b);
	s->has_ip = type & PERF_SAMPLE_IP;
	if (s->has_ip)
		s->ip = ordered_u64(b);
	if (type & PERF_SAMPLE_TID) {
		s->pid = ordered_u32(b);
		s->tid = ordered_u32(b);
		/* The kernel has no id of a thread that has just ended. */
		if (s->tid == UINT32_MAX)
			s->tid = s->pid;
	}
	if (type & PERF_SAMPLE_TIME)
		s->time = ordered_u64(b);
	if (type & PERF_SAMPLE_ADDR)
		s->addr = ordered_u64(b);
	if (type & PERF_SAMPLE_ID)
		ordered_u64(b);
	if (type & PERF_SAMPLE_STREAM_ID)
		ordered_u64(b);
	if (type & PERF_SAMPLE_CPU) {
		s->cpu = ordered_u32(b);
		ordered_u32(b);
	}
	if (type & PERF_SAMPLE_PERIOD)
		s->period = ordered_u64(b);
}

/* Reads the members after the copied stack. */
static void read_last(struct perf_sample *s, const struct perf_attr *attr, struct ordered_bytes *b)
{
	const uint64_t type = attr->sample_type;
	uint64_t words = !!(type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) +
			 !!(type & PERF_SAMPLE_DATA_SRC) + !!(type & PERF_SAMPLE_TRANSACTION);

	skip_words(b, words);
	if (type & PERF_SAMPLE_REGS_INTR && ordered_u64(b))
		skip_words(b, (uint64_t)__builtin_popcountll(attr->interrupt_regs));
	if (type & PERF_SAMPLE_PHYS_ADDR)
		ordered_u64(b);
	if (type & PERF_SAMPLE_CGROUP)
		s->cgroup = ordered_u64(b);
}

/*
 * Reads a wait that ended, or a sum of waits. Since perf 6.16, the bytes sent by its BPF program
 * contain all facts; the sample's own members describe that program.
 */
static void read_off_cpu(struct perf_sample *s, bool is_raw, struct ordered_bytes *b)
{
	struct ordered_bytes raw = ordered_bytes_of(s->raw, s->raw_size, s->is_swapped);

	s->has_ip = false;
	if (!is_raw)
		return;
	s->pid = ordered_u32(&raw);
	s->tid = ordered_u32(&raw);
	s->period = ordered_u64(&raw);
	s->chain_count = ordered_u64(&raw);
	s->chain = take_words(&raw, s->chain_count);
	b->bytes.failed |= raw.bytes.failed;
	s->cgroup = ordered_u64(&raw);
}

bool perf_sample_read(struct perf_sample *s, const struct perf_attr *attr, const void *body,
		      size_t size, bool is_swapped)
{
	struct ordered_bytes b = ordered_bytes_of(body, size, is_swapped);
	const uint64_t type = attr->sample_type;

	*s = (struct perf_sample){.cpu = CPU_UNKNOWN, .is_swapped = is_swapped};
	s->period = attr->is_frequency ? 1 : attr->period;
	read_first(s, type, &b);
	if (type & PERF_SAMPLE_READ)
		read_values(s, attr->read_format, &b);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		s->chain_count = ordered_u64(&b);
		s->chain = take_words(&b, s->chain_count);
	}
	if (type & PERF_SAMPLE_RAW) {
		s->raw_size = ordered_u32(&b);
		s->raw = bytes_take(&b.bytes, s->raw_size);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		read_branches(s, attr, &b);
	if (type & PERF_SAMPLE_REGS_USER)
		read_regs(s, attr, &b);
	if (type & PERF_SAMPLE_STACK_USER)
		read_stack(s, &b);
	read_last(s, attr, &b);
	if (perf_attr_is_off_cpu(attr))
		read_off_cpu(s, type & PERF_SAMPLE_RAW, &b);
	return !b.bytes.failed;
}

uint64_t perf_sample_reg(const struct perf_sample *s, const struct perf_attr *attr,
			 unsigned int number)
{
	uint64_t mask = attr->user_regs;

	if (!s->regs || number > 63 || !(mask >> number & 1))
		return 0;
	return ordered_word(s->regs, (size_t)__builtin_popcountll(mask & ((1ull << number) - 1)),
			    s->is_swapped);
}
