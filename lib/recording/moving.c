/* SPDX-License-Identifier: MIT */
#include "lib/recording/moving.h"

#include "lib/base/identity.h"
#include "lib/base/workers.h"
#include "lib/code/files/file_set.h"
#include "lib/model/meaning/wait_frames.h"
#include "lib/model/tables/copy.h"
#include "lib/query/copy_rows.h"
#include "lib/recording/recording_facts.h"
#include "lib/recording/workplace/function_code.h"
#include "lib/recording/workplace/lookup.h"
#include "lib/recording/workplace/naming.h"
#include "lib/stream/capture/capture_reader.h"
#include "lib/stream/session/session.h"
#include "symbolize/name_cache.h"

/* Names of the frames of a moving profile; they outlive the frames' session. */

/* The names of a frame: frames in the chain of struct moving_names, outermost first. */
struct moved_frame {
	uint32_t first, count; /* count 0: no names yet */
};

/* A frame of a file or of the kernel, identified across sessions. */
struct known_frame {
	uint64_t module; /* hash of the module's identity */
	uint64_t offset;
	uint8_t kind;
	bool is_used; /* occurred since the start of the profile */
	struct moved_frame as;
};

/* Sources of names, and the names found so far. */
struct moving_names {
	struct recording_facts facts;
	struct read_contents contents;
	struct name_cache *cache;
	struct identity owner;
	const char *const *dirs;
	bool no_symbols;
	VEC(frame_id) chain; /* frames in the profile */
	VEC(struct known_frame) known;
	struct index index; /* index of known frames */
	uint64_t spent_ns, last_spent_ns; /* time spent on all naming, and on the last run */
	uint64_t named_ns; /* time at which the last run ended */
};

/* Moves rows of samples, with names, from a session into a lasting profile. */

/* A sample that waits for the names of its frames. */
struct held_sample {
	thread_id thread; /* thread of the session */
	struct sample sample;
};

/* A session, and the ids of its rows in the target profile. */
struct moving_rows {
	struct session *session; /* NULL: no session */
	struct profile *from; /* profile of the session */
	VEC(stack_id) stacks; /* by stack of the session; NO_STACK: not copied yet */
	VEC(struct moved_frame) frames; /* by frame of the session */
	VEC(thread_id) threads; /* by thread of the session; NO_THREAD: not copied yet */
	VEC(struct held_sample) held;
};

/*
 * Naming new frames takes at most 1/SPARE of the time, more if it is urgent, and is delayed by at
 * most the limit below.
 */
#define SPARE 200
#define URGENT_SPARE 20
#define URGENT_NS 2000000000ull
#define OVERDUE_NS 10000000000ull

/*
 * True if it is time to name new frames, so that naming takes a small part of the time.
 * `is_urgent`: many samples wait for names.
 */
static bool moving_names_are_due(const struct moving_names *n, bool is_urgent)
{
	uint64_t pause_ns = n->last_spent_ns * (is_urgent ? URGENT_SPARE : SPARE);
	uint64_t most_ns = is_urgent ? URGENT_NS : OVERDUE_NS;

	return clock_monotonic_ns() >= n->named_ns + (pause_ns < most_ns ? pause_ns : most_ns);
}

static void moving_names_release(struct moving_names *n)
{
	name_cache_free(n->cache);
	recording_facts_release(&n->facts);
	read_contents_release(&n->contents);
	vec_release(&n->chain);
	vec_release(&n->known);
	index_release(&n->index);
}

/*
 * Identifies the frame across sessions. Returns false if it may mean something else in the next
 * session.
 */
static bool identify(const struct profile *p, const struct frame *frame, struct known_frame *known)
{
	const struct module *module = frame->module == NO_MODULE
					      ? NULL
					      : &p->modules.rows.items[frame->module];

	if (frame->kind == PROFILE_FRAME_MANAGED || frame->kind == PROFILE_FRAME_LABEL)
		return false;
	if (module && module->kind == PROFILE_MODULE_ANON)
		return false;
	*known = (struct known_frame){.offset = frame->offset, .kind = frame->kind};
	if (!module)
		return frame->kind == PROFILE_FRAME_KERNEL;
	known->module = hash_pair(hash_bytes(module->build_id, module->build_id_size, module->kind),
				  hash_pair(hash_bytes(strings_get(&p->strings, module->path),
						       strings_size(&p->strings, module->path), 0),
					    module->base));
	return true;
}

INDEX_EQUAL(is_equal, struct moving_names, known,
	    a->module == b->module && a->offset == b->offset && a->kind == b->kind)

