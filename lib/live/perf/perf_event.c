/* SPDX-License-Identifier: MIT */
#include "lib/live/perf/perf_event.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "lib/base/bytes.h"

static bool parse_map(struct bytes *b, uint16_t misc, struct map_event *event)
{
	const void *build_id;

	event->kind = MAP_EVENT_MAP;
	event->pid = bytes_u32(b);
	event->tid = bytes_u32(b);
	event->start = bytes_u64(b);
	event->size = bytes_u64(b);
	event->file_offset = bytes_u64(b);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		event->build_id_size = bytes_u8(b);
		bytes_skip(b, 3);
		build_id = bytes_take(b, sizeof(event->build_id));
		if (!build_id || event->build_id_size > sizeof(event->build_id))
			return false;
		memcpy(event->build_id, build_id, sizeof(event->build_id));
	} else {
		event->device_major = bytes_u32(b);
		event->device_minor = bytes_u32(b);
		event->inode = bytes_u64(b);
		event->inode_generation = bytes_u64(b);
	}
	bytes_skip(b, 8); /* skip protection and flags: always executable memory */
	event->path = bytes_cstr(b);
	return event->path && event->start + event->size > event->start;
}

/* Reports only new code: the names of removed code stay valid for earlier samples. */
static bool parse_code(struct bytes *b, struct map_event *event)
{
	uint16_t flags;

	event->kind = MAP_EVENT_CODE;
	event->start = bytes_u64(b);
	event->size = bytes_u32(b);
	bytes_skip(b, 2); /* skip the type of code: BPF or other */
	flags = bytes_u16(b);
	event->path = bytes_cstr(b);
	return event->path && *event->path && !(flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) &&
	       event->start + event->size > event->start;
}

/* Parses a sampling event's record, which has its own time field. */
static bool parse_throttling(struct bytes *b, bool is_sampled, struct map_event *event)
{
	event->kind = is_sampled ? MAP_EVENT_SAMPLED : MAP_EVENT_THROTTLED;
	event->time = bytes_u64(b);
	event->event_id = bytes_u64(b);
	return !b->failed;
}

static bool has_sample_id(const struct perf_event_header *header)
{
	switch (header->type) {
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return false;
	case PERF_RECORD_LOST: /* written by the next event that finds room */
		return header->size > sizeof(*header) + 16;
	default:
		return true;
	}
}

/* Returns false for an irrelevant record. */
static bool parse_body(const struct perf_event_header *header, struct bytes *b,
		       struct map_event *event)
{
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		return parse_map(b, header->misc, event);
	case PERF_RECORD_COMM:
		event->kind = MAP_EVENT_NEW_SPACE;
		event->pid = bytes_u32(b);
		event->tid = bytes_u32(b);
		return header->misc & PERF_RECORD_MISC_COMM_EXEC && !b->failed;
	case PERF_RECORD_KSYMBOL:
		return parse_code(b, event);
	case PERF_RECORD_LOST:
		event->kind = MAP_EVENT_LOST;
		bytes_skip(b, 8);
		event->lost = bytes_u64(b);
		return !b->failed;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		return parse_throttling(b, header->type == PERF_RECORD_UNTHROTTLE, event);
	default:
		return false;
	}
}

/*
 * Returns the offset of sample_id. It ends a record, except when several listeners requested the
 * names of code: the kernel then enlarges the record by one sample_id per listener and writes only
 * the first.
 */
static size_t sample_id_at(const struct perf_event_header *header, const struct bytes *body)
{
	size_t end = header->size - MAP_EVENT_SAMPLE_ID_SIZE;
	size_t behind = (sizeof(*header) + bytes_position(body) + 7) & ~(size_t)7;

	return header->type == PERF_RECORD_KSYMBOL && behind < end ? behind : end;
}

bool map_event_parse(const void *record, size_t size, struct map_event *event)
{
	struct perf_event_header header;
	struct bytes body, id;
	size_t id_size;

	if (size < sizeof(header))
		return false;
	memcpy(&header, record, sizeof(header));
	id_size = has_sample_id(&header) ? MAP_EVENT_SAMPLE_ID_SIZE : 0;
	if (header.size > size || header.size < sizeof(header) + id_size)
		return false;
	bytes_init(&body, (const uint8_t *)record + sizeof(header),
		   header.size - sizeof(header) - id_size);
	if (!parse_body(&header, &body, event))
		return false;
	if (!id_size)
		return true;
	bytes_init(&id, (const uint8_t *)record + sample_id_at(&header, &body), id_size);
	bytes_skip(&id, 8);
	event->time = bytes_u64(&id);
	return true;
}

