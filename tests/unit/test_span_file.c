/* SPDX-License-Identifier: MIT */
#include "lib/live/code/span_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

#define USER_BYTES ((uint64_t)64 << 20)

static void count_span(void *ctx, const struct span *span)
{
	++*(unsigned int *)ctx;
}

/* Returns a file of this process that begins with `text` and is `size` bytes long. */
static struct span_file *make_file(const struct scratch *s, const char *text, uint64_t size)
{
	struct span_file *file = xcalloc(1, sizeof(*file));

	scratch_run(s, "printf '%%b' '%s' >marker && truncate -s %llu marker", text,
		    (unsigned long long)size);
	file->pid = (uint32_t)getpid();
	file->fd = scratch_open(s, "marker");
	scratch_run(s, "rm marker");
	return file;
}

/* A file of terabytes takes no disk, and ends no recording. */
TEST(sparse_files_end)
{
	unsigned int count = 0;
	struct span_file *first, *second;
	struct span_sink sink;
	struct scratch s;

	scratch_init(&s);
	span_sink_init(&sink);
	sink.fn = count_span;
	sink.ctx = &count;
	first = make_file(&s, "1 2 told\\n", (uint64_t)4 << 40);
	second = make_file(&s, "3 4 not told\\n", 4096);
	span_file_finish(first, 5, &sink);
	assert_true(first->is_cut);
	assert_true(sink.bytes.used >= USER_BYTES);
	assert_true(sink.bytes.used <= USER_BYTES + (2 << 20));
	assert_int_equal(count, 1);

	/* The limit is that of all files of a user. */
	span_file_finish(second, 5, &sink);
	assert_true(second->is_cut);
	assert_int_equal(count, 1);
	second->uid = 4001;
	span_file_finish(second, 5, &sink);
	assert_int_equal(count, 2);
	span_sink_release(&sink);
	span_file_free(first);
	span_file_free(second);
	scratch_release(&s);
}