static uint64_t hash_of(const struct known_frame *known)
{
	return hash_pair(known->module, known->offset << 3 ^ known->kind);
}

/* Returns the names of a session's frame, which may have been found in another session. */
static struct moved_frame moving_names_find(const struct moving_names *n, const struct profile *p,
					    frame_id id)
{
	struct known_frame key;
	uint32_t found;

	if (!identify(p, &p->frames.rows.items[id], &key))
		return (struct moved_frame){0};
	found = index_find(&n->index, hash_of(&key), is_equal, n, &key);
	if (found == INDEX_NONE)
		return (struct moved_frame){0};
	n->known.items[found].is_used = true;
	return n->known.items[found].as;
}

static void add(struct moving_names *n, const struct known_frame *known)
{
	index_add(&n->index, hash_of(known), (uint32_t)n->known.count);
	vec_push(&n->known, *known);
}

/* Stores the names of a session's frame. */
static void moving_names_learn(struct moving_names *n, const struct profile *p, frame_id id,
			       struct moved_frame as)
{
	struct known_frame key;

	if (!as.count || !identify(p, &p->frames.rows.items[id], &key) ||
	    index_find(&n->index, hash_of(&key), is_equal, n, &key) != INDEX_NONE)
		return;
	key.as = as;
	key.is_used = true;
	add(n, &key);
}

/* Moves the names in use from one profile to the next. */
static void moving_names_move(struct moving_names *n, struct profile *into,
			      const struct profile *from)
{
	struct row_copier *c = row_copier_new(into, from);
	struct moving_names old = *n;

	memset(&n->chain, 0, sizeof(n->chain));
	memset(&n->known, 0, sizeof(n->known));
	n->index = (struct index){0};
	vec_for_each(&old.known, const struct known_frame *, known) {
		struct known_frame copy = *known;

		if (!known->is_used)
			continue;
		copy.as.first = (uint32_t)n->chain.count;
		copy.is_used = false;
		for (uint32_t i = 0; i < copy.as.count; i++)
			vec_push(&n->chain,
				 row_copier_frame(c, old.chain.items[known->as.first + i]));
		add(n, &copy);
	}
	row_copier_free(c);
	vec_release(&old.chain);
	vec_release(&old.known);
	index_release(&old.index);
}

#define STALL_NS 1000000000ull
/* Descriptors reserved for other uses than modules. */
#define RESERVED_FILES 64

struct frame_list {
	VEC(frame_id) rows;
};

/* Begins a session. */
static void moving_rows_init(struct moving_rows *r, const struct recording_facts *facts,
			     uint64_t start_ns)
{
	*r = (struct moving_rows){.from = profile_new()};
	profile_meta_copy(&r->from->meta, &facts->meta, NULL, NULL);
	if (start_ns > r->from->meta.start_ns) {
		r->from->meta.start_realtime_ns += start_ns - r->from->meta.start_ns;
		r->from->meta.start_ns = start_ns;
	}
	r->session = session_new(r->from);
	session_keep_stacks(r->session);
}

/* Drops the mapping of rows: they go to another profile from now on. */
static void moving_rows_forget(struct moving_rows *r)
{
	vec_clear(&r->stacks);
	vec_clear(&r->frames);
	vec_clear(&r->threads);
}

static void moving_rows_release(struct moving_rows *r)
{
	session_free(r->session);
	profile_free(r->from);
	vec_release(&r->stacks);
	vec_release(&r->frames);
	vec_release(&r->threads);
	vec_release(&r->held);
	*r = (struct moving_rows){0};
}

static bool is_kernel(const struct profile *p, const struct frame *frame)
{
	return frame->module == NO_MODULE ? frame->kind == PROFILE_FRAME_KERNEL
					  : module_is_kernel(&p->modules.rows.items[frame->module]);
}

static bool is_code(const struct profile *p, const struct frame *frame)
{
	return frame->kind == PROFILE_FRAME_MANAGED ||
	       (frame->module != NO_MODULE &&
		p->modules.rows.items[frame->module].kind == PROFILE_MODULE_ANON);
}

/* Makes a profile of only the frames: one thread with a sample per frame, in order. */
static struct profile *picture(const struct profile *from, const struct frame_list *list,
			       bool has_modules)
{
	struct profile *p = profile_new();
	struct row_copier *c = row_copier_new(p, from);
	struct profile_thread thread = {.name = NO_STRING, .process_name = NO_STRING};

	p->meta.start_ns = from->meta.start_ns;
	if (has_modules)
		row_copier_modules(c);
	threads_add(&p->threads, &thread);
	vec_for_each(&list->rows, const frame_id *, id) {
		const struct sample row = {
			.time = INT64_MAX,
			.stack = stacks_intern(&p->stacks, NO_STACK, row_copier_frame(c, *id)),
			.weight = 1,
		};

		samples_add(&threads_get(&p->threads, 0)->samples, &row);
	}
	row_copier_free(c);
	return p;
}

