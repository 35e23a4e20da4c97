/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/fold.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/index.h"

/* Further programs share a row with those of a single thread. */
#define PROGRAMS_MAX 100
#define NO_GROUP UINT32_MAX
#define NO_ROW SIZE_MAX
#define OTHERS 0

struct group {
	string_id program; /* NO_STRING: several */
	size_t count; /* of threads */
	size_t processes; /* number of main threads among them */
};

struct folder {
	struct firefox_rows *rows;
	struct file_strings *strings;
	size_t *mains; /* by row: main thread of its process, or NO_ROW */
	bool *is_crowd; /* by row: short-lived, of a program with many such processes */
	bool *is_kept; /* by row */
	uint32_t *group_of; /* by row; NO_GROUP: kept */
	size_t kept;
	VEC(struct group) groups; /* the first has the rows without a group of their own */
	struct index by_program;
};

static bool is_same_process(const struct firefox_row *a, const struct firefox_row *b)
{
	return a->pid == b->pid && a->incarnation == b->incarnation;
}

static void find_mains(struct folder *f)
{
	const struct firefox_row *rows = f->rows->list.items;
	size_t main = NO_ROW;

	for (size_t i = 0; i < f->rows->list.count; i++) {
		if (rows[i].is_main)
			main = i;
		else if (main != NO_ROW && !is_same_process(&rows[i], &rows[main]))
			main = NO_ROW;
		f->mains[i] = main;
	}
}

/* Keeps a thread and the main thread of its process. */
static void keep(struct folder *f, size_t row)
{
	size_t main = f->mains[row];

	f->kept += !f->is_kept[row];
	f->is_kept[row] = true;
	if (main == NO_ROW || f->is_kept[main])
		return;
	f->is_kept[main] = true;
	f->kept++;
}

static bool is_short_lived(const struct folder *f, const struct firefox_row *row)
{
	return !row->is_folded && row->start > f->rows->profile->meta.start_ns && row->end;
}

/* Rows of short-lived main threads, sorted by program. */
struct program_row {
	string_id program;
	size_t row;
};

struct program_rows {
	VEC(struct program_row) rows;
};

