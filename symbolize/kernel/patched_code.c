/* SPDX-License-Identifier: MIT */
#include "symbolize/kernel/patched_code.h"

#include <elf.h>

/* An entry: distances from its fields to the instruction, to the jump's target, and to the key. */
#define ENTRY_SIZE 16
#define ENTRY_ALIGN 8
/* Shorter runs could occur by chance. */
#define RUN_MIN 8
/* Maximum distance: the target is in the same function, whose cold part is far away. */
#define DISTANCE_MAX ((int64_t)64 << 20)
#define INSTRUCTION_MAX 5

struct search {
	int fd;
	const struct binary_summary *summary;
	const uint8_t *section;
	uint64_t vaddr; /* vaddr of the section */
};

static const struct binary_segment *find_segment(const struct search *s, uint64_t vaddr)
{
	for (size_t i = 0; i < s->summary->segment_count; i++) {
		const struct binary_segment *segment = &s->summary->segments[i];

		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->file_size)
			return segment;
	}
	return NULL;
}

static bool is_code(const struct search *s, uint64_t vaddr)
{
	const struct binary_segment *segment = find_segment(s, vaddr);

	return segment && segment->executable;
}

/* Returns the size of a jump or of a no-operation in its place; 0 if it is neither. */
static uint32_t instruction_size(uint16_t machine, const uint8_t *code)
{
	static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00}, nop2[] = {0x66, 0x90};
	struct bytes b;
	uint32_t word;

	bytes_init(&b, code, INSTRUCTION_MAX);
	word = bytes_u32(&b);
	if (machine == EM_AARCH64)
		return word == 0xd503201f || word >> 26 == 5 ? 4 : 0;
	if (machine != EM_X86_64)
		return 0;
	if (code[0] == 0xe9 || memcmp(code, nop5, sizeof(nop5)) == 0)
		return 5;
	return code[0] == 0xeb || memcmp(code, nop2, sizeof(nop2)) == 0 ? 2 : 0;
}

static uint32_t read_instruction(const struct search *s, uint64_t vaddr)
{
	const struct binary_segment *segment = find_segment(s, vaddr);
	uint8_t code[INSTRUCTION_MAX] = {0};

	if (!segment || pread(s->fd, code, sizeof(code),
			      (off_t)(segment->file_offset + (vaddr - segment->vaddr))) < 2)
		return 0;
	return instruction_size(s->summary->machine, code);
}

/* Checks the entry at `at`. The key's two lowest bits are flags. */
static bool take_entry(const struct search *s, size_t at, struct jump_place *place)
{
	uint64_t entry = s->vaddr + at;
	struct bytes b;
	int64_t code, target, key;

	bytes_init(&b, s->section + at, ENTRY_SIZE);
	code = (int32_t)bytes_u32(&b);
	target = (int64_t)(int32_t)bytes_u32(&b) + 4;
	key = (int64_t)bytes_u64(&b) + 8;
	if (!code || target - code > DISTANCE_MAX || code - target > DISTANCE_MAX)
		return false;
	place->vaddr = entry + (uint64_t)code;
	if (!is_code(s, place->vaddr) || !is_code(s, entry + (uint64_t)target) ||
	    !find_segment(s, entry + ((uint64_t)key & ~(uint64_t)3)))
		return false;
	place->size = read_instruction(s, place->vaddr);
	return place->size;
}

void jump_table_find(struct jump_table *t, int fd, const struct binary_summary *summary,
		     const uint8_t *section, size_t size, uint64_t vaddr)
{
	const struct search s = {fd, summary, section, vaddr};
	size_t before = t->places.count, at = 0;
	struct jump_place place;

	while (size >= ENTRY_SIZE && at <= size - ENTRY_SIZE) {
		if (take_entry(&s, at, &place)) {
			vec_push(&t->places, place);
			at += ENTRY_SIZE;
			continue;
		}
		if (t->places.count - before >= RUN_MIN)
			before = t->places.count;
		t->places.count = before;
		at += ENTRY_ALIGN;
	}
	if (t->places.count - before < RUN_MIN)
		t->places.count = before;
}

void jump_table_release(struct jump_table *t)
{
	vec_release(&t->places);
}

#define SECTION_MAX ((size_t)16 << 20)
/* Maximum size of an alternative. */
#define PLACE_MAX 255

static const char alternative[] = "alternative, by CPU";

/* Sections that contain, per entry, the distance to an instruction. */
static const struct {
	const char *section, *how;
	uint32_t size; /* number of bytes that change; 1 means the instruction that begins there */
} tables[] = {
	{".retpoline_sites", "retpoline", 1},
	{".return_sites", "return thunk", 1},
	{".smp_locks", "lock prefix, on one CPU", 1},
};

/* Functions whose calls are replaced, by prefix of their names. */
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
	uint64_t base; /* vaddr of RVA 0 */
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
 * Reads entries. Each begins with the distance to its instruction; kernel versions differ in the
 * fields between it and the length of the code. Counts plausible entries.
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

/* Chooses the format in which all entries are plausible. */
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

ORDER(compare_places, struct patched_place, COMPARE(a->rva, b->rva))

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
	/* Find the first place that may reach the instruction. */
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
