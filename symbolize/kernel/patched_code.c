/* SPDX-License-Identifier: MIT */
#include "symbolize/kernel/patched_code.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/code/binary/binary.h"
#include "symbolize/kernel/jump_table.h"

#define SECTION_MAX ((size_t)16 << 20)
/* No alternative is longer than this. */
#define PLACE_MAX 255

static const char alternative[] = "alternative, by CPU";

/* Sections of distances from each entry to an instruction. */
static const struct {
	const char *section, *how;
	uint32_t size; /* of what is changed; 1: of the instruction that begins there */
} tables[] = {
	{".retpoline_sites", "retpoline", 1},
	{".return_sites", "return thunk", 1},
	{".smp_locks", "lock prefix, on one CPU", 1},
};

/* Functions that calls of which become something else: by the beginnings of their names. */
static const struct {
	const char *name, *how;
} callees[] = {
	{"__SCT__", "static call"},
	{"__fentry__", "ftrace"},
	{"__x86_return_thunk", "return thunk"},
	{"__x86_indirect_", "retpoline"},
};

struct reading {
	struct patched_code *patched;
	const struct binary *binary;
	uint64_t base; /* vaddr of the RVA 0 */
};

static void add(struct reading *r, uint64_t vaddr, uint32_t size, const char *how)
{
	const struct patched_place place = {vaddr - r->base, size, how};

	if (vaddr >= r->base)
		vec_push(&r->patched->places, place);
}

static void read_table(struct reading *r, const char *section, const char *how, uint32_t size)
{
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t vaddr;
	size_t bytes_size;
	struct bytes b;

	if (!binary_section_vaddr(r->binary, section, &vaddr) ||
	    binary_read_section(r->binary, section, SECTION_MAX, &data, &bytes_size, NULL))
		return;
	bytes_init(&b, data, bytes_size);
	for (; bytes_left(&b) >= 4; vaddr += 4) {
		int32_t distance = (int32_t)bytes_u32(&b);

		add(r, vaddr + (uint64_t)(int64_t)distance, size, how);
	}
}

/*
 * An entry begins with the distance to its instruction; the kernel's versions differ in what lies
 * between and the length of the code. Counts entries that make sense.
 */
static size_t read_alternatives(struct reading *r, const uint8_t *data, size_t size, uint64_t vaddr,
				size_t stride, size_t length_at)
{
	size_t before = r->patched->places.count;

	for (size_t at = 0; size - at >= stride; at += stride) {
		struct bytes b;
		int32_t distance;
		uint8_t length = data[at + length_at];

		bytes_init(&b, data + at, stride);
		distance = (int32_t)bytes_u32(&b);
		if (length && distance < 0)
			add(r, vaddr + at + (uint64_t)(int64_t)distance, length, alternative);
	}
	return r->patched->places.count - before;
}

/* Takes the form in which all entries make sense. */
static void find_alternatives(struct reading *r)
{
	static const struct {
		size_t stride, length_at;
	} forms[] = {{14, 12}, {12, 10}, {13, 10}};
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t vaddr;
	size_t size;

	if (!binary_section_vaddr(r->binary, ".altinstructions", &vaddr) ||
	    binary_read_section(r->binary, ".altinstructions", SECTION_MAX, &data, &size, NULL))
		return;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t before = r->patched->places.count;

		if (size % forms[i].stride == 0 &&
		    read_alternatives(r, data, size, vaddr, forms[i].stride, forms[i].length_at) ==
			    size / forms[i].stride)
			return;
		r->patched->places.count = before;
	}
}

/* Static keys have no section of their own; distributions' compilers put their table here. */
static void find_jumps(struct reading *r, int fd)
{
	static const char *const sections[] = {"__jump_table", ".rodata", ".data"};
	struct binary_summary summary = {0};
	struct jump_table jumps = {0};

	if (binary_summarize(fd, &summary, NULL))
		return;
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		_cleanup_free_ uint8_t *data = NULL;
		uint64_t vaddr;
		size_t size;

		if (jumps.places.count || !binary_section_vaddr(r->binary, sections[i], &vaddr) ||
		    binary_read_section(r->binary, sections[i], SECTION_MAX, &data, &size, NULL))
			continue;
		jump_table_find(&jumps, fd, &summary, data, size, vaddr);
	}
	vec_for_each(&jumps.places, const struct jump_place *, place)
		add(r, place->vaddr, place->size, "static key");
	jump_table_release(&jumps);
	binary_summary_release(&summary);
}

static int compare_places(const void *a, const void *b)
{
	uint64_t x = ((const struct patched_place *)a)->rva;
	uint64_t y = ((const struct patched_place *)b)->rva;

	return (x > y) - (x < y);
}

void patched_code_read(struct patched_code *p, int fd)
{
	struct binary *binary;
	struct reading r = {.patched = p};

	*p = (struct patched_code){0};
	if (binary_open(&binary, fd, NULL))
		return;
	r.binary = binary;
	r.base = binary_first_vaddr(binary);
	find_alternatives(&r);
	find_jumps(&r, fd);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		read_table(&r, tables[i].section, tables[i].how, tables[i].size);
	vec_sort(&p->places, compare_places);
	binary_free(binary);
}

void patched_code_release(struct patched_code *p)
{
	vec_release(&p->places);
}

const char *patched_code_find(const struct patched_code *p, uint64_t rva, uint32_t size,
			      const char *callee)
{
	size_t low = 0, high = p->places.count;

	for (size_t i = 0; callee && i < sizeof(callees) / sizeof(callees[0]); i++) {
		if (text_starts_with(callee, callees[i].name))
			return callees[i].how;
	}
	/* The first place that may reach the instruction. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->places.items[middle].rva + PLACE_MAX < rva)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < p->places.count && p->places.items[low].rva < rva + size; low++) {
		if (p->places.items[low].rva + p->places.items[low].size > rva)
			return p->places.items[low].how;
	}
	return NULL;
}
