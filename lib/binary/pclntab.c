/* SPDX-License-Identifier: MIT */
#include "lib/binary/pclntab.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
#define ENTRY_SIZE 8 /* of a function in the table of functions */

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
	bytes_skip(&b, 16); /* compilation units, files */
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
	const char *name = bytes_cstr(&b);

	return name ? name : "";
}

bool pclntab_function(const struct pclntab *table, uint32_t index,
		      struct pclntab_function *function)
{
	struct bytes b = cursor_at(table, table->functions + (uint64_t)index * ENTRY_SIZE);
	uint32_t record;

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
	bytes_skip(&b, 16); /* files, lines, number of further values, compilation unit */
	if (table->has_start_line)
		bytes_skip(&b, 4);
	bytes_skip(&b, 1); /* number of a function that the runtime knows */
	function->flags = bytes_u8(&b);
	return !b.failed;
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
	if (values->bytes.failed || size > UINT32_MAX || step > UINT32_MAX)
		return false;
	values->began = true;
	/* The lowest bit is the sign. */
	change = (uint32_t)(step >> 1) ^ -(uint32_t)(step & 1);
	values->value = (int32_t)((uint32_t)values->value + change);
	values->end += size * values->quantum;
	return true;
}