/* Adds the names of the frames: each sample's stack is the chain of names of one frame. */
static void take_chains(struct moving_rows *r, const struct frame_list *list,
			const struct profile *named, struct profile *into, struct moving_names *n)
{
	struct row_copier *c = row_copier_new(into, named);
	size_t at = 0;

	samples_for_each(&named->threads.rows.items[0].samples, sample) {
		const struct stack *rows = named->stacks.rows.items;
		uint32_t first = (uint32_t)n->chain.count, count = 0;
		frame_id id = list->rows.items[at++];

		for (stack_id s = sample->stack; s != NO_STACK; s = rows[s].parent)
			count++;
		vec_add_zeroed(&n->chain, count);
		r->frames.items[id] = (struct moved_frame){first, count};
		for (stack_id s = sample->stack; s != NO_STACK; s = rows[s].parent)
			n->chain.items[first + --count] = row_copier_frame(c, rows[s].frame);
		moving_names_learn(n, r->from, id, r->frames.items[id]);
	}
	row_copier_free(c);
}

static void name_picture(struct moving_names *n, struct profile *p, bool is_of_kernel)
{
	const char *os = n->facts.meta.os ? n->facts.meta.os : "";
	_cleanup_free_ char *release = lookup_kernel_release(os);
	const struct lookup lookup = {
		.profile = p,
		.os = os,
		.dirs = n->dirs,
		.contents = &n->contents,
		.stall_ns = STALL_NS,
	};
	struct naming naming = {
		.files = is_of_kernel ? NULL : lookup_files(&lookup, RESERVED_FILES),
		.dirs = n->dirs,
		.kernel_symbols = n->facts.kernel,
		.owner = &n->owner,
		.cache = n->cache,
		.kernel_release = release ? release : "",
		.fetcher = -1,
		.stall_ns = STALL_NS,
	};

	if (n->facts.kernel)
		kernel_table_seal(n->facts.kernel);
	naming_run(p, &naming);
	if (naming.files && !threads_are_left())
		file_set_free(naming.files);
}

/*
 * Names frames of one kind: code of runtimes from records, the kernel's from the kernel, the rest
 * from files.
 */
static void name_list(struct moving_rows *r, const struct frame_list *list, struct profile *into,
		      struct moving_names *names, bool is_of_kernel, bool is_of_runtimes)
{
	struct profile *p;

	if (!list->rows.count)
		return;
	p = picture(r->from, list, is_of_runtimes);
	if (is_of_runtimes)
		session_name_code(r->session, p);
	else if (!names->no_symbols)
		name_picture(names, p, is_of_kernel);
	take_chains(r, list, p, into, names);
	if (!threads_are_left())
		profile_free(p);
}

static void name_frames(struct moving_rows *r, const struct frame_list *frames,
			struct profile *into, struct moving_names *names)
{
	struct frame_list kernel = {0}, code = {0}, files = {0};
	uint64_t start_ns = clock_monotonic_ns();

	vec_for_each(&frames->rows, const frame_id *, id) {
		const struct frame *frame = &r->from->frames.rows.items[*id];

		if (is_kernel(r->from, frame))
			vec_push(&kernel.rows, *id);
		else if (is_code(r->from, frame))
			vec_push(&code.rows, *id);
		else
			vec_push(&files.rows, *id);
	}
	name_list(r, &kernel, into, names, true, false);
	name_list(r, &code, into, names, false, true);
	name_list(r, &files, into, names, false, false);
	names->named_ns = clock_monotonic_ns();
	names->last_spent_ns = names->named_ns - start_ns;
	names->spent_ns += names->last_spent_ns;
	vec_release(&kernel.rows);
	vec_release(&code.rows);
	vec_release(&files.rows);
}

/* Grows the tables to the session's current size. */
static void follow_session(struct moving_rows *r)
{
	const struct profile *p = r->from;

	while (r->stacks.count < p->stacks.rows.count)
		vec_push(&r->stacks, NO_STACK);
	while (r->threads.count < p->threads.rows.count)
		vec_push(&r->threads, NO_THREAD);
	if (r->frames.count < p->frames.rows.count)
		vec_add_zeroed(&r->frames, p->frames.rows.count - r->frames.count);
}

