/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/firefox_write.h"

#include "lib/format/firefox/write/write_internal.h"

static void write_profile(struct firefox *f, struct jsonw *w)
{
	jsonw_object_begin(w);
	jsonw_key(w, "meta");
	firefox_write_meta(f, w);
	jsonw_key(w, "libs");
	firefox_write_libs(f, w);
	jsonw_key(w, "threads");
	firefox_write_threads(f, w);
	if (f->profile->counters.rows.count)
		firefox_write_counters(f, w);
	firefox_write_overhead(f, w);
	jsonw_key(w, "shared");
	firefox_write_shared(f, w);
	jsonw_object_end(w);
}

/* More rows cost a browser a gigabyte, and more rows of one program are unreadable. */
static const struct merge_limits merge_limits = {.rows = 500, .processes = 50};

/* Makes the rows of the file from the threads of the profile. */
static void make_rows(struct firefox *f, const struct export_options *options)
{
	struct merge_counts merged = {0};

	thread_rows_init(&f->rows, f->profile, &f->texts);
	if (!options->all_threads)
		merged = thread_rows_merge(&f->rows, &merge_limits);
	thread_rows_title(&f->rows);
	thread_rows_add_events(&f->rows);
	*f->counts = (struct export_counts){
		.folded_threads = merged.threads,
		.folded_rows = merged.rows,
	};
	/* Every process has exactly one main thread. */
	vec_for_each(&f->rows.list, const struct thread_row *, row) {
		f->counts->processes += row->is_main;
		f->counts->threads += !event_is_derived(f->profile, row->event);
	}
	if (options->cpus)
		thread_rows_add_cpus(&f->rows);
	f->difference = options->difference;
	if (f->difference)
		thread_rows_add_difference(&f->rows);
}

int firefox_write(const struct profile *p, const struct export_options *options,
		  struct outfile *out, struct export_counts *counts, struct error *err)
{
	const struct export_options defaults = {0};
	struct export_counts own;
	struct firefox f = {
		.profile = p,
		.texts.base = &p->strings,
		.counts = counts ? counts : &own,
		.has_flags = options && options->is_newest,
	};
	struct jsonw w;

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	make_rows(&f, options ? options : &defaults);
	firefox_find_peaks(&f);
	firefox_tables_init(&f);

	jsonw_init(&w, out);
	write_profile(&f, &w);
	jsonw_release(&w);

	firefox_tables_release(&f);
	thread_rows_release(&f.rows);
	string_overlay_release(&f.texts);
	return 0;
}