static int compare_programs(const void *a, const void *b)
{
	const struct program_row *x = a, *y = b;

	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

/* Finds programs with more short-lived processes than that. Returns false if none. */
static bool find_crowds(struct folder *f, size_t processes)
{
	struct program_rows mains = {0};
	bool has_any = false;

	for (size_t i = 0; i < f->rows->list.count; i++) {
		const struct firefox_row *row = &f->rows->list.items[i];

		if (row->is_main && is_short_lived(f, row))
			vec_push(&mains.rows, (struct program_row){row->process_name, i});
	}
	vec_sort(&mains.rows, compare_programs);
	for (size_t i = 0, end; i < mains.rows.count; i = end) {
		for (end = i; end < mains.rows.count &&
			      mains.rows.items[end].program == mains.rows.items[i].program;
		     end++)
			;
		for (size_t j = i; j < end && end - i > processes; j++)
			f->is_crowd[mains.rows.items[j].row] = has_any = true;
	}
	vec_release(&mains.rows);
	/* Other threads go with the main thread of their process. */
	for (size_t i = 0; has_any && i < f->rows->list.count; i++)
		f->is_crowd[i] |= f->mains[i] != NO_ROW && f->is_crowd[f->mains[i]];
	return has_any;
}

/* Follows the order of the file, so that the result does not depend on ids. */
static void choose_kept(struct folder *f, size_t max)
{
	size_t rows = f->rows->list.count, count = 0;
	_cleanup_free_ struct radix_row *busy = xcalloc(rows + 1, sizeof(*busy));

	keep(f, 0);
	for (size_t i = 0; i < rows; i++) {
		const struct firefox_row *row = &f->rows->list.items[i];

		if (!is_short_lived(f, row))
			keep(f, i);
		else if (!f->is_crowd[i])
			busy[count++] = (struct radix_row){UINT64_MAX - row->cpu_ns, (uint32_t)i};
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
	vec_push(&f->groups, (struct group){.program = NO_STRING});
	for (size_t i = 0; i < f->rows->list.count; i++) {
		string_id program = f->rows->list.items[i].process_name;
		uint32_t id;

		f->group_of[i] = NO_GROUP;
		if (f->is_kept[i])
			continue;
		id = index_find(&f->by_program, hash_u64(program), program_equal, f, &program);
		if (id == INDEX_NONE) {
			id = (uint32_t)f->groups.count;
			vec_push(&f->groups, (struct group){.program = program});
			index_add(&f->by_program, hash_u64(program), id);
		}
		f->groups.items[id].count++;
		f->groups.items[id].processes += f->rows->list.items[i].is_main;
		f->group_of[i] = id;
	}
}

/* Merges groups of one thread, and those beyond PROGRAMS_MAX. */
static void merge_small_groups(struct folder *f)
{
	struct group *groups = f->groups.items;
	size_t programs = 0;

	for (size_t id = 1; id < f->groups.count; id++) {
		if (groups[id].count > 1 && ++programs <= PROGRAMS_MAX)
			continue;
		groups[OTHERS].count += groups[id].count;
		groups[OTHERS].processes += groups[id].processes;
		groups[id].count = 0;
	}
	for (size_t i = 0; i < f->rows->list.count; i++) {
		uint32_t *id = &f->group_of[i];

		if (*id == NO_GROUP || groups[*id].count)
			continue;
		/* A single thread keeps its row. */
		*id = groups[OTHERS].count > 1 ? OTHERS : NO_GROUP;
	}
	if (groups[OTHERS].count == 1)
		groups[OTHERS].count = 0;
}

static string_id name_group(struct folder *f, const struct group *group)
{
	const char *program = group->program == NO_STRING
				      ? "other programs"
				      : file_strings_get(f->strings, group->program);
	_cleanup_free_ char *name = xasprintf("%s × %zu", program,
					      group->processes ? group->processes : group->count);

	return file_strings_intern(f->strings, name);
}

/* Initializes a group's row from its first thread. */
static void begin_group(struct folder *f, struct firefox_row *row, const struct group *group)
{
	row->kind = ROW_FOLDED;
	row->incarnation |= FOLDED_INCARNATION;
	row->tid = row->pid;
	row->title = row->process_title = row->name = row->process_name = name_group(f, group);
	row->process_label = row->arguments = NO_STRING;
	row->is_main = row->is_folded = true;
}

static void add_member(struct firefox_row *to, const struct firefox_row *from)
{
	to->start = from->start < to->start ? from->start : to->start;
	to->end = from->end > to->end ? from->end : to->end;
	to->cpu_ns += from->cpu_ns;
	to->blocked += from->blocked;
	to->has_run |= from->has_run;
	to->is_kernel = to->is_kernel && from->is_kernel;
	to->events |= from->events;
	to->count += from->count;
}

/* Makes one row of a group, whose threads go to `members`. */
static struct firefox_row fold_group(struct folder *f, uint32_t id, thread_id *members,
				     size_t *used)
{
	struct firefox_row row = {0};

	for (size_t i = 0; i < f->rows->list.count; i++) {
		const struct firefox_row *member = &f->rows->list.items[i];

		if (f->group_of[i] != id)
			continue;
		if (row.count) {
			add_member(&row, member);
		} else {
			row = *member;
			row.first = *used;
			begin_group(f, &row, &f->groups.items[id]);
		}
		members[(*used)++] = f->rows->members.items[member->first];
	}
	row.process_start = row.start;
	row.process_end = row.end;
	row.process_cpu_ns = row.cpu_ns;
	return row;
}

static struct fold_counts fold_groups(struct folder *f)
{
	struct firefox_rows *r = f->rows;
	struct fold_counts counts = {0};
	struct firefox_row *old = r->list.items;
	size_t count = r->list.count, used = 0, kept = 0;
	_cleanup_free_ struct firefox_row *rows = xcalloc(f->groups.count, sizeof(*rows));
	thread_id *members = xcalloc(count + 1, sizeof(*members));

	for (uint32_t id = 0; id < f->groups.count; id++) {
		if (!f->groups.items[id].count)
			continue;
		rows[counts.rows++] = fold_group(f, id, members, &used);
		counts.threads += f->groups.items[id].count;
	}
	for (size_t i = 0; i < count; i++) {
		if (f->group_of[i] != NO_GROUP)
			continue;
		members[used] = r->members.items[old[i].first];
		old[kept] = old[i];
		old[kept++].first = used++;
	}
	r->list.count = kept;
	for (size_t i = 0; i < counts.rows; i++)
		vec_push(&r->list, rows[i]);
	memcpy(r->members.items, members, used * sizeof(*members));
	free(members);
	return counts;
}

static void folder_init(struct folder *f, struct firefox_rows *r, struct file_strings *strings)
{
	size_t count = r->list.count + 1;

	*f = (struct folder){.rows = r, .strings = strings};
	f->mains = xcalloc(count, sizeof(*f->mains));
	f->is_crowd = xcalloc(count, sizeof(*f->is_crowd));
	f->is_kept = xcalloc(count, sizeof(*f->is_kept));
	f->group_of = xcalloc(count, sizeof(*f->group_of));
}

static void folder_release(struct folder *f)
{
	free(f->mains);
	free(f->is_crowd);
	free(f->is_kept);
	free(f->group_of);
	vec_release(&f->groups);
	index_release(&f->by_program);
}

struct fold_counts fold_rows(struct firefox_rows *r, struct file_strings *strings,
			     const struct fold_limits *limits)
{
	struct fold_counts counts = {0};
	struct folder f;

	folder_init(&f, r, strings);
	find_mains(&f);
	if (find_crowds(&f, limits->processes) || r->list.count > limits->rows) {
		choose_kept(&f, limits->rows);
		count_programs(&f);
		merge_small_groups(&f);
		counts = fold_groups(&f);
	}
	folder_release(&f);
	if (counts.rows)
		firefox_rows_sort(r);
	return counts;
}