/*
 * 512 KiB plus the control page: kernel.perf_event_mlock_kb (516) allows this per CPU with no more
 * privileges than opening the event takes.
 */
#define MAP_RING_BYTES (512u << 10)

static int perf_event_open_on(struct perf_event_attr *attr, uint32_t cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int perf_event_open_choice(const struct perf_event_choice *choice, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = choice->type,
		.config = choice->config,
		.disabled = 1,
		.exclude_idle = choice->exclude_idle,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	if (choice->frequency_hz) {
		attr.freq = 1;
		attr.sample_freq = choice->frequency_hz;
	} else {
		attr.sample_period = choice->period;
	}
	return perf_event_open_on(&attr, cpu);
}

int perf_event_read_times(int fd, uint64_t *enabled, uint64_t *running)
{
	uint64_t values[3]; /* values[0] is the count */
	ssize_t size = read(fd, values, sizeof(values));

	if (size != (ssize_t)sizeof(values))
		return size < 0 ? -errno : -EIO;
	*enabled = values[1];
	*running = values[2];
	return 0;
}

int sampling_event_open(const struct sampling_event *event, uint32_t cpu)
{
	struct perf_event_choice choice = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.frequency_hz = event->frequency_hz,
		.period = event->period_ns,
		.exclude_idle = event->clock != CLOCK_CYCLES,
	};

	if (event->clock == CLOCK_CYCLES) {
		choice.type = PERF_TYPE_HARDWARE;
		choice.config = PERF_COUNT_HW_CPU_CYCLES;
	} else if (event->clock == CLOCK_TASK) {
		choice.config = PERF_COUNT_SW_TASK_CLOCK;
	}
	return perf_event_open_choice(&choice, cpu);
}

int error_no_hardware(struct error *err, const char *event, uint32_t cpu)
{
	struct perf_event_choice cycles = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
	};
	int fd = perf_event_open_choice(&cycles, cpu);

	fd_close(fd);
	if (fd >= 0)
		return error_text(err, -ENOENT, "%s: not supported by this machine's CPUs", event);
	return error_text(
		err, -ENOENT,
		"%s: this machine has no hardware counters; use cpu-clock or leave out -e", event);
}

struct map_ring {
	int fd;
	uint32_t cpu;
	struct perf_event_mmap_page *control; /* followed by the data pages */
	uint8_t *data;
	uint8_t *record; /* copy of the current record, as records may wrap around the end of the
			    ring */
	uint64_t last_time; /* time of the previous record */
	uint64_t lost; /* number of lost records reported by the ring */
};

/* Opens a dummy event. Before 6.0, the kernel does not count the event's losses. */
static int open_dummy(struct perf_event_attr *attr, uint32_t cpu)
{
	int fd = perf_event_open_on(attr, cpu);

	if (fd != -EINVAL)
		return fd;
	attr->read_format = 0;
	return perf_event_open_on(attr, cpu);
}

int map_ring_open(struct map_ring **out, uint32_t cpu, struct error *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = MAP_EVENT_SAMPLE_TYPE,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.ksymbol = 1,
		.build_id = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.read_format = PERF_FORMAT_LOST,
		/*
		 * In bytes: a number of events would count only samples, which do not occur here.
		 * The kernel also writes a record for each fork and exit, and a wake-up interrupts
		 * its CPU.
		 */
		.watermark = 1,
		.wakeup_watermark = MAP_RING_BYTES / 8,
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct map_ring *ring;
	void *memory;
	int fd = open_dummy(&attr, cpu);

	if (fd < 0)
		return error_set(err, fd, "cannot open mapping events on CPU %u", cpu);
	memory = mmap(NULL, page + MAP_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		int code = -errno;

		close(fd);
		error_set(err, code, "cannot map the ring of mapping events of CPU %u", cpu);
		error_hint(err, "run: sysctl kernel.perf_event_mlock_kb=%u", 516u);
		return code;
	}
	ring = xcalloc(1, sizeof(*ring));
	ring->fd = fd;
	ring->cpu = cpu;
	ring->control = memory;
	ring->data = (uint8_t *)memory + page;
	ring->record = xmalloc(UINT16_MAX + 1);
	*out = ring;
	return 0;
}

int map_ring_fd(const struct map_ring *ring)
{
	return ring->fd;
}

uint32_t map_ring_cpu(const struct map_ring *ring)
{
	return ring->cpu;
}

