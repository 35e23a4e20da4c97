/* SPDX-License-Identifier: MIT */
#include "lib/recording/moving_rows.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/thread.h"
#include "lib/model/tables/copy.h"
#include "lib/model/meaning/wait_frames.h"
#include "lib/query/copy_rows.h"
#include "lib/recording/workplace/lookup.h"
#include "lib/recording/workplace/naming.h"

#define STALL_NS 1000000000ull
/* Descriptors that are not for modules. */
#define RESERVED_FILES 64

struct frame_list {
	VEC(frame_id) rows;
};

void moving_rows_init(struct moving_rows *r, const struct recording_facts *facts, uint64_t start_ns)
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

void moving_rows_forget(struct moving_rows *r)
{
	vec_clear(&r->stacks);
	vec_clear(&r->frames);
	vec_clear(&r->threads);
}

void moving_rows_release(struct moving_rows *r)
{
	session_free(r->session);
	if (r->from)
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

/* A profile of frames alone: a thread has a sample for each, in their order. */
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

/* Adds what became of the frames: the stack of a sample is the chain of one. */
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

/* Names frames of one kind: records name code of runtimes, the kernel its own, files the rest. */
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

/* Makes room for what the session has by now. */
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

/* Looks for frames without names in a stack that was not taken yet. True: there are none. */
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

/* Returns the stack in the profile. */
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

thread_id moving_thread(struct profile *into, const struct profile *from,
			const struct profile_thread *row)
{
	struct two_profiles profiles = {into, from};
	/* Leaves out arguments, which are not shown, and ends, which are not known yet. */
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

/* Processes get the names of their programs only by and by. */
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

/* A part of those that come at once, which is seen if it is missing. */
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

void moving_rows_take(struct moving_rows *r, struct profile *into, struct moving_names *names,
		      uint64_t until_ns, bool names_all)
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
