/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/allocs/alloc_functions.h"

#include <elf.h>
#include <string.h>

#include "bpf/alloc_record.h"
#include "bpf/config.h"
#include "lib/base/read_at.h"
#include "lib/base/text.h"
#include "lib/code/binary/binary.h"
#include "lib/live/instruments/allocs/emulated_entry.h"

static const struct {
	const char *name;
	enum alloc_function function;
} functions[] = {
	{"malloc", ALLOC_SIZE},
	{"free", ALLOC_FREE},
	{"calloc", ALLOC_COUNT_SIZE},
	{"realloc", ALLOC_REALLOC},
	{"reallocarray", ALLOC_REALLOCARRAY},
	{"memalign", ALLOC_OTHER_SIZE},
	{"aligned_alloc", ALLOC_OTHER_SIZE},
	{"posix_memalign", ALLOC_POSIX_MEMALIGN},
	{"valloc", ALLOC_SIZE},
	{"pvalloc", ALLOC_SIZE},
	/* operator new and delete of allocators that have their own. */
	{"_Znwm", ALLOC_SIZE},
	{"_Znam", ALLOC_SIZE},
	{"_ZdlPv", ALLOC_FREE},
	{"_ZdaPv", ALLOC_FREE},
	{"_ZdlPvm", ALLOC_FREE},
	{"_ZdaPvm", ALLOC_FREE},
};

#define FUNCTION_COUNT (sizeof(functions) / sizeof(*functions))
#define MALLOC 0
#define FREE 1

/* Names may end in "@VERSION". */
static size_t find_function(const char *name)
{
	size_t size = strcspn(name, "@");

	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		if (strlen(functions[i].name) == size &&
		    strncmp(functions[i].name, name, size) == 0)
			return i;
	}
	return FUNCTION_COUNT;
}

static bool find_offset(const struct binary_summary *summary, uint64_t vaddr, uint64_t *offset)
{
	for (size_t i = 0; i < summary->segment_count; i++) {
		const struct binary_segment *segment = &summary->segments[i];

		if (!segment->executable || vaddr < segment->vaddr ||
		    vaddr - segment->vaddr >= segment->file_size)
			continue;
		*offset = vaddr - segment->vaddr + segment->file_offset;
		return true;
	}
	return false;
}

/* Returns the offset of the instruction to probe, which each call passes. */
static uint64_t choose_place(const struct binary_summary *summary, int fd, uint64_t entry)
{
	uint8_t code[EMULATED_ENTRY_BYTES];
	ssize_t size;

	if (summary->machine != EM_X86_64)
		return entry;
	size = read_at(fd, code, sizeof(code), entry);
	return size < 0 ? entry : entry + emulated_entry_find(code, (size_t)size);
}

static bool has_place(const struct usdt_file *file, uint64_t offset)
{
	vec_for_each(&file->places, const struct uprobe_place *, place) {
		if (place->offset == offset)
			return true;
	}
	return false;
}

/*
 * A file that has only some of the functions is no allocator: libstdc++'s operator new calls
 * malloc().
 */
static void read_symbols(struct usdt_file *file, int fd, const struct binary *b,
			 const struct binary_summary *summary, bool returning)
{
	struct binary_symbols symbols = {0};
	bool found[FUNCTION_COUNT] = {false};

	binary_add_symbols(b, NULL, &symbols);
	vec_for_each(&symbols.rows, const struct binary_symbol *, symbol) {
		size_t i = symbol->is_func && symbol->binding != BINARY_LOCAL
				   ? find_function(symbol->name)
				   : FUNCTION_COUNT;
		struct uprobe_place place = {0};

		if (i == FUNCTION_COUNT)
			continue;
		found[i] = true;
		place.cookie = functions[i].function;
		if ((returning && functions[i].function == ALLOC_FREE) ||
		    !find_offset(summary, symbol->vaddr, &place.offset))
			continue;
		place.offset = choose_place(summary, fd, place.offset);
		if (!has_place(file, place.offset))
			vec_push(&file->places, place);
	}
	if (!found[MALLOC] || !found[FREE])
		vec_clear(&file->places);
	vec_release(&symbols.rows);
}

static void read_functions(struct usdt_file *file, int fd, bool returning)
{
	struct binary_summary summary = {0};
	struct binary *b = NULL;

	if (binary_summarize(fd, &summary, NULL) == 0 && summary.is_64bit &&
	    binary_open(&b, fd, NULL) == 0)
		read_symbols(file, fd, b, &summary, returning);
	binary_free(b);
	binary_summary_release(&summary);
}

void alloc_functions_read(struct usdt_file *file, int fd)
{
	read_functions(file, fd, false);
}

void alloc_functions_read_returning(struct usdt_file *file, int fd)
{
	read_functions(file, fd, true);
}
