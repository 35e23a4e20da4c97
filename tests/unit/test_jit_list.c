/* SPDX-License-Identifier: MIT */
/* Lists in a made-up process: some pages of memory, in which a program publishes its code. */
#include "lib/live/code/jit_list.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/published_object.h"
#include "tests/unit/test.h"

#define MEMORY 0x10000ull /* address of the process's memory */
#define MEMORY_SIZE 0x10000
#define DESCRIPTOR (MEMORY + 0x100)
#define ENTRY(i) (MEMORY + 0x1000 + (i)*32ull)
#define OBJECT(i) (MEMORY + 0x4000 + (i)*PUBLISHED_OBJECT_MAX)
#define CODE(i) (0x7f0000000000ull + (i)*0x1000ull)
#define FOREVER 1000000000
/* Entries of the longest list, which has all its entries but in the first page made up. */
#define LONG 100000
#define LONG_ENTRY(i) (0x200000000ull + (i)*32ull)

static uint8_t memory[MEMORY_SIZE];
static struct jit_list list;
static char seen[65536]; /* of each piece: "start+size NAME LINE" or "[frames]" */
static uint64_t reads;
static uint64_t busy_from; /* number of the read from which on nothing can be read; 0: none */
static bool was_busy;
static void (*on_renew)(void);

static bool is_synthetic(uint64_t addr, uint64_t *entry, size_t size)
{
	uint64_t i = (addr - LONG_ENTRY(0)) / 32;

	if (addr < LONG_ENTRY(0) || i >= LONG || size != 32)
		return false;
	entry[0] = i + 1 < LONG ? LONG_ENTRY(i + 1) : 0;
	entry[1] = i ? LONG_ENTRY(i - 1) : 0;
	entry[2] = OBJECT(0);
	entry[3] = 64;
	return true;
}

static bool read_memory(void *ctx, uint64_t addr, void *to, size_t size)
{
	reads++;
	was_busy = busy_from && reads >= busy_from;
	if (was_busy)
		return false;
	if (is_synthetic(addr, to, size))
		return true;
	if (addr >= CODE(0) && addr < CODE(16)) {
		memset(to, 0x90, size);
		return true;
	}
	if (addr < MEMORY || addr - MEMORY > MEMORY_SIZE || size > MEMORY + MEMORY_SIZE - addr)
		return false;
	memcpy(to, memory + (addr - MEMORY), size);
	return true;
}

static bool is_busy(void *ctx)
{
	return was_busy;
}

static void renew(void *ctx)
{
	if (on_renew)
		on_renew();
}

static const struct jit_memory process = {read_memory, is_busy, renew, NULL};

static void put(uint64_t addr, uint64_t value)
{
	memcpy(memory + (addr - MEMORY), &value, sizeof(value));
}

static uint64_t get(uint64_t addr)
{
	uint64_t value;

	memcpy(&value, memory + (addr - MEMORY), sizeof(value));
	return value;
}

static void set_descriptor(uint32_t action, uint64_t relevant, uint64_t first)
{
	put(DESCRIPTOR, 1 | (uint64_t)action << 32);
	put(DESCRIPTOR + 8, relevant);
	put(DESCRIPTOR + 16, first);
}

static void put_entry(unsigned int i, uint64_t next, uint64_t previous)
{
	put(ENTRY(i), next);
	put(ENTRY(i) + 8, previous);
	put(ENTRY(i) + 16, OBJECT(i));
	put(ENTRY(i) + 24,
	    published_object(memory + (OBJECT(i) - MEMORY), PUBLISHED_RELOCATABLE, CODE(i), 64));
}

/* Publishes an object as most programs do: at the head of the list. */
static void publish(unsigned int i)
{
	uint64_t next = get(DESCRIPTOR + 16);

	put_entry(i, next, 0);
	if (next)
		put(next + 8, ENTRY(i));
	set_descriptor(1, ENTRY(i), ENTRY(i));
}

