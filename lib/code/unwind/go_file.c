/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/go_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"

/* Larger tables are ignored; that of a program with 100 MB of code has some 60 MB. */
#define MAX_TABLE_SIZE (256u << 20)
#define MAX_RELOCATIONS_SIZE (64u << 20)
/* Words that hold the table's address and may begin struct moduledata; a program has one. */
#define MAX_CANDIDATES 16
/*
 * Places in struct moduledata of Go's runtime: of the addresses of Go's code and of functions'
 * data, the latter also before Go 1.20. Since Go 1.26 the structure has a section, .go.module.
 */
#define MODULE_TEXT_AT 176
#define MODULE_GOFUNC_AT 320
#define MODULE_GOFUNC_1_18_AT 304
/* The linker aligns the table to 32 bytes, or 8 since Go 1.26. */
#define TABLE_ALIGNMENT 8

/* Reads the relocations once: those of a large program have some megabytes. */
static struct bytes relocations(struct go_file *go)
{
	const struct file_range *range = &go->file->relocations;
	struct bytes b;

	if (!go->relocations && range->size && range->size <= MAX_RELOCATIONS_SIZE &&
	    cfi_file_read(go->file, range, &go->relocations, &go->relocations_size, NULL) != 0)
		go->relocations_size = 0;
	bytes_init(&b, go->relocations, go->relocations_size);
	return b;
}

uint64_t go_relocated_word(struct go_file *go, uint64_t vaddr, uint32_t *type)
{
	struct bytes b = relocations(go);

	while (bytes_left(&b) >= sizeof(Elf64_Rela)) {
		uint64_t at = bytes_u64(&b), info = bytes_u64(&b), addend = bytes_u64(&b);

		if (at != vaddr)
			continue;
		*type = ELF64_R_TYPE(info);
		return addend;
	}
	return 0;
}

static uint64_t read_u64(const struct cfi_file *file, const struct file_range *from, uint64_t at)
{
	struct file_range range = {.offset = from->offset + at, .size = 8};
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t value = 0;
	size_t size;

	if (at > from->size || from->size - at < 8 ||
	    cfi_file_read(file, &range, &data, &size, NULL) != 0 || size != 8)
		return 0;
	memcpy(&value, data, sizeof(value));
	return value;
}

/* Returns the vaddr of Go's code; position-independent programs may tell it by relocation alone. */
static uint64_t find_text(struct go_file *go)
{
	const struct cfi_file *file = go->file;
	uint64_t text = go->table.text;
	uint32_t type;

	if (!text)
		text = read_u64(file, &file->go_module, MODULE_TEXT_AT);
	if (!text && file->go_module.size)
		text = go_relocated_word(go, file->go_module.vaddr + MODULE_TEXT_AT, &type);
	if (!text)
		text = go_relocated_word(go, go->vaddr + PCLNTAB_TEXT_AT, &type);
	return text ? text : file->text.vaddr;
}

/* Does all the code of the table lie in one executable range? */
static bool is_code(const struct go_file *go)
{
	struct pclntab_function first, last;

	if (!pclntab_function(&go->table, 0, &first) ||
	    !pclntab_function(&go->table, go->table.count - 1, &last))
		return false;
	vec_for_each(&go->file->code, const struct code_range *, code) {
		if (go->text >= code->start && go->text < code->end &&
		    last.end <= code->end - go->text && first.start <= last.end)
			return true;
	}
	return false;
}

/* Finds the table in a section that the system's linker has put it in. */
static bool find_table(const uint8_t *data, size_t size, size_t *at)
{
	for (*at = 0; *at + PCLNTAB_HEADER_SIZE <= size; *at += TABLE_ALIGNMENT) {
		if (pclntab_is_header(data + *at))
			return true;
	}
	return false;
}

static bool find_in(struct go_file *go, const struct file_range *range)
{
	size_t size, at;

	if (!range->size || range->size > MAX_TABLE_SIZE ||
	    cfi_file_read(go->file, range, &go->data, &size, NULL) != 0 ||
	    !find_table(go->data, size, &at) || !pclntab_init(&go->table, go->data + at, size - at))
		return false;
	go->vaddr = range->vaddr + at;
	go->text = find_text(go);
	return is_code(go);
}

bool go_file_find(struct go_file *go, const struct cfi_file *file)
{
	const struct file_range *const places[] = {&file->go_functions, &file->relro};
	bool is_go = file->go_build_info.size || file->go_build_id.size;

	for (size_t i = 0; is_go && i < 2; i++) {
		*go = (struct go_file){.file = file};
		if (find_in(go, places[i]))
			return true;
		go_file_release(go);
	}
	return false;
}

static uint64_t read_vaddr(struct go_file *go, uint64_t vaddr)
{
	struct file_range range = cfi_file_find(go->file, vaddr);
	uint32_t type;
	uint64_t value = range.size ? read_u64(go->file, &range, 0) : 0;

	return value ? value : go_relocated_word(go, vaddr, &type);
}

/* Finds the module's structure in a loaded part of the file: it begins with the table's address. */
static uint64_t find_in_segment(const struct go_file *go, const struct file_range *segment)
{
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t first, text;
	size_t size;

	if (segment->size > MAX_TABLE_SIZE ||
	    cfi_file_read(go->file, segment, &data, &size, NULL) != 0)
		return 0;
	for (size_t at = 0; at + MODULE_GOFUNC_AT + 8 <= size; at += 8) {
		memcpy(&first, data + at, sizeof(first));
		if (first != go->vaddr)
			continue;
		memcpy(&text, data + at + MODULE_TEXT_AT, sizeof(text));
		if (text == go->text)
			return segment->vaddr + at;
	}
	return 0;
}

/* Finds it by its relocations: without them, position-independent programs may have zeros there. */
static uint64_t find_by_relocation(struct go_file *go)
{
	struct bytes b = relocations(go);
	uint32_t type;

	for (int candidates = 0; candidates < MAX_CANDIDATES;) {
		uint64_t at = bytes_u64(&b), addend;

		bytes_skip(&b, 8);
		addend = bytes_u64(&b);
		if (b.failed)
			break;
		if (addend != go->vaddr)
			continue;
		candidates++;
		if (go_relocated_word(go, at + MODULE_TEXT_AT, &type) == go->text)
			return at;
	}
	return 0;
}

uint64_t go_file_data(struct go_file *go)
{
	const struct cfi_file *file = go->file;
	uint64_t module = file->go_module.vaddr;

	for (size_t i = 0; !module && i < file->segments.count; i++)
		module = find_in_segment(go, &file->segments.items[i]);
	if (!module)
		module = find_by_relocation(go);
	if (!module)
		return 0;
	return read_vaddr(
		go, module + (go->table.has_start_line ? MODULE_GOFUNC_AT : MODULE_GOFUNC_1_18_AT));
}

void go_file_release(struct go_file *go)
{
	free(go->data);
	free(go->relocations);
	*go = (struct go_file){0};
}
