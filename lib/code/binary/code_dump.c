/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/code_dump.h"

#include "lib/base/bytes.h"

#define MAGIC 0x4a695444u /* "JiTD" */
#define ARCH_TIMESTAMP 1u
#define JIT_CODE_LOAD 0
/* Limit including the terminator; no writer has longer names. */
#define NAME_MAX_SIZE 4097
/* More than any function has. */
#define CODE_MAX ((uint64_t)16 << 20)

bool code_dump_head_parse(struct code_dump_head *head, const uint8_t data[CODE_DUMP_HEAD_SIZE])
{
	struct bytes b;
	uint32_t magic, version;

	bytes_init(&b, data, CODE_DUMP_HEAD_SIZE);
	magic = bytes_u32(&b);
	version = bytes_u32(&b);
	head->size = bytes_u32(&b);
	head->machine = bytes_u32(&b);
	head->mark = bytes_u32(&b);
	/* The pid and the time are adjacent. */
	memcpy(head->id, data + 12, 4);
	memcpy(head->id + 4, data + 20, CODE_DUMP_ID_SIZE - 4);
	bytes_skip(&b, 12);
	head->has_arch_times = bytes_u64(&b) & ARCH_TIMESTAMP;
	return magic == MAGIC && version && head->size >= CODE_DUMP_HEAD_SIZE;
}

bool code_dump_head_read(struct code_dump_head *head, int fd)
{
	uint8_t data[CODE_DUMP_HEAD_SIZE];

	return pread(fd, data, sizeof(data), 0) == (ssize_t)sizeof(data) &&
	       code_dump_head_parse(head, data);
}

/* Sets *at to the offset of the code's bytes. */
static bool parse_load(struct dumped_code *code, uint64_t *at, const uint8_t *data, size_t size)
{
	struct bytes b;
	uint32_t kind, record_size;
	uint64_t code_size;
	const void *end;

	bytes_init(&b, data, size);
	kind = bytes_u32(&b);
	record_size = bytes_u32(&b);
	bytes_skip(&b, CODE_DUMP_PREFIX_SIZE - 8 + 16);
	code->address = bytes_u64(&b);
	code_size = bytes_u64(&b);
	bytes_skip(&b, 8);
	end = memchr(b.at, 0, bytes_left(&b));
	if (b.failed || !end || kind != JIT_CODE_LOAD || !code_size || code_size > CODE_MAX)
		return false;
	*at = (uint64_t)((const uint8_t *)end + 1 - data);
	code->size = (size_t)code_size;
	return record_size >= *at && record_size - *at >= code_size;
}

int code_dump_read(struct dumped_code *code, int fd, uint64_t offset, struct error *err)
{
	uint8_t data[CODE_DUMP_LOAD_SIZE + NAME_MAX_SIZE];
	struct code_dump_head head;
	uint64_t at;
	ssize_t got;

	*code = (struct dumped_code){0};
	if (!code_dump_head_read(&head, fd))
		return error_text(err, -EBADMSG, "not a dump of generated code");
	got = offset > INT64_MAX / 2 ? -1 : pread(fd, data, sizeof(data), (off_t)offset);
	if (got < CODE_DUMP_LOAD_SIZE || !parse_load(code, &at, data, (size_t)got))
		return error_text(err, -EBADMSG, "the dump has no code at that offset");
	code->machine = (uint16_t)head.machine;
	code->bytes = xmalloc(code->size);
	got = pread(fd, code->bytes, code->size, (off_t)(offset + at));
	if (got == (ssize_t)code->size)
		return 0;
	free(code->bytes);
	code->bytes = NULL;
	return error_text(err, -EBADMSG, "the dump is cut off");
}
