/* SPDX-License-Identifier: MIT */
#include "cmd/run/complete.h"

#include "cmd/run/meta.h"
#include "cmd/text/wait_text.h"
#include "lib/profile/wait_frames.h"

static void add_sources(struct profile *p, const struct completion *c, struct sources_stats *stats)
{
	struct sources_options options = {
		.files = c->names->files,
		.owner = *c->names->owner,
		.strangers = c->strangers,
		.file_bytes = SOURCES_FILE_BYTES,
		.total_bytes = SOURCES_TOTAL_BYTES,
	};

	if (!c->names->output->sources)
		return;
	sources_collect(p, &options, stats);
	sources_add_extra(p, stats);
}

void complete_profile(struct profile *p, const struct completion *c, struct completed *done)
{
	meta_finish(p, c->unwind, c->info, &c->report->facts);
	if (!c->names->output->no_symbols)
		symbolize_run(p, c->names);
	wait_frames_refine(p);
	coverage_count(&done->coverage, p);
	coverage_add_extra(&done->coverage, p);
	wait_text_tell(&c->report->facts, p);
	profile_add_facts(p, &c->report->facts, FACT_SECTION_WAITS, FACT_SECTION_WAITS);
	add_sources(p, c, &done->sources);
}
