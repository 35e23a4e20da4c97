/* SPDX-License-Identifier: MIT */
#include "lib/profile/fold.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/index.h"
#include "lib/base/radix.h"

/* Programs beyond, and those of which there was only one thread, share a row. */
#define PROGRAMS_MAX 100
#define NO_GROUP UINT32_MAX
#define OTHERS 0

struct group {
	string_id program; /* NO_STRING: several */
	string_id name;
	size_t count;
	thread_id row; /* among the new ones; NO_THREAD: none yet */
};

struct folder {
	struct profile *p;
	struct threads old;
	thread_id *order;
	thread_id *mains; /* by thread: of its process, or NO_THREAD */
	bool *is_kept; /* by thread; rows of CPUs are, those of events are as their threads */
	uint32_t *group_of; /* by thread; NO_GROUP: it is kept */
	thread_id *new_ids; /* by thread */
	size_t kept, threads;
	VEC(struct group) groups; /* the first has what belongs to no other */
	struct index by_program;
};

static bool is_thread(const struct profile_thread *row)
{
	return !row->event && !row->is_cpu;
}

static bool is_same_process(const struct profile_thread *a, const struct profile_thread *b)
{
	return a->pid == b->pid && a->incarnation == b->incarnation;
}

static void find_mains(struct folder *f)
{
	const struct profile_thread *rows = f->old.rows.items;
	thread_id main = NO_THREAD;

	for (size_t i = 0; i < f->old.rows.count; i++) {
		const struct profile_thread *row = &rows[f->order[i]];

		if (row->is_main && is_thread(row))
			main = f->order[i];
		else if (main != NO_THREAD && !is_same_process(row, &rows[main]))
			main = NO_THREAD;
		f->mains[f->order[i]] = main;
		f->threads += is_thread(row);
	}
}

/* A thread, and the main thread of its process. */
static void keep(struct folder *f, thread_id id)
{
	thread_id main = f->mains[id];

	f->kept += !f->is_kept[id];
	f->is_kept[id] = true;
	if (main == NO_THREAD || f->is_kept[main])
		return;
	f->is_kept[main] = true;
	f->kept++;
}

static bool is_short_lived(const struct folder *f, const struct profile_thread *row)
{
	return row->start > f->p->meta.start_ns && row->end;
}

/* In order of the file, so that nothing depends on ids. */
static void choose_kept(struct folder *f, size_t max)
{
	_cleanup_free_ struct radix_row *busy = xcalloc(f->old.rows.count + 1, sizeof(*busy));
	size_t count = 0;

	keep(f, f->order[0]);
	for (size_t i = 0; i < f->old.rows.count; i++) {
		const struct profile_thread *row = &f->old.rows.items[f->order[i]];

		if (!is_thread(row))
			f->is_kept[f->order[i]] = row->is_cpu;
		else if (!is_short_lived(f, row))
			keep(f, f->order[i]);
		else
			busy[count++] = (struct radix_row){UINT64_MAX - row->cpu_ns, f->order[i]};
	}
	radix_sort(busy, count);
	for (size_t i = 0; i < count && f->kept < max; i++)
		keep(f, busy[i].value);
}

static bool program_equal(const void *table, uint32_t id, const void *key)
{
	return ((const struct folder *)table)->groups.items[id].program == *(const string_id *)key;
}

static void count_programs(struct folder *f)
{
	vec_push(&f->groups, (struct group){.program = NO_STRING, .row = NO_THREAD});
	for (size_t i = 0; i < f->old.rows.count; i++) {
		const struct profile_thread *row = &f->old.rows.items[f->order[i]];
		string_id program = row->process_name;
		uint32_t id;

		f->group_of[f->order[i]] = NO_GROUP;
		if (!is_thread(row) || f->is_kept[f->order[i]])
			continue;
		id = index_find(&f->by_program, hash_u64(program), program_equal, f, &program);
		if (id == INDEX_NONE) {
			id = (uint32_t)f->groups.count;
			vec_push(&f->groups, (struct group){.program = program, .row = NO_THREAD});
			index_add(&f->by_program, hash_u64(program), id);
		}
		f->groups.items[id].count++;
		f->group_of[f->order[i]] = id;
	}
}

