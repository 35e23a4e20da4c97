/* SPDX-License-Identifier: MIT */
#include "lib/recording/recording.h"

#include "bpf/record.h"
#include "lib/base/workers.h"
#include "lib/live/recorder.h"
#include "lib/live/unwind_methods.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/model/meaning/wait_frames.h"
#include "lib/path/path_walk.h"
#include "lib/path/path_weights.h"
#include "lib/recording/meta.h"
#include "lib/recording/outcome_facts.h"
#include "lib/recording/coverage.h"
#include "lib/recording/workplace/lookup.h"

/* Fills in the profile's overhead from the recorder's reports. */

#define MILLIONTHS 1e6

/* Limit of valid values; the format can hold larger ones. */
#define VALUE_MAX 9e12

/* Cost of one program, or of all: runs, and µs. */
struct cost {
	double runs, us, mean, max, min;
};

/* Reports from damaged captures may contain any value. */
static uint64_t in_millionths(double value)
{
	return value > 0 && value < VALUE_MAX ? (uint64_t)(value * MILLIONTHS + 0.5) : 0;
}

static void add(struct cost *sum, const struct cost *cost)
{
	sum->runs += cost->runs;
	sum->us += cost->us;
	sum->max = MAX(sum->max, cost->max);
	if (cost->min > 0 && (!(sum->min > 0) || cost->min < sum->min))
		sum->min = cost->min;
	sum->mean = sum->runs > 0 ? sum->us / sum->runs : 0;
}

static double real_of(const struct facts *f, enum fact_id id, const char *program)
{
	const struct fact *fact = facts_get(f, id, program);

	return fact ? fact->real : 0;
}

/* Sums the cost of a program; NULL: of all programs. */
static struct cost find_cost(const struct facts *f, const char *program)
{
	struct cost sum = {0};

	vec_for_each(&f->rows, const struct fact *, runs) {
		const struct fact *time;

		if (runs->id != FACT_BPF_PROGRAM_RUNS || !runs->of ||
		    (program && strcmp(runs->of, program) != 0))
			continue;
		time = facts_get(f, FACT_BPF_PROGRAM_TIME, runs->of);
		add(&sum, &(struct cost){
				  .runs = (double)runs->count,
				  .us = time ? (double)time->count / 1e3 : 0,
				  .max = real_of(f, FACT_BPF_PROGRAM_MAX, runs->of),
				  .min = real_of(f, FACT_BPF_PROGRAM_MIN, runs->of),
			  });
	}
	return sum;
}

/* Sets three consecutive fields, beginning with `mean`. */
static void set_range(uint64_t *mean, const struct cost *cost)
{
	mean[0] = in_millionths(cost->mean);
	mean[1] = in_millionths(cost->max);
	mean[2] = in_millionths(cost->min);
}

static void fill_statistics(struct profile_overhead *o, const struct recorder_info *info,
			    const struct facts *facts)
{
	struct cost all = find_cost(facts, NULL), ticks = find_cost(facts, "on_tick");
	struct cost counters = find_cost(facts, "count_tasks");
	double interval = (double)info->interval_ns / 1e3;
	struct cost intervals = {.mean = interval, .max = interval, .min = interval};
	double profiled = info->end_ns > info->start_ns
				  ? (double)(info->end_ns - info->start_ns) / 1e3
				  : 0;

	o->has_statistics = all.runs > 0;
	set_range(&o->statistics[OVERHEAD_MEAN], &all);
	set_range(&o->statistics[OVERHEAD_MEAN_THREAD], &ticks);
	set_range(&o->statistics[OVERHEAD_MEAN_COUNTER], &counters);
	set_range(&o->statistics[OVERHEAD_MEAN_INTERVAL], &intervals);
	o->statistics[OVERHEAD_DURATIONS] = in_millionths(all.us);
	o->statistics[OVERHEAD_SHARE] = in_millionths(profiled > 0 ? all.us / profiled : 0);
	o->statistics[OVERHEAD_PROFILED] = in_millionths(profiled);
	o->statistics[OVERHEAD_SAMPLINGS] = in_millionths(ticks.runs);
}

/* Returns 0 if there is none. */
static uint64_t first_tick(const struct profile *p)
{
	uint64_t first = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->weight && !sample->event && !profile_is_wait(p, sample)) {
				if (!first || sample->time < first)
					first = sample->time;
				break;
			}
		}
	}
	return first;
}

