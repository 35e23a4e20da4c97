/* SPDX-License-Identifier: MIT */
/* Completes any profile with invented names; the result must be a profile again. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/tables/expand_inlines.h"
#include "lib/format/firefox/patch/patch.h"
#include "tests/fuzz/input.h"

static string_id intern(struct profile *p, const char *text)
{
	return strings_intern(&p->strings, text);
}

/* Answers for every other frame, with as many inlined functions as its number. */
static void answer(struct profile *p)
{
	struct frame_name chain[3] = {
		{.func = intern(p, "outer"), .file = NO_STRING, .is_named = true},
		{.func = intern(p, "0x1"), .file = intern(p, "/a.c"), .line = 7, .is_named = true},
		{.func = intern(p, "\xff\"\n"), .file = intern(p, "b.c"), .is_named = true},
	};
	struct expand_inlines *e = expand_inlines_new(p);

	for (frame_id i = 0; i < p->frames.rows.count; i += 2) {
		const struct frame *frame = frames_get(&p->frames, i);
		symbol_id symbol = symbols_intern(&p->symbols,
						  &(struct symbol){
							  .module = frame->module,
							  .name = chain[0].func,
							  .rva = frame->offset & ~15ull,
							  .size = 16,
						  });

		expand_inlines_answer(e, i, symbol, chain, 1 + i / 2 % 3);
	}
	expand_inlines_apply(e);
	expand_inlines_free(e);
	for (source_file_id i = 0; i < p->source_files.rows.count; i++)
		source_files_set_text(&p->source_files, i, xstrdup("int a;\n"), 7);
	profile_add_extra(p, "Recording", "Frames", "integer", "3");
	profile_add_extra(p, "Symbols", "a", "string", "\"");
}

static char *copy(const void *data, size_t size)
{
	char *text = xmalloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void check_output(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = xmalloc((size_t)size + 1);
	struct patch *again;

	if (pread(fd, text, (size_t)size, 0) != size ||
	    patch_open(&again, text, (size_t)size, NULL))
		abort();
	patch_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outfile_options options = {.gzip = false};
	struct patch_counts counts;
	struct patch *r;
	struct outfile *out;
	int fd;

	if (patch_open(&r, copy(data, size), size, NULL))
		return 0;
	answer(patch_profile(r));
	patch_apply(r, &counts);
	fd = memfd_create("output", MFD_CLOEXEC);
	options.fd = dup(fd);
	if (fd < 0 || outfile_open(&out, &options, NULL))
		abort();
	patch_write(r, out);
	if (outfile_commit(out, NULL))
		abort();
	outfile_free(out);
	patch_free(r);
	check_output(fd);
	close(fd);
	return 0;
}