/* What is alone, and what is too much. */
static void gather_others(struct folder *f)
{
	struct group *groups = f->groups.items;
	size_t programs = 0;

	for (size_t id = 1; id < f->groups.count; id++) {
		if (groups[id].count > 1 && ++programs <= PROGRAMS_MAX)
			continue;
		groups[OTHERS].count += groups[id].count;
		groups[id].count = 0;
	}
	for (size_t i = 0; i < f->old.rows.count; i++) {
		uint32_t *id = &f->group_of[i];

		if (*id == NO_GROUP || groups[*id].count)
			continue;
		*id = groups[OTHERS].count > 1 ? OTHERS : NO_GROUP;
		/* One that is alone even among those keeps its row. */
		f->is_kept[i] = *id == NO_GROUP;
	}
}

static void name_group(struct folder *f, struct group *group)
{
	struct strings *strings = &f->p->strings;
	const char *program = group->program == NO_STRING ? "other programs"
							  : strings_get(strings, group->program);
	_cleanup_free_ char *name = xasprintf("%s × %zu, short-lived", program, group->count);

	group->name = strings_intern(strings, name);
}

static thread_id add_row(struct folder *f, const struct profile_thread *first, string_id name)
{
	struct profile_thread row = *first;

	row.incarnation |= FOLDED_INCARNATION;
	row.name = row.process_name = name;
	row.process_label = row.arguments = NO_STRING;
	row.is_folded = true;
	row.cpu_ns = 0;
	memset(&row.samples, 0, sizeof(row.samples));
	memset(&row.markers, 0, sizeof(row.markers));
	return threads_add(&f->p->threads, &row);
}

/* Samples get their order in the end. */
static void add_member(struct profile_thread *to, struct profile_thread *from)
{
	vec_reserve(&to->samples, to->samples.count + from->samples.count);
	vec_for_each(&from->samples, const struct sample *, sample)
		vec_push(&to->samples, *sample);
	vec_for_each(&from->markers, const struct marker *, marker)
		vec_push(&to->markers, *marker);
	to->start = from->start < to->start ? from->start : to->start;
	to->end = from->end > to->end ? from->end : to->end;
	to->cpu_ns += from->cpu_ns;
	vec_release(&from->samples);
	vec_release(&from->markers);
}