static void fill_log(struct profile_overhead *o, const struct profile *p,
		     const struct recorder_info *info, const struct facts *facts)
{
	uint64_t first = first_tick(p), start = p->meta.start_ns;

	o->has_log = true;
	o->log[MOMENT_FIRST_TICK] = first > start ? first - start : 0;
	o->log[MOMENT_STOPPED] = info->end_ns > start ? info->end_ns - start : 0;
	o->log[MOMENT_TABLES] = in_millionths((double)facts_number(facts, FACT_TABLES));
	o->log[MOMENT_LOST_SAMPLES] = in_millionths((double)losses_count(&p->stats, true));
	o->log[MOMENT_LOST_EVENTS] = in_millionths((double)losses_count(&p->stats, false));
}

/* Sets the profile's overhead. Its samples and losses must be complete. */
static void own_cost_fill(struct profile *p, const struct recorder_info *info,
			  const struct facts *facts)
{
	fill_statistics(&p->overhead, info, facts);
	fill_log(&p->overhead, p, info, facts);
}

/* Counts records without a session, for progress and for the instruments' reports. */

static void tally_event(struct profile *p, const struct rec_event *rec)
{
	struct event_count *count = event_counts_get(&p->events, rec->event);

	if (!count)
		return;
	count->samples++;
	count->weight += rec->period;
}

static void tally_loss(struct profile *p, const struct rec_lost *rec)
{
	struct event_count *count = NULL;

	if (rec->cause >= LOST_CAUSE_COUNT || rec->event == LOST_WAITS)
		return;
	if (rec->event)
		count = event_counts_get(&p->events, rec->event);
	if (count)
		count->lost += rec->count;
	else if (!rec->event)
		p->stats.lost[rec->cause] += rec->count;
}

/* Counts like the session: an exec's new address space and a process's name pass no filter. */
static bool is_wanted(const struct rec *rec)
{
	return !(rec->flags & (REC_OUTSIDE | REC_UNSAMPLED)) &&
	       !(rec->kind == REC_NAME && rec->flags & (NAME_NEW_SPACE | NAME_PROCESS));
}

/* Adds the record to the counts of the profile, which contains nothing else. */
static void raw_tally(struct profile *p, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
		p->stats.cpu_samples++;
		p->stats.wanted_threads++;
		break;
	case REC_ALLOC:
		p->stats.allocs.sampled++;
		p->stats.wanted_threads++;
		break;
	case REC_EVENT:
		tally_event(p, (const struct rec_event *)rec);
		p->stats.wanted_threads++;
		break;
	case REC_FORK:
	case REC_NAME:
	case REC_EXIT:
		p->stats.wanted_threads += is_wanted(rec);
		break;
	case REC_LOST:
		tally_loss(p, (const struct rec_lost *)rec);
		break;
	}
}

/* Descriptors reserved for other uses than modules. */
#define RESERVED_FILES 64

void recording_release(struct recording *r)
{
	/* Threads that were left behind may still use it. */
	if (threads_are_left())
		return;
	session_free(r->session);
	profile_free(r->profile);
	recording_facts_release(&r->facts);
	read_contents_release(&r->contents);
	coverage_release(&r->coverage);
	timelines_release(&r->lines);
	*r = (struct recording){0};
}

void recording_begin(struct recording *r, struct profile *p, bool only_counts)
{
	r->profile = p;
	r->session = only_counts ? NULL : session_new(p);
	if (r->session && r->is_unlimited)
		session_set_unlimited(r->session);
}

void recording_take(struct recording *r, const struct rec *rec)
{
	if (r->session)
		session_feed(r->session, rec);
	else
		raw_tally(r->profile, rec);
}

void recording_begin_epoch(struct recording *r, uint64_t time_ns)
{
	if (r->session)
		session_begin_epoch(r->session, time_ns);
}

void recording_finish(struct recording *r, uint64_t end_ns)
{
	session_finish(r->session, end_ns);
	r->lines = session_take_timelines(r->session);
	session_free(r->session);
	r->session = NULL;
	vec_for_each(&r->facts.runs, const struct run_fact *, run)
		run_fact_add_marker(run, r->profile);
}

static void collect_sources(struct recording *r, const struct sources_options *options)
{
	uint64_t start_ns = clock_monotonic_ns();

	sources_collect(r->profile, options, &r->sources);
	sources_add_extra(r->profile, &r->sources);
	r->sources_ns = clock_monotonic_ns() - start_ns;
}

