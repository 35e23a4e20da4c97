/* SPDX-License-Identifier: MIT */
#include "symbolize/kernel/jump_table.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

/* Distances from themselves to the instruction, to where it jumps, and to the key. */
#define ENTRY_SIZE 16
#define ENTRY_ALIGN 8
/* Fewer could be there by chance. */
#define RUN_MIN 8
/* The target is in the same function, whose cold part is far away. */
#define DISTANCE_MAX ((int64_t)64 << 20)
#define INSTRUCTION_MAX 5

struct search {
	int fd;
	const struct binary_summary *summary;
	const uint8_t *section;
	uint64_t vaddr; /* of the section */
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

/* Returns the size of a jump, or of a no-operation in its place; 0: it is neither. */
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

/* Looks at the entry at `at`. The key's two lowest bits are flags. */
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