/* Publishes it as the last one. */
static void append(unsigned int i)
{
	put_entry(i, 0, ENTRY(i - 1));
	put(ENTRY(i - 1), ENTRY(i));
	set_descriptor(1, ENTRY(i), get(DESCRIPTOR + 16));
}

static void on_piece(void *ctx, const struct code_piece *piece)
{
	size_t used = strlen(seen);

	if (!piece->name_size) {
		assert_non_null(piece->eh_frame);
		/* Some of its functions may have no call frame information. */
		assert_int_equal(piece->size, 64);
		assert_non_null(piece->code);
		assert_int_equal(piece->code[63], 0x90);
		snprintf(seen + used, sizeof(seen) - used, "%llx+%llx [frames]\n",
			 (unsigned long long)piece->start, (unsigned long long)piece->size);
		return;
	}
	assert_int_equal(piece->line_count, 1);
	assert_int_equal(piece->lines[0].offset, 0);
	assert_string_equal(piece->files + piece->lines[0].file, "made.c");
	snprintf(seen + used, sizeof(seen) - used, "%llx+%llx %.*s %u\n",
		 (unsigned long long)piece->start, (unsigned long long)piece->size,
		 (int)piece->name_size, piece->name, piece->lines[0].line);
}

static bool read_list(uint64_t budget)
{
	seen[0] = '\0';
	return jit_list_read(&list, &process, budget, on_piece, NULL);
}

#define PIECES(i) \
	"7f000000" #i "000+40 [frames]\n7f000000" #i "000+20 first 10\n7f000000" #i \
	"020+20 second 20\n"

static void expect(const char *pieces)
{
	assert_false(read_list(FOREVER));
	assert_string_equal(seen, pieces);
}

static int setup(void **state)
{
	memset(memory, 0, sizeof(memory));
	list = (struct jit_list){.descriptor = DESCRIPTOR};
	busy_from = 0;
	on_renew = NULL;
	set_descriptor(0, 0, 0);
	return 0;
}