void recording_complete(struct recording *r, const struct completion *c)
{
	struct facts *facts = &r->facts.report.facts;
	struct profile *p = r->profile;

	p->meta.end_ns = r->facts.info.end_ns;
	if (r->facts.subject == RECORDING_OF_COMMAND)
		launched_name_profile(p);
	outcome_facts_add_end(facts, p, r->facts.unwind, &r->facts.info);
	stack_shares_add_unopened(facts, p, r->facts.unwind);
	if (unwind_method_tells_ends(r->facts.unwind))
		stack_shares_add_guessed(facts, p);
	profile_add_facts(p, facts, FACT_SECTION_RECORDING, FACT_SECTION_EVENTS);
	own_cost_fill(p, &r->facts.info, facts);
	if (c->naming) {
		uint64_t start_ns = clock_monotonic_ns();

		naming_run(p, c->naming);
		r->names_ns = clock_monotonic_ns() - start_ns;
	}
	wait_frames_refine(p);
	path_markers_name_steps(p);
	path_forecast(p, &r->lines, NULL, 0);
	path_hand_overs_add(p, &r->lines);
	path_weights_add(p);
	if (!c->keeps_timelines)
		timelines_release(&r->lines);
	coverage_count(&r->coverage, p);
	coverage_add_extra(&r->coverage, p);
	outcome_facts_add_waits(facts, p);
	profile_add_facts(p, facts, FACT_SECTION_WAITS, FACT_SECTION_WAITS);
	if (c->sources)
		collect_sources(r, c->sources);
}

/* Call once the initial facts are read. */
static void begin(struct recording *r, const struct source_kind *kind, const void *state)
{
	struct profile *p = profile_new();
	uint64_t start_ns = 0, realtime_ns = 0;

	/* Copy, so that the facts remain complete. */
	profile_meta_copy(&p->meta, &r->facts.meta, NULL, NULL);
	if (!p->meta.product)
		p->meta.product = xstrdup("unknown");
	/* The source may hold only the end of the recording. */
	kind->start(state, &start_ns, &realtime_ns);
	if (start_ns > p->meta.start_ns) {
		p->meta.start_ns = start_ns;
		p->meta.start_realtime_ns = realtime_ns;
	}
	recording_begin(r, p, false);
}

static int replay(struct recording *r, const struct source_kind *kind, void *state,
		  struct error *err)
{
	const struct rec *rec;
	enum record_place place;
	int result;

	while ((result = source_next(kind->source(state), &rec, err)) > 0) {
		if (rec->kind == REC_META) {
			recording_facts_take(&r->facts, (const struct rec_meta *)rec);
			continue;
		}
		if (rec->kind == REC_FILE) {
			read_contents_take(&r->contents, (const struct rec_file *)rec);
			continue;
		}
		if (!r->session)
			begin(r, kind, state);
		place = kind->place ? kind->place(state) : RECORD_OF_STREAM;
		if (place == RECORD_BEGINS_EPOCH)
			recording_begin_epoch(r, rec->time);
		if (place == RECORD_OF_STATE)
			session_feed_state(r->session, rec);
		else
			recording_take(r, rec);
	}
	if (!r->session)
		begin(r, kind, state);
	return result;
}

/* If the recording was truncated, estimates the facts missing at its end. */
static void conclude(struct recording *r, const struct source_part *part)
{
	struct recorder_info *info = &r->facts.info;
	const struct profile_meta *meta = &r->profile->meta;

	if (r->facts.has_ended && info->end_ns >= meta->start_ns && clock_can_show(info->end_ns))
		return;
	*info = (struct recorder_info){
		.cpu_count = meta->logical_cpus,
		.interval_ns = meta->interval_ns,
		.ring_bytes = meta->buffer_bytes,
		.start_ns = meta->start_ns,
		.start_realtime_ns = meta->start_realtime_ns,
		.end_ns = r->counts.end_ns > meta->start_ns ? r->counts.end_ns : meta->start_ns,
	};
	if (part->window_end_ns > meta->start_ns)
		info->end_ns = part->window_end_ns;
}

/* Pending waits end with the part. */
static uint64_t end_of(const struct recording *r, const struct source_part *part)
{
	uint64_t end = r->facts.info.end_ns, until = r->profile->meta.start_ns + part->until_ns;

	return part->until_ns && until < end ? until : end;
}

static int read_all(struct recording *r, const struct source_kind *kind, int fd,
		    const struct recording_options *options, struct error *err)
{
	void *state;
	int ret = kind->open(&state, fd, &options->part, err);

	if (ret)
		return ret;
	ret = replay(r, kind, state, err);
	kind->count(state, &r->counts);
	kind->close(state);
	/* Show everything read before the disk failed. */
	if (ret && r->counts.records) {
		_cleanup_free_ char *line = xasprintf("%s: the rest is left out", err->text);

		options->say(line);
		ret = 0;
	}
	if (!ret && !r->counts.records)
		ret = error_text(err, -ENODATA, "the %s contains no records", kind->name);
	if (ret)
		return ret;
	conclude(r, &options->part);
	recording_finish(r, end_of(r, &options->part));
	r->profile->meta.root_pid = r->facts.meta.root_pid;
	return 0;
}

