/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/pclntab.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
/* Longer names are not shown. Without a limit, a forged table would take its size squared. */
#define NAME_SIZE_MAX 4096
#define ENTRY_SIZE 8 /* of a function in the table of functions */
/* Numbers of the values and data of inlined calls (src/internal/abi/symtab.go). */
#define VALUES_OF_CALLS 2
#define DATA_OF_CALLS 3

static bool is_magic(uint32_t magic)
{
	return magic == MAGIC_1_18 || magic == MAGIC_1_20;
}

bool pclntab_is_header(const uint8_t *data)
{
	struct bytes b;
	uint8_t quantum;

	bytes_init(&b, data, 8);
	if (!is_magic(bytes_u32(&b)) || bytes_u16(&b) != 0)
		return false;
	quantum = bytes_u8(&b);
	return (quantum == 1 || quantum == 4) && bytes_u8(&b) == 8;
}

/* False unless the part that begins there has `size` bytes. */
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
	bytes_skip(&b, 8); /* number of files */
	table->text = bytes_u64(&b);
	table->names = bytes_u64(&b);
	table->units = bytes_u64(&b);
	table->files = bytes_u64(&b);
	table->values = bytes_u64(&b);
	table->functions = bytes_u64(&b);
	/* A further entry marks the end of the last function. */
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

/* Reads what follows a record's fixed part: places of more values and of the runtime's data. */
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
	bytes_skip(&b, 8); /* size of arguments, deferred return */
	function->frame = bytes_u32(&b);
	function->file = bytes_u32(&b);
	function->line = bytes_u32(&b);
	value_count = bytes_u32(&b);
	function->unit = bytes_u32(&b);
	if (table->has_start_line)
		bytes_skip(&b, 4);
	bytes_skip(&b, 1); /* number of a function that the runtime knows */
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

	/* No change of the value ends the table, except in the first entry. */
	if (!step && values->began)
		return false;
	size = bytes_uleb(&values->bytes);
	/* A value of no code would let a forged table have far more of them than bytes. */
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

/* Returns the start of a function, without its record; UINT64_MAX past the end. */
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
	/* Before Go 1.20: parent, kind, file, line; since then: kind. */
	bytes_skip(&b, table->has_start_line ? 4 : 12);
	call->name = name_at(table, bytes_u32(&b));
	call->parent_pc = bytes_u32(&b);
}