static int teardown(void **state)
{
	jit_list_release(&list);
	return 0;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(objects_are_read_once)
{
	expect("");
	publish(0);
	publish(1);
	expect(PIECES(1) PIECES(0));
	reads = 0;
	expect("");
	assert_int_equal(reads, 2);
	publish(2);
	expect(PIECES(2));
	assert_int_equal(list.stats.pieces, 6);
}

/* OTP 25 leaves modules in the list that it has unloaded. */
CASE(an_object_in_whose_place_a_newer_one_lies)
{
	publish(0);
	publish(1);
	published_object(memory + (OBJECT(1) - MEMORY), PUBLISHED_RELOCATABLE, CODE(0), 64);
	publish(2);
	expect(PIECES(2) PIECES(0));
	/* Later, it replaces what was there. */
	publish(3);
	published_object(memory + (OBJECT(3) - MEMORY), PUBLISHED_RELOCATABLE, CODE(0), 64);
	expect(PIECES(0));
}

CASE(objects_are_added_at_the_end)
{
	publish(0);
	expect(PIECES(0));
	append(1);
	append(2);
	append(3);
	expect(PIECES(3) PIECES(2) PIECES(1));
	expect("");
}

/* The first object, which may be large, is compared each time. */
CASE(a_first_object_of_more_than_the_budget)
{
	publish(0);
	expect(PIECES(0));
	append(1);
	append(2);
	assert_true(read_list(1));
	assert_string_equal(seen, PIECES(2));
	assert_false(read_list(1));
	assert_string_equal(seen, PIECES(1));
}

CASE(an_object_takes_the_place_of_another)
{
	publish(0);
	publish(1);
	expect(PIECES(1) PIECES(0));
	/* Unregistered, and another one of the same size registered in the same memory. */
	published_object(memory + (OBJECT(1) - MEMORY), PUBLISHED_RELOCATABLE, CODE(5), 64);
	set_descriptor(2, ENTRY(1), ENTRY(1));
	expect(PIECES(5));
}

CASE(a_forked_process_has_read_what_its_parent_has)
{
	struct jit_list parent;

	publish(0);
	expect(PIECES(0));
	parent = list;
	jit_list_copy(&list, &parent);
	jit_list_release(&parent);
	publish(1);
	expect(PIECES(1));
}

CASE(a_list_that_loops)
{
	publish(0);
	publish(1);
	publish(2);
	put(ENTRY(0), ENTRY(2));
	expect(PIECES(2) PIECES(1) PIECES(0));
	expect("");
	/* One that leads back and forth consistently. */
	put(ENTRY(2) + 8, ENTRY(0));
	set_descriptor(1, ENTRY(0), ENTRY(2));
	expect("");
	put(ENTRY(1), ENTRY(1));
	set_descriptor(1, ENTRY(1), ENTRY(1));
	expect("");
}

CASE(an_object_of_2_gb)
{
	publish(0);
	publish(1);
	put(ENTRY(1) + 24, 2ull << 30);
	expect(PIECES(0));
	assert_int_equal(list.stats.malformed, 1);
	put(ENTRY(1) + 24, UINT64_MAX);
	set_descriptor(1, ENTRY(1), ENTRY(1));
	expect("");
}

CASE(pointers_that_lead_nowhere)
{
	set_descriptor(1, 8, 0xdead0000);
	expect("");
	set_descriptor(0, 0, 0);
	publish(0);
	put(ENTRY(0), 0xdead0000);
	put(ENTRY(0) + 16, 0xdead0000);
	expect("");
	assert_int_equal(list.stats.malformed, 1);
	list.descriptor = 0xdead0000;
	expect("");
	/* No descriptor of that version. */
	list.descriptor = DESCRIPTOR;
	publish(1);
	put(DESCRIPTOR, 2);
	expect("");
}

CASE(a_list_of_100000_objects)
{
	uint64_t calls = 0;

	set_descriptor(1, LONG_ENTRY(0), LONG_ENTRY(0));
	do {
		uint64_t before = list.stats.bytes;

		calls++;
		assert_true(calls < 10000);
		if (!read_list(1 << 20))
			break;
		/* One object more, at most. */
		assert_true(list.stats.bytes - before < (1 << 20) + 5 * 4096);
	} while (true);
	assert_true(list.is_cut);
	assert_true(list.entries.count < 20000);
	assert_true(calls > 10);
	reads = 0;
	expect("");
	assert_int_equal(reads, 2);
}

static void replace_object(void)
{
	static unsigned int renewals;

	/* Between the reading of the object and that of its entry. */
	if (++renewals != 2)
		return;
	put(ENTRY(0) + 16, OBJECT(3));
	published_object(memory + (OBJECT(3) - MEMORY), PUBLISHED_RELOCATABLE, CODE(3), 64);
	set_descriptor(1, ENTRY(0), ENTRY(0));
}

CASE(an_object_changes_while_it_is_read)
{
	publish(0);
	on_renew = replace_object;
	expect(PIECES(3));
	assert_int_equal(list.stats.malformed, 1);
	expect("");
}

CASE(reading_is_interrupted_anywhere)
{
	for (unsigned int i = 0; i < 4; i++)
		publish(i);
	for (uint64_t stop = 1; stop < 20; stop++) {
		struct jit_list whole = {.descriptor = DESCRIPTOR};
		bool has_more;

		jit_list_release(&list);
		list = whole;
		seen[0] = '\0';
		reads = 0;
		busy_from = stop;
		has_more = jit_list_read(&list, &process, FOREVER, on_piece, NULL);
		assert_int_equal(has_more, was_busy);
		busy_from = 0;
		jit_list_read(&list, &process, FOREVER, on_piece, NULL);
		assert_string_equal(seen, PIECES(3) PIECES(2) PIECES(1) PIECES(0));
	}
}

CASE(the_list_changes_while_reading_is_interrupted)
{
	for (unsigned int i = 0; i < 3; i++)
		publish(i);
	assert_true(read_list(1));
	assert_string_equal(seen, PIECES(2));
	/* The entry that would be next is unregistered. */
	put(ENTRY(2), ENTRY(0));
	put(ENTRY(0) + 8, ENTRY(2));
	memset(memory + (ENTRY(1) - MEMORY), 0xaa, 32);
	set_descriptor(2, ENTRY(1), ENTRY(2));
	expect(PIECES(2) PIECES(0));
}

static struct jit_search search_memory(void)
{
	struct jit_search search = {.left = JIT_SEARCH_BYTES, .tries = JIT_SEARCH_TRIES};

	jit_list_search(&search, &process, MEMORY, MEMORY + 0x1000);
	return search;
}

CASE(a_descriptor_is_found_by_its_form)
{
	struct jit_search search = search_memory();

	/* Empty, and many words that could begin one. */
	for (uint64_t at = 0x200; at < 0xf00; at += 8)
		put(MEMORY + at, 1);
	assert_int_equal(search.found, 0);
	publish(0);
	search = search_memory();
	assert_int_equal(search.found, DESCRIPTOR);
	assert_false(search.is_ambiguous);
	publish(1);
	assert_int_equal(search_memory().found, DESCRIPTOR);
	/* A copy. */
	memcpy(memory + 0x80, memory + (DESCRIPTOR - MEMORY), JIT_DESCRIPTOR_SIZE);
	assert_true(search_memory().is_ambiguous);
}

/* Reads are done by another thread, which takes long. */
CASE(a_search_reads_little_of_what_is_no_list)
{
	struct jit_search search = {.left = JIT_SEARCH_BYTES, .tries = JIT_SEARCH_TRIES};
	const uint64_t firsts[] = {8, 0x500000000, 1ull << 50, MEMORY + 0x800, MEMORY + 0x9000};

	/* Small numbers, a pair of them, no address, another variable, a constant. */
	memset(memory, 0, 0x1000);
	for (unsigned int i = 0; i < 5; i++) {
		put(MEMORY + i * 64ull, 1);
		put(MEMORY + i * 64ull + 16, firsts[i]);
	}
	search.constants_start = MEMORY + 0x8000;
	search.constants_end = MEMORY + 0xa000;
	reads = 0;
	jit_list_search(&search, &process, MEMORY, MEMORY + 0x1000);
	assert_int_equal(search.found, 0);
	assert_int_equal(reads, 1);
}

CASE(a_search_goes_on_around_unreadable_memory)
{
	struct jit_search search = {.left = JIT_SEARCH_BYTES, .tries = JIT_SEARCH_TRIES};

	publish(0);
	jit_list_search(&search, &process, MEMORY - 0x10000, MEMORY + 0x8000);
	assert_int_equal(search.found, DESCRIPTOR);
}

CASE(a_search_is_bounded)
{
	struct jit_search search = {.left = 0x200, .tries = JIT_SEARCH_TRIES};

	publish(0);
	jit_list_search(&search, &process, MEMORY - 0x40000000, MEMORY + 0x1000);
	assert_int_equal(search.found, 0);
	/* Each place leads to an entry that is none. */
	for (uint64_t at = 0x200; at < 0x1000; at += 24) {
		put(MEMORY + at, 1);
		put(MEMORY + at + 16, MEMORY + 0x8000);
	}
	search = (struct jit_search){.left = JIT_SEARCH_BYTES, .tries = 10};
	reads = 0;
	jit_list_search(&search, &process, MEMORY + 0x200, MEMORY + 0x1000);
	assert_int_equal(search.tries, 0);
	assert_true(reads < 20);
}