/* Collects the unnamed frames of a stack not copied yet. Returns true if there are none. */
static bool find_frames(struct moving_rows *r, stack_id stack, const struct moving_names *names,
			bool *is_seen, struct frame_list *list)
{
	const struct stack *rows = r->from->stacks.rows.items;
	bool has_names = true;

	for (; stack != NO_STACK && r->stacks.items[stack] == NO_STACK;
	     stack = rows[stack].parent) {
		frame_id frame = rows[stack].frame;
		struct moved_frame *as = &r->frames.items[frame];

		if (!as->count && !is_seen[frame])
			*as = moving_names_find(names, r->from, frame);
		if (as->count)
			continue;
		has_names = false;
		if (!is_seen[frame])
			vec_push(&list->rows, frame);
		is_seen[frame] = true;
	}
	return has_names;
}

static stack_id add_frame(struct profile *into, stack_id stack, frame_id frame)
{
	return frames_get(&into->frames, frame)->kind == PROFILE_FRAME_LABEL
		       ? wait_frames_add(into, stack, frame)
		       : stacks_intern(&into->stacks, stack, frame);
}

static stack_id take_stack(struct moving_rows *r, stack_id stack, struct profile *into,
			   const struct moving_names *names)
{
	const struct stack *rows = r->from->stacks.rows.items;
	VEC(stack_id) path = {0};
	stack_id at = stack, found;

	for (; at != NO_STACK && r->stacks.items[at] == NO_STACK; at = rows[at].parent)
		vec_push(&path, at);
	found = at == NO_STACK ? NO_STACK : r->stacks.items[at];
	while (path.count) {
		stack_id next = path.items[--path.count];
		uint32_t first = r->frames.items[rows[next].frame].first;

		for (uint32_t i = 0; i < r->frames.items[rows[next].frame].count; i++)
			found = add_frame(into, found, names->chain.items[first + i]);
		r->stacks.items[next] = found;
	}
	vec_release(&path);
	return found;
}

struct two_profiles {
	struct profile *into;
	const struct profile *from;
};

static string_id take_text(void *ctx, string_id id)
{
	const struct two_profiles *p = ctx;

	return id == NO_STRING
		       ? NO_STRING
		       : strings_intern_list(&p->into->strings, strings_get(&p->from->strings, id),
					     strings_size(&p->from->strings, id));
}

/* Returns the thread with these ids in the profile, adding it if new. */
static thread_id moving_thread(struct profile *into, const struct profile *from,
			       const struct profile_thread *row)
{
	struct two_profiles profiles = {into, from};
	/* Omits arguments, which are not shown, and end times, which are not known yet. */
	struct profile_thread shown = *row, copy;

	shown.arguments = NO_STRING;
	shown.end = shown.process_end = 0;
	for (thread_id id = 0; id < into->threads.rows.count; id++) {
		const struct profile_thread *other = &into->threads.rows.items[id];

		if (other->pid == row->pid && other->tid == row->tid &&
		    other->incarnation == row->incarnation)
			return id;
	}
	copy = copy_thread_row(&shown, &(struct copy_rules){&profiles, take_text, NULL, NULL});
	return threads_add(&into->threads, &copy);
}

/* Processes may be renamed after their programs later. */
static void rename_thread(struct profile *into, const struct profile *from,
			  struct profile_thread *thread, const struct profile_thread *row)
{
	struct two_profiles profiles = {into, from};

	thread->name = take_text(&profiles, row->name);
	thread->process_name = take_text(&profiles, row->process_name);
}

static void take_sample(struct moving_rows *r, thread_id thread, const struct sample *sample,
			struct profile *into, const struct moving_names *names)
{
	thread_id *taken = &r->threads.items[thread];
	struct sample copy = *sample;

	if (*taken == NO_THREAD)
		*taken = moving_thread(into, r->from, &r->from->threads.rows.items[thread]);
	copy.cpu_delta = 0;
	copy.stack = copy.stack == NO_STACK ? NO_STACK : take_stack(r, copy.stack, into, names);
	samples_add(&threads_get(&into->threads, *taken)->samples, &copy);
	into->stats.cpu_samples += copy.event ? 0 : copy.weight;
}

/* Naming is urgent if more than this fraction of the samples wait: the gap would be visible. */
#define URGENT_PART 10

