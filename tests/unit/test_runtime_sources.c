/* SPDX-License-Identifier: MIT */
/* Lines that are kept of memory that is read late: what unknown_readers cannot make of it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/live/instruments/runtimes/runtime_sources.h"
#include "tests/unit/script_layout.h"
#include "tests/unit/test.h"

/* The memory of a process: maps, a script, and its text, which has nothing but ends of lines. */
enum {
	SCRIPT_MAP = 0x20,
	TEXT_MAP = 0x40,
	SCRIPT = 0x100,
	TEXT = 0x200,
	HEAP_SIZE = 0x210,
	TEXT_LENGTH = 1 << 20,
	SOURCES = 32,
	LINES_MAX = 8 << 20, /* of all that are kept */
};

static bool read_heap(void *ctx, uint64_t addr, void *to, size_t size)
{
	const uint8_t *heap = ctx;

	memset(to, '\n', size);
	if (addr < HEAP_SIZE)
		memcpy(to, heap + addr, size < HEAP_SIZE - addr ? size : HEAP_SIZE - addr);
	return true;
}

static void put(uint8_t *heap, uint64_t at, uint64_t value)
{
	memcpy(heap + at, &value, sizeof(value));
}

static void make_heap(uint8_t *heap)
{
	memset(heap, 0, HEAP_SIZE);
	heap[SCRIPT_MAP + 12] = 167;
	heap[TEXT_MAP + 12] = 8;
	put(heap, SCRIPT, SCRIPT_MAP + 1);
	put(heap, SCRIPT + 8, TEXT + 1);
	put(heap, SCRIPT + 64, 7ull << 32);
	put(heap, TEXT, TEXT_MAP + 1);
	put(heap, TEXT + 8, (uint64_t)TEXT_LENGTH << 32);
}

static bool read_nothing(void *ctx, uint64_t addr, void *to, size_t size)
{
	return false;
}

/* Returns the first line of a function in a script that cannot be read. */
static uint32_t line_of_unread(struct runtime_sources *sources, const char *file, uint32_t length)
{
	struct managed_code code = {.source = {SCRIPT + 0x1001, 9, length}, .start = 5};
	uint32_t line;

	strbuf_add(&code.file, file, strlen(file));
	runtime_sources_set_lines(sources, &script_layout, 2, read_nothing, NULL, &code);
	line = code.first_line;
	managed_code_release(&code);
	return line;
}

/* Its script has moved, or its process has ended. */
TEST(lines_are_those_of_the_same_file)
{
	struct managed_code code = {.source = {SCRIPT + 1, 7, TEXT_LENGTH}, .start = 5};
	struct runtime_sources sources = {0};
	uint8_t heap[HEAP_SIZE];

	make_heap(heap);
	assert_int_equal(line_of_unread(&sources, "/a.js", TEXT_LENGTH), 0);
	strbuf_add(&code.file, "/a.js", 5);
	runtime_sources_set_lines(&sources, &script_layout, 1, read_heap, heap, &code);
	assert_int_equal(code.first_line, 6);
	assert_int_equal(line_of_unread(&sources, "/a.js", TEXT_LENGTH), 6);
	assert_int_equal(line_of_unread(&sources, "/b.js", TEXT_LENGTH), 0);
	assert_int_equal(line_of_unread(&sources, "/a.js", TEXT_LENGTH - 1), 0);
	assert_int_equal(line_of_unread(&sources, "/a.js", 0), 0);
	runtime_sources_release(&sources);
	managed_code_release(&code);
}

static void put_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Returns the first line of a function of this process, whose script cannot be read. */
static uint32_t line_by_file(const char *file, uint32_t length)
{
	struct managed_code code = {.source = {SCRIPT + 0x1001, 9, length}, .start = 7};
	struct runtime_sources sources = {0};
	uint32_t line;

	strbuf_add(&code.file, file, strlen(file));
	runtime_sources_set_lines(&sources, &script_layout, getpid(), read_nothing, NULL, &code);
	line = code.first_line;
	managed_code_release(&code);
	runtime_sources_release(&sources);
	return line;
}

