/* SPDX-License-Identifier: MIT */
#include "lib/recording/moving.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/code/files/file_set.h"
#include "lib/stream/capture/capture_stream.h"
#include "lib/query/copy_rows.h"
#include "lib/recording/moving_rows.h"

/* Stacks of samples before an epoch come at most this much later. */
#define LATE_NS 1000000000ull
/* Records of a moment have arrived after this time, or more where the recorder is starved. */
#define SETTLE_NS 400000000ull
#define SETTLE_MAX_NS 10000000000ull
#define SPARE_NS 200000000ull
/* Bytes of names that are kept. */
#define NAMES_BYTES ((size_t)32 << 20)
/* Records that are taken at once, so that the caller can do something else. */
#define RECORDS_MAX (1u << 20)

struct moving {
	struct moving_options options;
	struct capture_stream *stream;
	struct moving_names names;
	struct profile *profile; /* NULL: no record yet */
	struct profile *held; /* somebody still looks at it; NULL: nobody */
	uint64_t number; /* of the profile */
	struct moving_rows now, before; /* the session before this epoch gets late stacks */
	uint64_t epoch_ns; /* when the present one began */
	uint64_t end_ns; /* time of the latest record */
	uint64_t renewed_ns; /* when the profile was renewed */
	uint64_t settle_ns; /* records of a moment arrive so late, for now */
	bool has_ended; /* no more records come */
	bool begins; /* a state has begun, for a session that has not */
};

struct moving *moving_new(int fd, const struct moving_options *options)
{
	struct moving *m = xcalloc(1, sizeof(*m));

	m->options = *options;
	m->settle_ns = SETTLE_NS;
	m->stream = capture_stream_new(fd);
	m->names = (struct moving_names){
		.cache = name_cache_new(NAMES_BYTES),
		.owner = identity_of_invoker(),
		.dirs = options->dirs,
		.no_symbols = options->no_symbols,
	};
	return m;
}

void moving_free(struct moving *m)
{
	if (!m)
		return;
	moving_rows_release(&m->now);
	moving_rows_release(&m->before);
	moving_hold(m, false);
	if (m->profile)
		profile_free(m->profile);
	moving_names_release(&m->names);
	capture_stream_free(m->stream);
	free(m);
}

static struct profile *new_profile(const struct moving *m)
{
	struct profile *p = profile_new();

	profile_meta_copy(&p->meta, &m->names.facts.meta, NULL, NULL);
	if (!p->meta.product)
		p->meta.product = xstrdup("top");
	p->meta.symbolicated = true;
	return p;
}

/* Copies a stack with its frames; map: by stack of `from`. */
static stack_id copy_stack(struct row_copier *c, struct profile *into, const struct profile *from,
			   stack_id stack, stack_id *map)
{
	const struct stack *row = &from->stacks.rows.items[stack];
	stack_id parent = NO_STACK;

	if (map[stack] != NO_STACK)
		return map[stack];
	if (row->parent != NO_STACK)
		parent = copy_stack(c, into, from, row->parent, map);
	map[stack] = stacks_intern(&into->stacks, parent, row_copier_frame(c, row->frame));
	return map[stack];
}

/* Leaves what is older behind, with all that belongs to it. */
static void renew_profile(struct moving *m)
{
	struct profile *old = m->profile, *p = new_profile(m);
	struct row_copier *c = row_copier_new(p, old);
	uint64_t kept_ns = m->options.keep_ns;
	uint64_t from_ns = m->end_ns > kept_ns ? m->end_ns - kept_ns : 0;
	_cleanup_free_ stack_id *map = xmalloc((old->stacks.rows.count + 1) * sizeof(*map));

	for (size_t i = 0; i < old->stacks.rows.count; i++)
		map[i] = NO_STACK;
	vec_for_each(&old->threads.rows, const struct profile_thread *, row) {
		thread_id id = NO_THREAD;

		samples_for_each(&row->samples, sample) {
			struct sample copy = *sample;

			if (copy.time < from_ns)
				continue;
			if (copy.stack != NO_STACK)
				copy.stack = copy_stack(c, p, old, copy.stack, map);
			if (id == NO_THREAD)
				id = moving_thread(p, old, row);
			samples_add(&threads_get(&p->threads, id)->samples, &copy);
		}
	}
	for (size_t i = 0; i < old->events.rows.count; i++) {
		const struct event_count *from = &old->events.rows.items[i];
		struct event_count *into = event_counts_get(&p->events, (uint32_t)i);

		if (into && from->name != NO_STRING)
			into->name = row_copier_string(c, from->name);
	}
	row_copier_free(c);
	moving_names_move(&m->names, p, old);
	if (old != m->held)
		profile_free(old);
	m->profile = p;
	m->number++;
	m->renewed_ns = m->end_ns;
	moving_rows_forget(&m->now);
	moving_rows_forget(&m->before);
}

