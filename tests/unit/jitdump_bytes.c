/* SPDX-License-Identifier: MIT */
#include "tests/unit/jitdump_bytes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/base.h"

#define PAGE 4096

static void add_u32(struct strbuf *s, uint32_t value)
{
	strbuf_add(s, &value, sizeof(value));
}

static void add_u64(struct strbuf *s, uint64_t value)
{
	strbuf_add(s, &value, sizeof(value));
}

static void put(int fd, const void *data, size_t size)
{
	if (write(fd, data, size) != (ssize_t)size)
		abort();
}

void jitdump_write_header(int fd, uint32_t padding, uint64_t flags)
{
	struct strbuf s = {0};

	add_u32(&s, 0x4a695444);
	add_u32(&s, 1);
	add_u32(&s, 40);
	add_u32(&s, 62);
	add_u32(&s, padding);
	add_u32(&s, 1);
	add_u64(&s, 0);
	add_u64(&s, flags);
	put(fd, s.text, s.size);
	strbuf_release(&s);
}

void jitdump_write_record(int fd, uint32_t kind, uint64_t time, const void *body, size_t size)
{
	struct strbuf s = {0};

	add_u32(&s, kind);
	add_u32(&s, (uint32_t)(16 + size));
	add_u64(&s, time);
	if (size)
		strbuf_add(&s, body, size);
	put(fd, s.text, s.size);
	strbuf_release(&s);
}

void jitdump_write_load(int fd, uint64_t time, uint64_t start, uint64_t size, uint64_t code_index,
			const char *name)
{
	static const char code[PAGE];
	struct strbuf s = {0};

	add_u32(&s, 1);
	add_u32(&s, 1);
	add_u64(&s, start);
	add_u64(&s, start);
	add_u64(&s, size);
	add_u64(&s, code_index);
	strbuf_add(&s, name, strlen(name) + 1);
	strbuf_add(&s, code, size < PAGE ? (size_t)size : PAGE);
	jitdump_write_record(fd, 0, time, s.text, s.size);
	strbuf_release(&s);
}

void jitdump_write_move(int fd, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
			uint64_t code_index)
{
	struct strbuf s = {0};

	add_u32(&s, 1);
	add_u32(&s, 1);
	add_u64(&s, to);
	add_u64(&s, from);
	add_u64(&s, to);
	add_u64(&s, size);
	add_u64(&s, code_index);
	jitdump_write_record(fd, 1, time, s.text, s.size);
	strbuf_release(&s);
}

void jitdump_write_lines(int fd, uint64_t start, const struct jitdump_line *lines, size_t count)
{
	struct strbuf s = {0};

	add_u64(&s, start);
	add_u64(&s, count);
	for (size_t i = 0; i < count; i++) {
		add_u64(&s, lines[i].addr);
		add_u32(&s, lines[i].line);
		add_u32(&s, 0);
		strbuf_add(&s, lines[i].file, strlen(lines[i].file) + 1);
	}
	jitdump_write_record(fd, 2, 0, s.text, s.size);
	strbuf_release(&s);
}

void jitdump_write_unwinding(int fd, const void *data, size_t size, size_t hdr_size)
{
	struct strbuf s = {0};

	add_u64(&s, size);
	add_u64(&s, hdr_size);
	add_u64(&s, size);
	strbuf_add(&s, data, size);
	jitdump_write_record(fd, 4, 0, s.text, s.size);
	strbuf_release(&s);
}
