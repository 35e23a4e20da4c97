/* SPDX-License-Identifier: MIT */
#include "tests/unit/type_bytes.h"

#include <string.h>

static struct strbuf types, strings;
static uint32_t type_count;

void type_bytes_begin(void)
{
	type_count = 0;
	strbuf_addch(&strings, '\0');
}

void type_bytes_end(void)
{
	strbuf_release(&types);
	strbuf_release(&strings);
}

void add_u32(uint32_t value)
{
	strbuf_add(&types, &value, sizeof(value));
}

uint32_t add_text(const char *name)
{
	uint32_t offset = (uint32_t)strings.size;

	if (!*name)
		return 0;
	strbuf_add(&strings, name, strlen(name) + 1);
	return offset;
}

uint32_t add_type(const char *name, uint32_t kind, uint32_t info, uint32_t last)
{
	add_u32(add_text(name));
	add_u32(kind << 24 | info);
	add_u32(last);
	return ++type_count;
}

uint32_t add_int(const char *name, uint32_t size)
{
	uint32_t number = add_type(name, BTF_KIND_INT, 0, size);

	add_u32(size * 8);
	return number;
}

uint32_t add_array(uint32_t type, uint32_t index_type, uint32_t count)
{
	uint32_t number = add_type("", BTF_KIND_ARRAY, 0, 0);

	add_u32(type);
	add_u32(index_type);
	add_u32(count);
	return number;
}

void add_member(const char *name, uint32_t type, uint32_t bit_offset)
{
	add_u32(add_text(name));
	add_u32(type);
	add_u32(bit_offset);
}

uint32_t add_struct(const char *name, uint32_t count, uint32_t size)
{
	return add_type(name, BTF_KIND_STRUCT, count, size);
}

struct types_header *type_bytes_finish(struct strbuf *whole)
{
	struct types_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.header_size = sizeof(header),
		.types_size = (uint32_t)types.size,
		.strings_offset = (uint32_t)types.size,
		.strings_size = (uint32_t)strings.size,
	};

	strbuf_reset(whole);
	strbuf_add(whole, &header, sizeof(header));
	strbuf_add(whole, types.text, types.size);
	strbuf_add(whole, strings.text, strings.size);
	return (struct types_header *)whole->text;
}