static void hold_samples(struct moving_rows *r)
{
	const struct threads *threads = &r->from->threads;

	for (thread_id id = 0; id < threads->rows.count; id++) {
		if (!session_wants_thread(r->session, id))
			continue;
		samples_for_each(&threads->rows.items[id].samples, sample)
			vec_push(&r->held, (struct held_sample){id, *sample});
	}
	session_drop_rows(r->session);
}

static void rename_threads(struct moving_rows *r, struct profile *into)
{
	for (thread_id id = 0; id < r->threads.count; id++) {
		thread_id taken = r->threads.items[id];

		if (taken != NO_THREAD)
			rename_thread(into, r->from, threads_get(&into->threads, taken),
				      &r->from->threads.rows.items[id]);
	}
}

/*
 * Moves all rows of the session, and those of waits up to until_ns. Holds back rows without names
 * unless it names them.
 */
static void moving_rows_take(struct moving_rows *r, struct profile *into,
			     struct moving_names *names, uint64_t until_ns, bool names_all)
{
	_cleanup_free_ bool *is_seen = NULL, *has_names = NULL;
	struct frame_list list = {0};
	size_t kept = 0, unnamed = 0;

	session_advance(r->session, until_ns);
	follow_session(r);
	hold_samples(r);
	is_seen = xcalloc(r->frames.count + 1, sizeof(*is_seen));
	has_names = xcalloc(r->held.count + 1, sizeof(*has_names));
	for (size_t i = 0; i < r->held.count; i++) {
		has_names[i] = find_frames(r, r->held.items[i].sample.stack, names, is_seen, &list);
		unnamed += !has_names[i];
	}
	names_all |= moving_names_are_due(names, unnamed > r->held.count / URGENT_PART);
	if (names_all && list.rows.count)
		name_frames(r, &list, into, names);
	vec_release(&list.rows);
	for (size_t i = 0; i < r->held.count; i++) {
		const struct held_sample held = r->held.items[i];

		if (has_names[i] || names_all)
			take_sample(r, held.thread, &held.sample, into, names);
		else
			r->held.items[kept++] = held;
	}
	r->held.count = kept;
	rename_threads(r, into);
}

/* Stacks of samples before an epoch arrive within this time. */
#define LATE_NS 1000000000ull
/* Usual delay of records; longer if the recorder is starved. */
#define SETTLE_NS 400000000ull
#define SETTLE_MAX_NS 10000000000ull
#define SPARE_NS 200000000ull
/* Maximum size of retained names, in bytes. */
#define NAMES_BYTES ((size_t)32 << 20)
/* Maximum number of records per call, which bounds the caller's wait. */
#define RECORDS_MAX (1u << 20)

struct moving {
	struct moving_options options;
	struct capture_stream *stream;
	struct moving_names names;
	struct profile *profile; /* NULL: no record so far */
	struct profile *held; /* profile still in use by the caller; NULL: none */
	uint64_t number; /* sequence number of the profile */
	/* `before` is the session before this epoch, which gets late stacks. */
	struct moving_rows now, before;
	uint64_t epoch_ns; /* start of the current epoch */
	uint64_t end_ns; /* time of the latest record */
	uint64_t renewed_ns; /* time at which the profile was last renewed */
	uint64_t settle_ns; /* current delay until records have arrived */
	bool has_ended; /* the source has no more records */
	bool begins; /* state records have begun, for a session still to be started */
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

/* Starts a new profile without old rows and everything that only they refer to. */
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
	profile_copy_events(p, old);
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
	m->end_ns = MAX(m->end_ns, rec->time);
	if (m->before.session && rec->kind == REC_STACK)
		session_feed(m->before.session, rec);
	session_feed(m->now.session, rec);
}

/* Measures the delay of the latest records. */
static void note_delay(struct moving *m)
{
	uint64_t now = clock_monotonic_ns(), late = SPARE_NS;

	late += now > m->end_ns ? now - m->end_ns : 0;
	if (late > m->settle_ns)
		m->settle_ns = late < SETTLE_MAX_NS ? late : SETTLE_MAX_NS;
	else
		m->settle_ns -= (m->settle_ns - late) / 8;
	m->settle_ns = MAX(m->settle_ns, SETTLE_NS);
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

/* Returns the time up to which all records have arrived. */
static uint64_t settled_ns(const struct moving *m)
{
	return m->has_ended ? m->end_ns : clock_monotonic_ns() - m->settle_ns;
}

const struct profile *moving_profile(struct moving *m, bool names_all, uint64_t *number)
{
	if (!m->now.session)
		return NULL;
	moving_rows_take(&m->now, m->profile, &m->names, settled_ns(m), names_all);
	profile_copy_events(m->profile, m->now.from);
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
