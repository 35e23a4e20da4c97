/* SPDX-License-Identifier: MIT */
/* Requests to block devices: reported by a BPF probe, turned into markers here. */
#include <bpf/libbpf.h>
#include <limits.h>

#include "bpf/live_record.h"
#include "lib/live/instruments/marker_instrument.h"
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

static void release(void *state)
{
	struct io *s = state;

	vec_for_each(&s->devices, const struct device *, device)
		free(device->name);
	vec_release(&s->devices);
}

static void prepare(struct io *s)
{
	s->skeleton->rodata->io_min_ns = s->base.settings->min_ns;
}

MARKER_OBJECT(io, MARKER_IO, prepare, programs_object_as_is)

/* Returns "sda1", or "8:1" if the device is gone. The caller frees it. */
static char *read_name(uint32_t number)
{
	_cleanup_free_ char *id = xasprintf("%" PRIu32 ":%" PRIu32, number >> MINOR_BITS,
					    number & ((1u << MINOR_BITS) - 1));
	_cleanup_free_ char *path = xasprintf("/sys/dev/block/%s", id);
	char target[PATH_MAX];
	ssize_t size = readlink(path, target, sizeof(target) - 1);

	if (size <= 0)
		return steal(id);
	target[size] = 0;
	return xstrdup(basename(target));
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

/* Names the operation by the kernel's REQ_OP_… number. */
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
	/* One line per device in charts. */
	_cleanup_free_ char *name = xasprintf("I/O %s", device);
	bool is_write_back = rec->flags & IO_WRITE_BACK;
	struct marker_record marker = marker_begin(s->base.schema, rec,
						   rec->flags & IO_HAS_STACK ? &io->stack : NULL);

	marker.flags = is_write_back ? MARKER_ROW : 0;
	marker.start = io->start;
	marker.name = marker_text(name);
	marker.category = marker_text(is_write_back ? WRITE_BACK : NULL);
	marker_set_text(&marker, IO_DEVICE, marker_text(device));
	marker_set_text(&marker, IO_OPERATION, marker_text(operation_name(io)));
	marker_set_number(&marker, IO_BYTES, FIELD_BYTES, io->bytes);
	marker_set_text(&marker, IO_STATUS, marker_text(io->status ? "failed" : "done"));
	marker_send(s->base.live, &marker);
}

static int set_wanted(void *settings, const char *value, struct error *err)
{
	return marker_want_long(settings, "--io", value, 0, err);
}

static const struct instrument_option options[] = {
	{0, "io", "[=MS]", "mark each disk request at least this long, with its stack", "signals",
	 set_wanted, .is_plain = true},
	{0},
};

const struct instrument instrument_io = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_IO),
	.release = release,
	.enable = marker_state_enable,
	.pause = marker_state_pause,
	.take = take,
	MARKER_INSTRUMENT(io),
};
