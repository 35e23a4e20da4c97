/* SPDX-License-Identifier: MIT */
/* Records of mapping rings, as the kernel writes them. */
#include "lib/live/perf/perf_event.h"
#include "tests/unit/test.h"

#include <linux/perf_event.h>
#include <string.h>

#define TIME 123456789
#define RUBBISH 0xa5

struct record {
	uint8_t data[512];
	size_t size;
};

static void put(struct record *r, const void *bytes, size_t size)
{
	memcpy(r->data + r->size, bytes, size);
	r->size += size;
}

static void put_u16(struct record *r, uint16_t value)
{
	put(r, &value, sizeof(value));
}

static void put_u32(struct record *r, uint32_t value)
{
	put(r, &value, sizeof(value));
}

static void put_u64(struct record *r, uint64_t value)
{
	put(r, &value, sizeof(value));
}

static void begin(struct record *r, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {.type = type, .misc = misc};

	memset(r, 0, sizeof(*r));
	put(r, &header, sizeof(header));
}

static void put_text(struct record *r, const char *text)
{
	put(r, text, strlen(text) + 1);
	while (r->size % 8)
		put(r, "", 1);
}

static void put_sample_id(struct record *r)
{
	put_u32(r, 7);
	put_u32(r, 8);
	put_u64(r, TIME);
	put_u32(r, 3);
	put_u32(r, 0);
}

static void end(struct record *r)
{
	((struct perf_event_header *)r->data)->size = (uint16_t)r->size;
}

static void put_code(struct record *r, size_t extra)
{
	begin(r, PERF_RECORD_KSYMBOL, 0);
	put_u64(r, 0xffffffffc0001000);
	put_u32(r, 640);
	put_u16(r, PERF_RECORD_KSYMBOL_TYPE_BPF);
	put_u16(r, 0);
	put_text(r, "bpf_prog_1234_name");
	put_sample_id(r);
	memset(r->data + r->size, RUBBISH, extra);
	r->size += extra;
	end(r);
}

/* The kernel enlarges the record for each further listener, and leaves garbage there. */
TEST(code_has_its_time_however_many_listen)
{
	for (size_t listeners = 1; listeners <= 4; listeners++) {
		struct map_event event = {.time = 1};
		struct record r;

		put_code(&r, (listeners - 1) * MAP_EVENT_SAMPLE_ID_SIZE);
		assert_true(map_event_parse(r.data, r.size, &event));
		assert_int_equal(event.kind, MAP_EVENT_CODE);
		assert_int_equal(event.time, TIME);
		assert_int_equal(event.start, 0xffffffffc0001000);
		assert_int_equal(event.size, 640);
		assert_string_equal(event.path, "bpf_prog_1234_name");
	}
}

static void put_map(struct record *r)
{
	begin(r, PERF_RECORD_MMAP2, 0);
	put_u32(r, 7);
	put_u32(r, 8);
	put_u64(r, 0x7f0000001000);
	put_u64(r, 0x5000);
	put_u64(r, 0x2000);
	put_u32(r, 253);
	put_u32(r, 1);
	put_u64(r, 4711);
	put_u64(r, 0);
	put_u64(r, 5);
	put_text(r, "/usr/lib/library.so");
	put_sample_id(r);
	end(r);
}

TEST(a_mapping_is_told)
{
	struct map_event event = {.time = 1};
	struct record r;

	put_map(&r);
	assert_true(map_event_parse(r.data, r.size, &event));
	assert_int_equal(event.kind, MAP_EVENT_MAP);
	assert_int_equal(event.time, TIME);
	assert_int_equal(event.pid, 7);
	assert_int_equal(event.tid, 8);
	assert_int_equal(event.start, 0x7f0000001000);
	assert_int_equal(event.size, 0x5000);
	assert_int_equal(event.file_offset, 0x2000);
	assert_int_equal(event.inode, 4711);
	assert_int_equal(event.build_id_size, 0);
	assert_string_equal(event.path, "/usr/lib/library.so");
}

TEST(losses_have_the_time_of_what_was_before)
{
	struct map_event event = {.time = 99};
	struct record r;

	begin(&r, PERF_RECORD_LOST, 0);
	put_u64(&r, 1);
	put_u64(&r, 12);
	end(&r);
	assert_true(map_event_parse(r.data, r.size, &event));
	assert_int_equal(event.kind, MAP_EVENT_LOST);
	assert_int_equal(event.time, 99);
	assert_int_equal(event.lost, 12);
}

TEST(what_is_cut_is_nothing)
{
	struct record whole[2];

	put_code(&whole[0], 0);
	put_map(&whole[1]);
	for (int i = 0; i < 2; i++) {
		for (size_t size = 0; size < whole[i].size; size++) {
			struct map_event event = {.time = 1};
			struct record r = whole[i];

			assert_false(map_event_parse(r.data, size, &event));
		}
	}
}