void map_ring_free(struct map_ring *ring)
{
	if (!ring)
		return;
	munmap(ring->control, (size_t)sysconf(_SC_PAGESIZE) + MAP_RING_BYTES);
	close(ring->fd);
	free(ring->record);
	free(ring);
}

static void copy_out(const struct map_ring *ring, uint64_t at, void *to, size_t size)
{
	size_t offset = at & (MAP_RING_BYTES - 1);
	size_t first = MAP_RING_BYTES - offset < size ? MAP_RING_BYTES - offset : size;

	memcpy(to, ring->data + offset, first);
	memcpy((uint8_t *)to + first, ring->data, size - first);
}

static void handle_record(struct map_ring *ring, size_t size, uint64_t now, map_event_fn *fn,
			  void *ctx)
{
	struct map_event event = {.cpu = ring->cpu, .time = ring->last_time};

	if (!map_event_parse(ring->record, size, &event))
		return;
	/* Clamp times in the future: waiting for them would never end. */
	event.time = MIN(event.time, now);
	ring->last_time = event.time;
	ring->lost += event.lost;
	fn(ctx, &event);
}

void map_ring_drain(struct map_ring *ring, map_event_fn *fn, void *ctx)
{
	uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->control->data_tail;
	uint64_t now = head == tail ? 0 : clock_monotonic_ns();

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		copy_out(ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail) {
			tail = head; /* invalid; the kernel never writes this: skip everything */
			break;
		}
		copy_out(ring, tail, ring->record, header.size);
		handle_record(ring, header.size, now, fn, ctx);
		tail += header.size;
	}
	__atomic_store_n(&ring->control->data_tail, tail, __ATOMIC_RELEASE);
}

void map_ring_finish(struct map_ring *ring, map_event_fn *fn, void *ctx)
{
	struct map_event event = {.kind = MAP_EVENT_LOST, .cpu = ring->cpu};
	uint64_t values[2]; /* values[0] is the count */

	map_ring_drain(ring, fn, ctx);
	if (read(ring->fd, values, sizeof(values)) != (ssize_t)sizeof(values) ||
	    values[1] <= ring->lost)
		return;
	event.time = clock_monotonic_ns();
	event.lost = values[1] - ring->lost;
	ring->lost = values[1];
	fn(ctx, &event);
}

/* Paths of returned events are freed once they exceed this many bytes. */
#define OLD_PATHS_MAX (1u << 20)

void event_queue_release(struct event_queue *t)
{
	vec_for_each(&t->rows, struct queued_event *, queued)
		free(queued->copy);
	vec_release(&t->rows);
	strbuf_release(&t->paths);
}

void event_queue_add(struct event_queue *t, const struct map_event *event, struct rec_copy *copy)
{
	struct queued_event queued = {
		.event = *event,
		.number = t->added++,
		.path = t->paths.size,
		.copy = copy,
	};

	vec_push(&t->rows, queued);
	if (event->path)
		strbuf_add(&t->paths, event->path, strlen(event->path) + 1);
}

ORDER(compare_queued, struct queued_event,
      COMPARE(a->event.time, b->event.time) ?: COMPARE(a->number, b->number))

static void take(struct event_queue *t, const struct queued_event *queued, event_queue_fn *fn,
		 void *ctx)
{
	struct map_event event = queued->event;

	event.path = event.path ? t->paths.text + queued->path : "";
	fn(ctx, &event, queued->copy);
}

/*
 * Drops paths even while events are queued: under load, the queue is never empty, and paths are
 * only ever added.
 */
static void drop_old_paths(struct event_queue *t)
{
	struct strbuf kept = {0};

	if (!t->rows.count)
		strbuf_reset(&t->paths);
	if (t->paths.size <= OLD_PATHS_MAX)
		return;
	vec_for_each(&t->rows, struct queued_event *, queued) {
		const char *path = t->paths.text + queued->path;

		queued->path = kept.size;
		if (queued->event.path)
			strbuf_add(&kept, path, strlen(path) + 1);
	}
	strbuf_release(&t->paths);
	t->paths = kept;
}

void event_queue_take(struct event_queue *t, uint64_t before, event_queue_fn *fn, void *ctx)
{
	size_t count = 0;

	vec_sort(&t->rows, compare_queued);
	while (count < t->rows.count && t->rows.items[count].event.time < before)
		take(t, &t->rows.items[count++], fn, ctx);
	t->rows.count -= count;
	if (t->rows.count)
		memmove(t->rows.items, t->rows.items + count,
			t->rows.count * sizeof(*t->rows.items));
	drop_old_paths(t);
}
