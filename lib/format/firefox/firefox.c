/* SPDX-License-Identifier: MIT */
#include "lib/format/format.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/format/firefox/firefox.h"
#include "lib/profile/fold.h"

static void write_profile(struct firefox *f, struct jsonw *w)
{
	jsonw_object_begin(w);
	jsonw_key(w, "meta");
	firefox_write_meta(f, w);
	jsonw_key(w, "libs");
	firefox_write_libs(f, w);
	jsonw_key(w, "threads");
	firefox_write_threads(f, w);
	jsonw_key(w, "shared");
	firefox_write_shared(f, w);
	jsonw_object_end(w);
}

/* More of them cost a browser a gigabyte. */
#define THREADS_MAX 500

static int firefox_write(struct profile *p, const struct export_options *options,
			 struct outfile *out, struct export_counts *counts, struct error *err)
{
	struct export_counts own = {0};
	struct firefox f = {.profile = p, .counts = counts ? counts : &own};
	struct fold_counts folded = {0};
	struct jsonw w;

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no thread");
	if (!options || !options->all_threads)
		folded = fold_threads(p, THREADS_MAX);
	f.order = xcalloc(p->threads.rows.count, sizeof(*f.order));
	threads_order(&p->threads, p->meta.root_pid, f.order);
	titles_init(&f.titles, p);
	*f.counts = (struct export_counts){.folded_threads = folded.threads,
					   .folded_rows = folded.rows};
	firefox_find_peaks(&f);
	firefox_tables_init(&f);

	jsonw_init(&w, out);
	write_profile(&f, &w);
	jsonw_release(&w);

	firefox_tables_release(&f);
	titles_release(&f.titles);
	free(f.order);
	return 0;
}

/* Any JSON object: which one it is takes more than a look. */
static bool firefox_matches(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at < size && text[at] == '{';
}

const struct format format_firefox = {
	.name = "firefox",
	.suffixes = (const char *const[]){".json", NULL},
	.matches = firefox_matches,
	.write = firefox_write,
};