static void end_session(struct moving *m, struct moving_rows *r)
{
	if (!r->session)
		return;
	moving_rows_take(r, m->profile, &m->names, m->epoch_ns, true);
	for (size_t i = 0; i < PROFILE_LOST_CAUSES; i++)
		m->profile->stats.lost[i] += r->from->stats.lost[i];
	moving_rows_release(r);
}

static void begin_session(struct moving *m, uint64_t time_ns)
{
	end_session(m, &m->before);
	m->before = m->now;
	m->now = (struct moving_rows){0};
	m->epoch_ns = time_ns;
	if (!m->profile) {
		m->profile = new_profile(m);
		m->renewed_ns = m->end_ns;
	} else if (m->end_ns > m->renewed_ns + m->options.keep_ns) {
		renew_profile(m);
	}
	moving_rows_init(&m->now, &m->names.facts, time_ns);
}

static void take(struct moving *m, const struct rec *rec)
{
	bool begins, is_state = capture_stream_is_state(m->stream, &begins);

	m->begins |= begins;
	if (rec->kind == REC_META) {
		recording_facts_take(&m->names.facts, (const struct rec_meta *)rec);
		return;
	}
	if (rec->kind == REC_FILE) {
		read_contents_take(&m->names.contents, (const struct rec_file *)rec);
		return;
	}
	if (!m->now.session || m->begins)
		begin_session(m, m->begins ? m->end_ns : 0);
	m->begins = false;
	if (is_state) {
		session_feed_state(m->now.session, rec);
		return;
	}
	if (rec->time > m->end_ns)
		m->end_ns = rec->time;
	if (m->before.session && rec->kind == REC_STACK)
		session_feed(m->before.session, rec);
	session_feed(m->now.session, rec);
}

/* Measures how late the records are that have just come. */
static void note_delay(struct moving *m)
{
	uint64_t now = clock_monotonic_ns(), late = SPARE_NS;

	late += now > m->end_ns ? now - m->end_ns : 0;
	if (late > m->settle_ns)
		m->settle_ns = late < SETTLE_MAX_NS ? late : SETTLE_MAX_NS;
	else
		m->settle_ns -= (m->settle_ns - late) / 8;
	if (m->settle_ns < SETTLE_NS)
		m->settle_ns = SETTLE_NS;
}

int moving_read(struct moving *m, struct error *err)
{
	struct source *source = capture_stream_source(m->stream);
	uint64_t before_ns = m->end_ns;
	const struct rec *rec;
	int result;

	for (uint32_t i = 0; i < RECORDS_MAX; i++) {
		result = source_next(source, &rec, err);
		m->has_ended |= result == SOURCE_END;
		if (result != SOURCE_RECORD && m->end_ns > before_ns)
			note_delay(m);
		if (result != SOURCE_RECORD)
			return result == SOURCE_IDLE ? 1 : result;
		take(m, rec);
	}
	return 1;
}

/* All that happened before has arrived. */
static uint64_t settled_ns(const struct moving *m)
{
	return m->has_ended ? m->end_ns : clock_monotonic_ns() - m->settle_ns;
}

static void take_event_names(struct moving *m)
{
	const struct event_counts *events = &m->now.from->events;

	for (size_t i = 0; i < events->rows.count; i++) {
		string_id name = events->rows.items[i].name;
		struct event_count *into = event_counts_get(&m->profile->events, (uint32_t)i);

		if (into && name != NO_STRING)
			into->name = strings_intern(&m->profile->strings,
						    strings_get(&m->now.from->strings, name));
	}
}

const struct profile *moving_profile(struct moving *m, bool names_all, uint64_t *number)
{
	if (!m->now.session)
		return NULL;
	moving_rows_take(&m->now, m->profile, &m->names, settled_ns(m), names_all);
	take_event_names(m);
	if (m->before.session && settled_ns(m) > m->epoch_ns + LATE_NS)
		end_session(m, &m->before);
	m->profile->meta.end_ns = m->end_ns;
	*number = m->number;
	return m->profile;
}

void moving_keep(struct moving *m, uint64_t keep_ns)
{
	m->options.keep_ns = keep_ns;
}

void moving_hold(struct moving *m, bool is_held)
{
	if (is_held && !m->held && m->profile) {
		m->held = m->profile;
		renew_profile(m);
	}
	if (is_held)
		return;
	if (m->held && m->held != m->profile)
		profile_free(m->held);
	m->held = NULL;
}

uint64_t moving_end(const struct moving *m)
{
	uint64_t start = m->names.facts.meta.start_ns, end = settled_ns(m);

	return m->now.session && end > start ? end - start : 0;
}

struct moving_counts moving_count(const struct moving *m)
{
	struct moving_counts counts = {
		.lost = capture_stream_lost(m->stream),
		.names_ns = m->names.spent_ns,
		.held = m->now.held.count + m->before.held.count,
	};

	for (size_t i = 0; m->profile && i < PROFILE_LOST_CAUSES; i++) {
		counts.lost += m->profile->stats.lost[i];
		counts.lost += m->now.session ? m->now.from->stats.lost[i] : 0;
	}
	return counts;
}
