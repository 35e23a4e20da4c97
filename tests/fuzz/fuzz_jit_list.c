/* SPDX-License-Identifier: MIT */
/*
 * The memory of a process that publishes code to debuggers, the list's descriptor first: reading it
 * at once and piece by piece ends, and each piece keeps its promises.
 */
#include <stdbool.h>
#include <string.h>

#include "lib/code/unwind/compile.h"
#include "lib/code/unwind/unwind_table.h"
#include "lib/live/code/jit_list.h"
#include "tests/fuzz/input.h"

#define MEMORY 0x10000ull

static const uint8_t *memory;
static size_t memory_size;

static bool read_memory(void *ctx, uint64_t addr, void *to, size_t size)
{
	if (addr < MEMORY || addr - MEMORY > memory_size || size > MEMORY + memory_size - addr)
		return false;
	memcpy(to, memory + (addr - MEMORY), size);
	return true;
}

static bool is_busy(void *ctx)
{
	return false;
}

static void renew(void *ctx)
{
}

static void check_frames(const struct code_piece *piece)
{
	const struct code_range code = {piece->start, piece->start + piece->size};
	const struct compile_input input = {
		.arch = &unwind_arch_x86_64,
		.cfi = {.data = piece->eh_frame,
			.size = piece->eh_frame_size,
			.vaddr = piece->eh_frame_addr,
			.text = piece->start},
		.is_debug_frame = piece->is_debug_frame,
		.code = &code,
		.code_count = 1,
	};
	struct unwind_rules rules;
	struct unwind_table table = {0};

	unwind_rules_init(&rules);
	compile_table(&input, &rules, &table, NULL);
	unwind_table_release(&table);
	unwind_rules_release(&rules);
}

static void on_piece(void *ctx, const struct code_piece *piece)
{
	uint32_t last = 0;

	require(piece->size && piece->start + piece->size > piece->start);
	require(piece->name_size <= CODE_NAME_MAX);
	if (piece->eh_frame && piece->size < 1 << 20)
		check_frames(piece);
	for (size_t i = 0; i < piece->line_count; i++) {
		const struct rec_code_line *line = &piece->lines[i];

		require(line->offset >= last && line->offset < piece->size);
		require(line->file < piece->files_size);
		require(strnlen(piece->files + line->file, piece->files_size - line->file) <
			piece->files_size - line->file);
		last = line->offset;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct jit_memory process = {read_memory, is_busy, renew, NULL};
	struct jit_list whole = {.descriptor = MEMORY}, pieces = {.descriptor = MEMORY};
	struct jit_search search = {.left = JIT_SEARCH_BYTES, .tries = JIT_SEARCH_TRIES};

	memory = data;
	memory_size = size;
	require(!jit_list_read(&whole, &process, UINT64_MAX / 2, on_piece, NULL));
	for (unsigned int i = 0; jit_list_read(&pieces, &process, 5 * 4096, on_piece, NULL); i++)
		require(i < 100000);
	require(whole.entries.count <= size);
	jit_list_search(&search, &process, MEMORY, MEMORY + size);
	require(!search.found || search.found - MEMORY < size);
	jit_list_release(&whole);
	jit_list_release(&pieces);
	return 0;
}
