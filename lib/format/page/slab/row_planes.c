/* SPDX-License-Identifier: MIT */
#include "lib/format/page/slab/slab_columns.h"

#include "lib/base/bytes.h"

enum column {
	PLANE_STEP, /* time since the previous row; that of the first row is the second's */
	PLANE_STACK,
	PLANE_CPU_TIME,
	PLANE_IDLE_TIME, /* the step without the CPU time, in place of it if that is shorter */
	PLANE_WEIGHT,
	PLANE_CPU,
	PLANE_EVENT,
};

static uint64_t step_of(const struct sample *rows, size_t count, size_t i)
{
	i += !i;
	return i < count ? rows[i].time - rows[i - 1].time : 0;
}

static uint64_t value_of(const struct sample *rows, size_t count, size_t i, enum column column)
{
	switch (column) {
	case PLANE_STEP:
		return step_of(rows, count, i);
	case PLANE_STACK:
		return (stack_id)(rows[i].stack + 1);
	case PLANE_CPU_TIME:
		return rows[i].cpu_delta;
	case PLANE_IDLE_TIME:
		return step_of(rows, count, i) - rows[i].cpu_delta;
	case PLANE_WEIGHT:
		return rows[i].weight;
	case PLANE_CPU:
		return rows[i].cpu;
	default:
		return rows[i].event;
	}
}

/* The lowest value, and the bytes that distances from it take. Values are signed. */
struct range {
	uint64_t lowest;
	uint8_t width;
};

static struct range range_of(const uint64_t *values, size_t count)
{
	int64_t lowest = count ? (int64_t)values[0] : 0, highest = lowest;
	uint64_t most;
	struct range r = {0};

	for (size_t i = 1; i < count; i++) {
		int64_t value = (int64_t)values[i];

		lowest = value < lowest ? value : lowest;
		highest = value > highest ? value : highest;
	}
	most = (uint64_t)highest - (uint64_t)lowest;
	while (r.width < 8 && most >> 8 * r.width)
		r.width++;
	r.lowest = (uint64_t)lowest;
	return r;
}

static unsigned char *put(unsigned char *out, uint64_t value, size_t size)
{
	memcpy(out, &value, size);
	return out + size;
}

static unsigned char *put_column(const struct sample *rows, size_t count, enum column column,
				 uint64_t *values, unsigned char *out)
{
	struct range range;

	for (size_t i = 0; i < count; i++)
		values[i] = value_of(rows, count, i, column);
	range = range_of(values, count);
	out = put(out, range.width, 1);
	out = put(out, range.lowest, 8);
	for (unsigned int k = 0; k < range.width; k++) {
		for (size_t i = 0; i < count; i++)
			*out++ = (unsigned char)((values[i] - range.lowest) >> 8 * k);
	}
	return out;
}

static bool is_idle_time_shorter(const struct sample *rows, size_t count, uint64_t *values)
{
	struct range of[2];

	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < count; k++)
			values[k] = value_of(rows, count, k, PLANE_CPU_TIME + i);
		of[i] = range_of(values, count);
	}
	return of[1].width < of[0].width;
}

size_t row_planes_pack(const struct sample *rows, size_t count, unsigned char *out)
{
	uint64_t *values = xreallocarray(NULL, count + 1, sizeof(*values));
	bool has_idle_time = is_idle_time_shorter(rows, count, values);
	unsigned char *at = put(out, count ? rows[0].time - step_of(rows, count, 0) : 0, 8);

	at = put(at, has_idle_time, 1);
	for (enum column i = PLANE_STEP; i <= PLANE_EVENT; i++) {
		if (i != (has_idle_time ? PLANE_CPU_TIME : PLANE_IDLE_TIME))
			at = put_column(rows, count, i, values, at);
	}
	free(values);
	return (size_t)(at - out);
}

/* Inlined for each constant width, so that the compiler unrolls the loop over its bytes. */
static inline __attribute__((always_inline)) void
take_planes(const uint8_t *at, size_t count, unsigned int width, uint64_t lowest, uint64_t *values)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 0;

		for (unsigned int k = 0; k < width; k++)
			value |= (uint64_t)at[k * count + i] << 8 * k;
		values[i] = lowest + value;
	}
}

static void take_column(struct bytes *b, size_t count, uint64_t *values)
{
	unsigned int width = bytes_u8(b);
	uint64_t lowest = bytes_u64(b);
	const uint8_t *at = bytes_take(b, width <= 8 ? count * width : SIZE_MAX);

	switch (at ? width : 0) {
	case 0:
		take_planes(at, count, 0, lowest, values);
		break;
	case 1:
		take_planes(at, count, 1, lowest, values);
		break;
	case 2:
		take_planes(at, count, 2, lowest, values);
		break;
	case 3:
		take_planes(at, count, 3, lowest, values);
		break;
	default:
		take_planes(at, count, width, lowest, values);
	}
}

bool row_planes_unpack(const unsigned char *bytes, size_t size, struct sample *rows, size_t count)
{
	uint64_t *steps = xreallocarray(NULL, count + 1, sizeof(*steps));
	uint64_t *values = xreallocarray(NULL, count + 1, sizeof(*values)), time;
	bool has_idle_time;
	struct bytes b;

	bytes_init(&b, bytes, size);
	time = bytes_u64(&b);
	has_idle_time = bytes_u8(&b);
	take_column(&b, count, steps);
	take_column(&b, count, values);
	for (size_t i = 0; i < count; i++) {
		time += steps[i];
		rows[i] = (struct sample){.time = time, .stack = (stack_id)(values[i] - 1)};
	}
	take_column(&b, count, values);
	for (size_t i = 0; i < count; i++)
		rows[i].cpu_delta = (uint32_t)(has_idle_time ? steps[i] - values[i] : values[i]);
	take_column(&b, count, values);
	for (size_t i = 0; i < count; i++)
		rows[i].weight = (uint32_t)values[i];
	take_column(&b, count, values);
	for (size_t i = 0; i < count; i++)
		rows[i].cpu = (uint16_t)values[i];
	take_column(&b, count, values);
	for (size_t i = 0; i < count; i++)
		rows[i].event = (uint8_t)values[i];
	free(steps);
	free(values);
	return !b.failed && !bytes_left(&b);
}