static void sort_samples(struct profile_thread *row)
{
	size_t count = row->samples.count;
	_cleanup_free_ struct radix_row *times = xcalloc(count + 1, sizeof(*times));
	struct sample *sorted = xcalloc(count + 1, sizeof(*sorted));

	for (size_t i = 0; i < count; i++)
		times[i] = (struct radix_row){row->samples.items[i].time, (uint32_t)i};
	radix_sort(times, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = row->samples.items[times[i].value];
	free(row->samples.items);
	row->samples.items = sorted;
	row->samples.capacity = count + 1;
}

/* The row of a group, for a thread of it. */
static thread_id fold_thread(struct folder *f, thread_id id)
{
	struct group *group = &f->groups.items[f->group_of[id]];
	struct profile_thread *member = &f->old.rows.items[id];

	if (group->row == NO_THREAD) {
		name_group(f, group);
		group->row = add_row(f, member, group->name);
		threads_get(&f->p->threads, group->row)->is_main = true;
	}
	add_member(threads_get(&f->p->threads, group->row), member);
	return group->row;
}

/* Of another event: the group's row of that event, whose number is behind that of the group. */
static thread_id fold_event(struct folder *f, thread_id id, thread_id *rows)
{
	struct profile_thread *member = &f->old.rows.items[id];
	const struct profile_thread *owner = &f->old.rows.items[member->owner];
	struct strings *strings = &f->p->strings;
	uint32_t group = f->group_of[member->owner];
	thread_id *row = &rows[(size_t)group * EVENT_COUNTS_MAX + member->event % EVENT_COUNTS_MAX];

	if (*row == NO_THREAD) {
		size_t size = strings_size(strings, owner->name);
		const char *own = strings_get(strings, member->name);
		const char *event = strings_size(strings, member->name) > size ? own + size : "";
		_cleanup_free_ char *name =
			xasprintf("%s%s", strings_get(strings, f->groups.items[group].name), event);

		*row = add_row(f, member, strings_intern(strings, name));
		threads_get(&f->p->threads, *row)->process_name = f->groups.items[group].name;
		threads_get(&f->p->threads, *row)->owner = f->groups.items[group].row;
	}
	add_member(threads_get(&f->p->threads, *row), member);
	return *row;
}

static void move_rows(struct folder *f)
{
	for (size_t i = 0; i < f->old.rows.count; i++) {
		thread_id id = f->order[i];
		struct profile_thread *row = &f->old.rows.items[id];

		if (row->event)
			continue;
		if (f->group_of[id] == NO_GROUP)
			f->new_ids[id] = threads_add(&f->p->threads, row);
		else
			f->new_ids[id] = fold_thread(f, id);
	}
}

static void move_events(struct folder *f)
{
	size_t count = f->groups.count * EVENT_COUNTS_MAX;
	_cleanup_free_ thread_id *rows = xreallocarray(NULL, count, sizeof(*rows));

	for (size_t i = 0; i < count; i++)
		rows[i] = NO_THREAD;
	for (size_t i = 0; i < f->old.rows.count; i++) {
		struct profile_thread *row = &f->old.rows.items[f->order[i]];

		if (!row->event)
			continue;
		if (f->group_of[row->owner] != NO_GROUP) {
			fold_event(f, f->order[i], rows);
			continue;
		}
		row->owner = f->new_ids[row->owner];
		threads_add(&f->p->threads, row);
	}
}

/* Those of events live as long as that of their thread, and begin their process with it. */
static struct fold_counts finish(struct folder *f)
{
	struct fold_counts counts = {0};

	vec_for_each(&f->p->threads.rows, struct profile_thread *, row) {
		const struct profile_thread *owner = row;

		if (!row->is_folded)
			continue;
		if (row->event)
			owner = threads_get(&f->p->threads, row->owner);
		row->start = row->process_start = owner->start;
		row->end = row->process_end = owner->end;
		row->pid = owner->pid;
		row->incarnation = owner->incarnation;
		row->tid = owner->pid;
		row->process_cpu_ns = owner->cpu_ns;
		sort_samples(row);
	}
	vec_for_each(&f->groups, const struct group *, group) {
		counts.rows += group->row != NO_THREAD;
		counts.threads += group->row != NO_THREAD ? group->count : 0;
	}
	return counts;
}

static void folder_init(struct folder *f, struct profile *p)
{
	size_t count = p->threads.rows.count + 1;

	*f = (struct folder){.p = p, .old = p->threads};
	f->order = xcalloc(count, sizeof(*f->order));
	f->mains = xcalloc(count, sizeof(*f->mains));
	f->is_kept = xcalloc(count, sizeof(*f->is_kept));
	f->group_of = xcalloc(count, sizeof(*f->group_of));
	f->new_ids = xcalloc(count, sizeof(*f->new_ids));
	threads_order(&f->old, p->meta.root_pid, f->order);
}

static void folder_release(struct folder *f)
{
	free(f->order);
	free(f->mains);
	free(f->is_kept);
	free(f->group_of);
	free(f->new_ids);
	vec_release(&f->groups);
	index_release(&f->by_program);
}

struct fold_counts fold_threads(struct profile *p, size_t max)
{
	struct fold_counts counts = {0};
	struct folder f;

	folder_init(&f, p);
	find_mains(&f);
	if (f.threads > max) {
		choose_kept(&f, max);
		count_programs(&f);
		gather_others(&f);
		p->threads = (struct threads){0};
		move_rows(&f);
		move_events(&f);
		counts = finish(&f);
		/* Samples and markers went along. */
		vec_release(&f.old.rows);
	}
	folder_release(&f);
	return counts;
}
