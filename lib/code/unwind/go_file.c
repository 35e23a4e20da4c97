/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/go_file.h"

#include <elf.h>

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
/*
 * Limit of a name's length. Without it, a forged table could take time in the square of its size.
 */
#define NAME_SIZE_MAX 4096
#define ENTRY_SIZE 8 /* size of a function's entry in the table */
/* Indices of a function's values and data for inlined calls (src/internal/abi/symtab.go). */
#define VALUES_OF_CALLS 2
#define DATA_OF_CALLS 3

static bool is_magic(uint32_t magic)
{
	return magic == MAGIC_1_18 || magic == MAGIC_1_20;
}

/* Returns true if these bytes, at least 8, look like the start of a table. */
static bool pclntab_is_header(const uint8_t *data)
{
	struct bytes b;
	uint8_t quantum;

	bytes_init(&b, data, 8);
	if (!is_magic(bytes_u32(&b)) || bytes_u16(&b) != 0)
		return false;
	quantum = bytes_u8(&b);
	return (quantum == 1 || quantum == 4) && bytes_u8(&b) == 8;
}

/* Returns false unless the part that begins there has `size` bytes. */
static bool has_part(const struct pclntab *table, uint64_t at, uint64_t size)
{
	return at <= table->size && size <= table->size - at;
}

bool pclntab_init(struct pclntab *table, const uint8_t *data, size_t size)
{
	struct bytes b;
	uint64_t count;

	*table = (struct pclntab){.data = data, .size = size};
	if (size < PCLNTAB_HEADER_SIZE || !pclntab_is_header(data))
		return false;
	bytes_init(&b, data, size);
	table->has_start_line = bytes_u32(&b) == MAGIC_1_20;
	bytes_skip(&b, 2);
	table->quantum = bytes_u8(&b);
	bytes_skip(&b, 1);
	count = bytes_u64(&b);
	bytes_skip(&b, 8); /* skip the number of files */
	table->text = bytes_u64(&b);
	table->names = bytes_u64(&b);
	table->units = bytes_u64(&b);
	table->files = bytes_u64(&b);
	table->values = bytes_u64(&b);
	table->functions = bytes_u64(&b);
	/* An additional entry marks the end of the last function. */
	if (!count || count >= size / ENTRY_SIZE ||
	    !has_part(table, table->functions, (count + 1) * ENTRY_SIZE) ||
	    !has_part(table, table->names, 1) || !has_part(table, table->values, 1))
		return false;
	table->count = (uint32_t)count;
	return true;
}

static struct bytes cursor_at(const struct pclntab *table, uint64_t at)
{
	struct bytes b;

	bytes_init(&b, table->data, table->size);
	if (at > table->size)
		b.failed = true;
	else
		bytes_seek(&b, at);
	return b;
}

static const char *name_at(const struct pclntab *table, uint32_t offset)
{
	struct bytes b = cursor_at(table, table->names + offset);
	const char *name;

	b = bytes_sub(&b, bytes_left(&b) < NAME_SIZE_MAX ? bytes_left(&b) : NAME_SIZE_MAX);
	name = bytes_cstr(&b);
	return name ? name : "";
}

/* Reads the variable part of a record: locations of more values and of the runtime's data. */
static void read_further(struct bytes *b, uint32_t values, uint8_t data,
			 struct pclntab_function *function)
{
	function->inlined_calls = 0;
	function->call_tree = UINT32_MAX;
	for (uint32_t i = 0; i < values && i <= VALUES_OF_CALLS; i++)
		function->inlined_calls = bytes_u32(b);
	if (values <= VALUES_OF_CALLS)
		function->inlined_calls = 0;
	else
		bytes_skip(b, 4ull * (values - VALUES_OF_CALLS - 1));
	if (data <= DATA_OF_CALLS)
		return;
	bytes_skip(b, 4 * DATA_OF_CALLS);
	function->call_tree = bytes_u32(b);
	if (b->failed)
		function->call_tree = UINT32_MAX;
}

/* Reads a line, which is signed; 0 for a negative one. */
static uint32_t read_line(struct bytes *b)
{
	uint32_t line = bytes_u32(b);

	return line <= INT32_MAX ? line : 0;
}

bool pclntab_function(const struct pclntab *table, uint32_t index,
		      struct pclntab_function *function)
{
	struct bytes b = cursor_at(table, table->functions + (uint64_t)index * ENTRY_SIZE);
	uint32_t record, value_count;
	uint8_t data_count;

	function->start = bytes_u32(&b);
	record = bytes_u32(&b);
	function->end = bytes_u32(&b);
	if (b.failed || index >= table->count || function->end < function->start)
		return false;
	b = cursor_at(table, table->functions + record);
	if (bytes_u32(&b) != function->start)
		return false;
	function->name = name_at(table, bytes_u32(&b));
	bytes_skip(&b, 8); /* skip size of arguments, deferred return */
	function->frame = bytes_u32(&b);
	function->file = bytes_u32(&b);
	function->line = bytes_u32(&b);
	value_count = bytes_u32(&b);
	function->unit = bytes_u32(&b);
	function->start_line = table->has_start_line ? read_line(&b) : 0;
	bytes_skip(&b, 1); /* skip id of a function special to the runtime */
	function->flags = bytes_u8(&b);
	bytes_skip(&b, 1);
	data_count = bytes_u8(&b);
	if (b.failed)
		return false;
	read_further(&b, value_count, data_count, function);
	return true;
}