static void say_damage(const struct recording *r, const char *label,
		       const struct recording_options *options)
{
	char size[32];

	if (!r->counts.is_complete) {
		_cleanup_free_ char *line = xasprintf(
			"%s: the recording was cut: it ends %.1f s after its start", label,
			(double)(r->facts.info.end_ns - r->profile->meta.start_ns) / 1e9);

		options->say(line);
	}
	text_format_bytes(size, sizeof(size), r->counts.skipped_bytes);
	if (r->counts.skipped_bytes) {
		_cleanup_free_ char *line = xasprintf("%s: %s are damaged and were left out", label,
						      size);

		options->say(line);
	}
	if (r->counts.left_out[0]) {
		_cleanup_free_ char *line = xasprintf("%s: left out: %s", label,
						      r->counts.left_out);

		options->say(line);
	}
}

/*
 * Finds the recorded files on this machine. Users other than the current one may have written the
 * source.
 */
static void complete(struct recording *r, int fd, const struct recording_options *options)
{
	const struct identity owner = identity_of_invoker();
	const char *os = r->facts.meta.os ? r->facts.meta.os : "";
	_cleanup_free_ char *release = lookup_kernel_release(os);
	bool is_root = owner.is_self && geteuid() == 0;
	struct readers authors = {0}, unknown_readers = {0};
	const struct lookup lookup = {
		.profile = r->profile,
		.os = os,
		.dirs = options->dirs,
		.readers = is_root ? &authors : NULL,
		.contents = &r->contents,
		.stall_ns = NAMING_STALL_NS,
	};
	struct naming naming = {
		.dirs = options->dirs,
		.kernel_symbols = r->facts.kernel,
		.cache = options->cache,
		.owner = &owner,
		.keeps_unpacked = options->keeps_unpacked,
		.kernel_release = release ? release : "",
		.fetcher = -1,
		.stall_ns = NAMING_STALL_NS,
	};
	struct sources_options sources = {
		.owner = owner,
		.stall_ns = NAMING_STALL_NS,
		.unknown_readers = is_root ? &unknown_readers : NULL,
		.file_bytes = SOURCES_FILE_BYTES,
		.total_bytes = SOURCES_TOTAL_BYTES,
	};

	readers_add(&authors, lookup_reader(fd));
	readers_add(&unknown_readers, (struct reader){READER_UNKNOWN, READER_UNKNOWN});
	if (r->facts.kernel)
		kernel_table_seal(r->facts.kernel);
	naming.files = sources.files = lookup_files(&lookup, RESERVED_FILES);
	if (options->progress)
		options->progress(options->ctx, &naming, &sources);
	recording_complete(r, &(struct completion){
				      .naming = options->no_symbols ? NULL : &naming,
				      .sources = options->sources ? &sources : NULL,
				      .keeps_timelines = true,
			      });
	if (!threads_are_left()) {
		file_set_free(naming.files);
		readers_release(&authors);
	}
	readers_release(&unknown_readers);
}

static int load(struct recording *r, const struct source_kind *kind, int fd, const char *label,
		const struct recording_options *options, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf silence = {0};
	int ret;

	r->is_unlimited = options->no_limit;
	/* Each embedded file takes a descriptor. */
	file_limit_raise();
	ret = read_all(r, kind, fd, options, err);
	if (ret) {
		recording_release(r);
		return error_wrap(err, "%s", label);
	}
	say_damage(r, label, options);
	if (!r->counts.is_complete) {
		profile_add_text(r->profile, FACT_CUT_TEXT, NULL, "the recorder was killed");
		cut_marker_add(r->profile, r->facts.info.end_ns);
	}
	complete(r, fd, options);
	coverage_describe_silence(r->profile, &r->sources, NAMING_STALL_NS, &silence);
	if (silence.size) {
		_cleanup_free_ char *line = xasprintf("%s: %s", label, strbuf_text(&silence));

		options->say(line);
	}
	return 0;
}

int recording_load(struct recording *r, const struct source_kind *kind, int fd, const char *label,
		   const struct recording_options *options, struct error *err)
{
	const struct identity owner = identity_of_invoker();
	struct recording_options own = *options;
	VEC(const char *) dirs = {0};
	char *cache = perf_cache_folder(&owner);
	int ret;

	for (const char *const *dir = options->dirs; dir && *dir; dir++)
		vec_push(&dirs, *dir);
	if (cache)
		vec_push(&dirs, cache);
	vec_push(&dirs, NULL);
	own.dirs = own.part.dirs = dirs.items;
	ret = load(r, kind, fd, label, &own, err);
	if (!threads_are_left()) {
		vec_release(&dirs);
		free(cache);
	}
	return ret;
}
