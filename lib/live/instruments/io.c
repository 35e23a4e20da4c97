/* SPDX-License-Identifier: MIT */
/* Requests to block devices: the BPF probe tells of each, and here they become markers. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/live_record.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/live/instruments/marker_state.h"
#include "io.skel.h"

#define MINOR_BITS 20
#define WRITE_BACK "Write-back"

struct device {
	uint32_t number;
	char *name;
};

struct io {
	struct marker_state base;
	struct io_bpf *skeleton;
	VEC(struct device) devices;
};

/* Numbers of the fields. */
enum {
	FIELD_DEVICE,
	FIELD_OPERATION,
	FIELD_BYTES,
	FIELD_STATUS,
	FIELD_COUNT,
};

static const struct schema_record schema = {
	.name = "I/O",
	.label = "{marker.data.operation} {marker.data.bytes}",
	.shown = REC_SHOWN_IN_CHART | REC_SHOWN_IN_TABLE | REC_SHOWN_WITH_FILE_IO | REC_GROUP_DISK,
	.fields =
		{
			[FIELD_DEVICE] = {REC_FIELD_STRING, "device", "Device"},
			[FIELD_OPERATION] = {REC_FIELD_STRING, "operation", "Operation"},
			[FIELD_BYTES] = {REC_FIELD_BYTES, "bytes", "Bytes"},
			[FIELD_STATUS] = {REC_FIELD_STRING, "status", "Status"},
		},
};

static struct marker_counts counts(const void *state)
{
	const struct io *s = state;

	return (struct marker_counts){
		.sent = s->skeleton->bss->io_recorded,
		.lost = s->skeleton->bss->io_lost,
	};
}

static const struct marker_kind kind = {
	.name = "io",
	.facts = {FACT_IO_RECORDED, FACT_IO_LOST},
	.schema = &schema,
	.counts = counts,
};

static void *create(struct live *live, const void *settings)
{
	return marker_state_new(sizeof(struct io), &kind, live, settings);
}

static void destroy(void *state)
{
	struct io *s = state;

	vec_for_each(&s->devices, const struct device *, device)
		free(device->name);
	vec_release(&s->devices);
	free(s);
}

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct io *s = ctx;

	s->skeleton = io_bpf__open_opts(options);
	if (!s->skeleton)
		return -errno;
	s->skeleton->rodata->io_min_ns = s->base.settings->min_ns;
	*out = s->skeleton->skeleton;
	return 0;
}

static void close_object(void *ctx)
{
	struct io *s = ctx;

	io_bpf__destroy(steal(s->skeleton));
}

static int enable(void *state, bool enable, struct error *err)
{
	struct io *s = state;

	(void)err;
	s->skeleton->bss->io_enabled = enable;
	return 0;
}

/* Returns "sda1"; "8:1" if the device is gone. The caller frees. */
static char *read_name(uint32_t number)
{
	_cleanup_free_ char *id = xasprintf("%" PRIu32 ":%" PRIu32, number >> MINOR_BITS,
					    number & ((1u << MINOR_BITS) - 1));
	_cleanup_free_ char *path = xasprintf("/sys/dev/block/%s", id);
	char target[PATH_MAX];
	ssize_t size = readlink(path, target, sizeof(target) - 1);
	const char *name;

	if (size <= 0)
		return steal(id);
	target[size] = 0;
	name = strrchr(target, '/');
	return xstrdup(name ? name + 1 : target);
}

static const char *find_device(struct io *s, uint32_t number)
{
	struct device device = {.number = number};

	vec_for_each(&s->devices, const struct device *, known) {
		if (known->number == number)
			return known->name;
	}
	device.name = read_name(number);
	vec_push(&s->devices, device);
	return device.name;
}

/* Names the operation as the kernel's REQ_OP_… numbers it. */
static const char *operation_name(const struct rec_io *io)
{
	static const char *const names[] = {
		[0] = "read",	 [1] = "write", [2] = "flush",
		[3] = "discard", [5] = "erase", [9] = "write zeroes",
	};
	size_t count = sizeof(names) / sizeof(*names);

	if (io->operation == 1 && !io->bytes)
		return "flush";
	return io->operation < count && names[io->operation] ? names[io->operation] : "other";
}

static void take(void *state, const struct rec *rec)
{
	const struct rec_io *io = (const struct rec_io *)rec;
	struct io *s = state;
	const char *device = find_device(s, io->device);
	/* One line a device in charts. */
	_cleanup_free_ char *name = xasprintf("I/O %s", device);
	bool is_write_back = rec->flags & IO_WRITE_BACK;
	const struct marker_record marker = {
		.schema = s->base.schema,
		.flags = is_write_back ? MARKER_ROW : 0,
		.cpu = rec->cpu,
		.pid = rec->pid,
		.tid = rec->tid,
		.start = io->start,
		.end = rec->time,
		.name = marker_text(name),
		.category = marker_text(is_write_back ? WRITE_BACK : NULL),
		.cause = rec->flags & IO_HAS_STACK ? &io->stack : NULL,
		.value_count = FIELD_COUNT,
		.values =
			{
				[FIELD_DEVICE] = {REC_FIELD_STRING, marker_text(device), 0},
				[FIELD_OPERATION] = {REC_FIELD_STRING,
						     marker_text(operation_name(io)), 0},
				[FIELD_BYTES] = {REC_FIELD_BYTES, {0}, io->bytes},
				[FIELD_STATUS] = {REC_FIELD_STRING,
						  marker_text(io->status ? "failed" : "done"), 0},
			},
	};

	marker_probe_send(s->base.live, &marker);
}

static int set_wanted(void *settings, const char *value, struct error *err)
{
	return marker_probe_want_long(settings, "--io", value, 0, err);
}

static const struct instrument_option options[] = {
	{.name = "io",
	 .argument = "[=MS]",
	 .help = "mark each disk request at least this long, with its stack",
	 .after = "signals",
	 .set = set_wanted},
	{0},
};

const struct instrument instrument_io = {
	.name = "io",
	.options = options,
	.settings_size = sizeof(struct marker_probe_settings),
	.takes = INSTRUMENT_TAKES(REC_IO),
	.is_wanted = marker_probe_is_wanted,
	.create = create,
	.destroy = destroy,
	.open_object = open_object,
	.close_object = close_object,
	.announce = marker_state_announce,
	.enable = enable,
	.take = take,
	.count = marker_state_count,
	.report = marker_state_report,
};