void pclntab_values_init(struct pclntab_values *values, const struct pclntab *table, uint32_t at)
{
	*values = (struct pclntab_values){
		.bytes = cursor_at(table, table->values + at),
		.quantum = table->quantum,
		.value = -1,
	};
	/* Offset 0 holds a zero, which stands for "no values". */
	if (!at)
		values->bytes.failed = true;
}

bool pclntab_values_next(struct pclntab_values *values)
{
	uint64_t step = bytes_uleb(&values->bytes), size;
	uint32_t change;

	/* An unchanged value ends the table, except in the first entry. */
	if (!step && values->began)
		return false;
	size = bytes_uleb(&values->bytes);
	/* If values could cover no code, a forged table could have far more of them than bytes. */
	if (values->bytes.failed || !size || size > UINT32_MAX || step > UINT32_MAX)
		return false;
	values->began = true;
	/* The lowest bit is the sign. */
	change = (uint32_t)(step >> 1) ^ -(uint32_t)(step & 1);
	values->value = (int32_t)((uint32_t)values->value + change);
	values->end += size * values->quantum;
	return true;
}

int32_t pclntab_value_at(const struct pclntab *table, uint32_t at, uint64_t offset)
{
	struct pclntab_values values;

	pclntab_values_init(&values, table, at);
	while (pclntab_values_next(&values)) {
		if (offset < values.end)
			return values.value;
	}
	return -1;
}

/* Returns the start of a function without reading its record; UINT64_MAX past the end. */
static uint64_t start_of(const struct pclntab *table, uint32_t index)
{
	struct bytes b = cursor_at(table, table->functions + (uint64_t)index * ENTRY_SIZE);
	uint32_t start = bytes_u32(&b);

	return b.failed ? UINT64_MAX : start;
}

bool pclntab_find(const struct pclntab *table, uint64_t offset, struct pclntab_function *function)
{
	uint32_t low = 0, high = table->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (start_of(table, middle) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && pclntab_function(table, low - 1, function) && offset >= function->start &&
	       offset < function->end;
}

const char *pclntab_file(const struct pclntab *table, uint32_t unit, int32_t number)
{
	struct bytes b;
	uint32_t offset;

	if (number < 0)
		return NULL;
	b = cursor_at(table, table->units + ((uint64_t)unit + (uint32_t)number) * 4);
	offset = bytes_u32(&b);
	if (b.failed || offset == UINT32_MAX)
		return NULL;
	b = cursor_at(table, table->files + offset);
	return bytes_cstr(&b);
}

size_t pclntab_call_size(const struct pclntab *table)
{
	return table->has_start_line ? 16 : 20;
}

void pclntab_call(const struct pclntab *table, const uint8_t *data, struct pclntab_call *call)
{
	struct bytes b;

	bytes_init(&b, data, pclntab_call_size(table));
	/* Before Go 1.20: parent, kind, file, line; later: kind. */
	bytes_skip(&b, table->has_start_line ? 4 : 12);
	call->name = name_at(table, bytes_u32(&b));
	call->parent_pc = bytes_u32(&b);
	call->start_line = table->has_start_line ? read_line(&b) : 0;
}

/* Larger tables are ignored; a program with 100 MB of code has one of some 60 MB. */
#define MAX_TABLE_SIZE (256u << 20)
#define MAX_RELOCATIONS_SIZE (64u << 20)
/*
 * Limit of words that contain the table's address and may begin struct moduledata; a program has
 * one.
 */
#define MAX_CANDIDATES 16
/*
 * Offsets in struct moduledata of Go's runtime: the addresses of Go's code and of functions' data,
 * the latter also before Go 1.20. Since Go 1.26, the structure has a section, .go.module.
 */
#define MODULE_TEXT_AT 176
#define MODULE_GOFUNC_AT 320
#define MODULE_GOFUNC_1_18_AT 304
/* The linker aligns the table to 32 bytes, or 8 since Go 1.26. */
#define TABLE_ALIGNMENT 8

/* Reads the relocations once: those of a large program have a few megabytes. */
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

/*
 * Returns the vaddr of Go's code; in position-independent programs, it may be only in a relocation.
 */
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

/* Returns true if all code of the table lies in one executable range. */
static bool is_code(const struct go_file *go)
{
	struct pclntab_function first, last;

	if (!pclntab_function(&go->table, 0, &first) ||
	    !pclntab_function(&go->table, go->table.count - 1, &last))
		return false;
	return vec_find(&go->file->code, code,
			go->text >= code->start && go->text < code->end &&
				last.end <= code->end - go->text && first.start <= last.end);
}

/* Finds the table in a section where the system linker has put it. */
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
	/* Some linkers drop the build info. */
	bool is_go = file->go_build_info.size || file->go_build_id.size || file->go_functions.size;

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

/* Finds it by its relocations: position-independent programs may have only zeros there. */
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