TEST(lines_are_those_of_the_file)
{
	char folder[] = "/tmp/prof-test.XXXXXX", path[64], fifo[64];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.js", folder);
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	/* 1 + 2 + 1, 1 + 1, 2 + 1 characters of UTF-16. */
	put_file(path, "\xef\xbb\xbf\xc3\xa4\xf0\x9f\x98\x80\na\xe2\x80\xa8zz\n");
	assert_int_equal(line_by_file(path, 9), 3);
	assert_int_equal(line_by_file(path, 10), 0);
	assert_int_equal(line_by_file(path, 8), 0);
	assert_int_equal(line_by_file(path, 0), 0);
	assert_int_equal(line_by_file(path, 1), 0);
	assert_int_equal(line_by_file(path + 1, 9), 0);
	put_file(path, "1\n345\xff\n8\n");
	assert_int_equal(line_by_file(path, 9), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(line_by_file(fifo, 9), 0);
	assert_int_equal(line_by_file(folder, 9), 0);
	unlink(path);
	assert_int_equal(line_by_file(path, 9), 0);
	unlink(fifo);
	rmdir(folder);
}

/* Checks the file and first line of the only function of a script that says where its map is. */
static void written_in(const char *folder, const char *url, const char *file, uint32_t line)
{
	struct managed_code code = {.source = {SCRIPT + 0x1001, 9, 0}, .start = 4};
	struct runtime_sources sources = {0};
	char path[64], text[256], expected[64];

	snprintf(path, sizeof(path), "%s/a.js", folder);
	snprintf(text, sizeof(text), "f=o=(n)=>n\n//# sourceMappingURL=%s\n", url);
	snprintf(expected, sizeof(expected), "%s/%s", folder, file);
	put_file(path, text);
	code.source.length = (uint32_t)strlen(text);
	strbuf_adds(&code.file, path);
	strbuf_adds(&code.name, "o");
	runtime_sources_set_lines(&sources, &script_layout, getpid(), read_nothing, NULL, &code);
	assert_string_equal(code.file.text, expected);
	assert_int_equal(code.first_line, line);
	assert_string_equal(code.name.text, line == 1 ? "o" : "leaf");
	managed_code_release(&code);
	runtime_sources_release(&sources);
	unlink(path);
}

TEST(lines_are_those_that_the_map_leads_to)
{
	static const char map[] = "{\"mappings\":\"AAUA,EACEA\",\"sources\":[\"w.ts\"],"
				  "\"names\":[\"leaf\"]}";
	char folder[] = "/tmp/prof-test.XXXXXX", path[64], link[64], below[64];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a.js.map", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	snprintf(below, sizeof(below), "%s/maps", folder);
	put_file(path, map);
	written_in(folder, "a.js.map", "w.ts", 12);
	written_in(folder, "./maps/../a.js.map", "w.ts", 12);
	written_in(folder, path, "w.ts", 12);
	/* {"mappings":"AAUA,EACEA","sources":["w.ts"],"names":["leaf"]} */
	written_in(folder,
		   "data:;base64,eyJtYXBwaW5ncyI6IkFBVUEsRUFDRUEiLCJzb3VyY2VzIjpbIncudHMiXSwibmFt"
		   "ZXMiOlsibGVhZiJdfQ==",
		   "w.ts", 12);
	written_in(folder, "b.js.map", "a.js", 1);
	written_in(folder, "https://x/a.js.map", "a.js", 1);
	assert_int_equal(mkfifo(link, 0600), 0);
	written_in(folder, "link", "a.js", 1);
	assert_int_equal(mkdir(below, 0700), 0);
	written_in(folder, "maps", "a.js", 1);
	put_file(path, "{\"mappings\":\"!\",\"sources\":[\"w.ts\"]}");
	written_in(folder, "a.js.map", "a.js", 1);
	unlink(path);
	unlink(link);
	rmdir(below);
	rmdir(folder);
}

TEST(lines_of_all_sources_are_limited)
{
	struct managed_code code = {.source = {SCRIPT + 1, 7, 0}};
	struct runtime_sources sources = {0};
	uint8_t heap[HEAP_SIZE];
	size_t lines = 0, known = 0;

	make_heap(heap);
	for (pid_t pid = 1; pid <= SOURCES; pid++) {
		code.start = 5;
		code.first_line = 0;
		runtime_sources_set_lines(&sources, &script_layout, pid, read_heap, heap, &code);
		assert_int_equal(code.first_line, 6);
	}
	vec_for_each(&sources.rows, const struct runtime_source *, row) {
		lines += row->lines.rows.count;
		known += row->is_known;
	}
	assert_true(lines <= LINES_MAX);
	assert_int_equal(known, LINES_MAX / TEXT_LENGTH);
	runtime_sources_release(&sources);
	managed_code_release(&code);
}
