/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/thread_rows.h"

/* Threads of further programs share a row with single threads. */
#define PROGRAMS_MAX 100
#define NO_GROUP UINT32_MAX
#define NO_ROW SIZE_MAX
#define OTHERS 0

struct group {
	string_id program; /* NO_STRING: threads of several programs */
	size_t count; /* number of threads */
	size_t processes; /* number of main threads among them */
};

struct merger {
	struct thread_rows *rows;
	size_t *mains; /* by row: main thread of its process, or NO_ROW */
	bool *is_crowd; /* by row: short-lived, of a program with many short-lived processes */
	bool *is_kept; /* by row: has a row of its own */
	uint32_t *group_of; /* by row; NO_GROUP: row is kept */
	size_t kept;
	VEC(struct group)
	groups; /* groups.items[OTHERS] has the rows without a group of their own */
	size_t programs; /* number of different values of program_of() */
};

static bool is_same_process(const struct thread_row *a, const struct thread_row *b)
{
	return a->pid == b->pid && a->incarnation == b->incarnation;
}

static void find_mains(struct merger *m)
{
	const struct thread_row *rows = m->rows->list.items;
	size_t main = NO_ROW;

	for (size_t i = 0; i < m->rows->list.count; i++) {
		if (rows[i].is_main)
			main = i;
		else if (main != NO_ROW && !is_same_process(&rows[i], &rows[main]))
			main = NO_ROW;
		m->mains[i] = main;
	}
}

/* Keeps a thread and the main thread of its process. */
static void keep(struct merger *m, size_t row)
{
	size_t main = m->mains[row];

	m->kept += !m->is_kept[row];
	m->is_kept[row] = true;
	if (main == NO_ROW || m->is_kept[main])
		return;
	m->is_kept[main] = true;
	m->kept++;
}

static bool is_short_lived(const struct merger *m, const struct thread_row *row)
{
	return !row->is_merged && row->start > m->rows->profile->meta.start_ns && row->end;
}

/* Returns an index into arrays of programs. */
static size_t program_of(const struct merger *m, const struct thread_row *row)
{
	return row->process_name == NO_STRING ? m->programs - 1 : row->process_name;
}

/*
 * Finds programs with more than `processes` short-lived processes. Returns false if there are none.
 */
static bool find_crowds(struct merger *m, size_t processes)
{
	_cleanup_free_ size_t *counts = xcalloc(m->programs, sizeof(*counts));
	bool has_any = false;

	vec_for_each(&m->rows->list, const struct thread_row *, row)
		counts[program_of(m, row)] += row->is_main && is_short_lived(m, row);
	for (size_t i = 0; i < m->rows->list.count; i++) {
		const struct thread_row *row = &m->rows->list.items[i];

		/* Other threads follow the main thread of their process. */
		if (!row->is_main)
			m->is_crowd[i] = m->mains[i] != NO_ROW && m->is_crowd[m->mains[i]];
		else if (is_short_lived(m, row))
			m->is_crowd[i] = counts[program_of(m, row)] > processes;
		has_any |= m->is_crowd[i];
	}
	return has_any;
}

/* Follows the order of the file, so that the result does not depend on ids. */
static void choose_kept(struct merger *m, size_t max)
{
	size_t rows = m->rows->list.count, count = 0;
	_cleanup_free_ struct radix_row *busy = xcalloc(rows + 1, sizeof(*busy));

	keep(m, 0);
	for (size_t i = 0; i < rows; i++) {
		const struct thread_row *row = &m->rows->list.items[i];

		if (!is_short_lived(m, row))
			keep(m, i);
		else if (!m->is_crowd[i])
			busy[count++] = (struct radix_row){UINT64_MAX - row->cpu_ns, (uint32_t)i};
	}
	radix_sort(busy, count);
	for (size_t i = 0; i < count && m->kept < max; i++)
		keep(m, busy[i].value);
}

static void count_programs(struct merger *m)
{
	_cleanup_free_ uint32_t *of_programs = xcalloc(m->programs, sizeof(*of_programs));

	vec_push(&m->groups, (struct group){.program = NO_STRING});
	for (size_t i = 0; i < m->rows->list.count; i++) {
		const struct thread_row *row = &m->rows->list.items[i];
		uint32_t *id = &of_programs[program_of(m, row)];

		m->group_of[i] = NO_GROUP;
		if (m->is_kept[i])
			continue;
		if (!*id) {
			*id = (uint32_t)m->groups.count;
			vec_push(&m->groups, (struct group){.program = row->process_name});
		}
		m->groups.items[*id].count++;
		m->groups.items[*id].processes += row->is_main;
		m->group_of[i] = *id;
	}
}

/* Merges groups of one thread and groups beyond PROGRAMS_MAX into the others' group. */
static void merge_small_groups(struct merger *m)
{
	struct group *groups = m->groups.items;
	size_t programs = 0;

	for (size_t id = 1; id < m->groups.count; id++) {
		if (groups[id].count > 1 && ++programs <= PROGRAMS_MAX)
			continue;
		groups[OTHERS].count += groups[id].count;
		groups[OTHERS].processes += groups[id].processes;
		groups[id].count = 0;
	}
	for (size_t i = 0; i < m->rows->list.count; i++) {
		uint32_t *id = &m->group_of[i];

		if (*id == NO_GROUP || groups[*id].count)
			continue;
		/* A single thread keeps its row. */
		*id = groups[OTHERS].count > 1 ? OTHERS : NO_GROUP;
	}
	if (groups[OTHERS].count == 1)
		groups[OTHERS].count = 0;
}

static string_id name_group(struct merger *m, const struct group *group)
{
	const char *program = group->program == NO_STRING
				      ? "other programs"
				      : string_overlay_get(m->rows->strings, group->program);
	_cleanup_free_ char *name = xasprintf("%s × %zu", program,
					      group->processes ? group->processes : group->count);

	return string_overlay_intern(m->rows->strings, name);
}

/* Initializes a group's row from its first thread. */
static void begin_group(struct merger *m, struct thread_row *row, const struct group *group)
{
	row->kind = ROW_MERGED;
	row->incarnation |= MERGED_INCARNATION;
	row->tid = row->pid;
	row->title = row->process_title = row->name = row->process_name = name_group(m, group);
	row->process_label = row->arguments = NO_STRING;
	row->is_main = row->is_merged = true;
}

static void add_member(struct thread_row *to, const struct thread_row *from)
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

/* Makes one row of a group. Its threads go to `members`. */
static struct thread_row merge_group(struct merger *m, uint32_t id, thread_id *members,
				     size_t *used)
{
	struct thread_row row = {0};

	for (size_t i = 0; i < m->rows->list.count; i++) {
		const struct thread_row *member = &m->rows->list.items[i];

		if (m->group_of[i] != id)
			continue;
		if (row.count) {
			add_member(&row, member);
		} else {
			row = *member;
			row.first = *used;
			begin_group(m, &row, &m->groups.items[id]);
		}
		members[(*used)++] = m->rows->members.items[member->first];
	}
	row.process_start = row.start;
	row.process_end = row.end;
	row.process_cpu_ns = row.cpu_ns;
	return row;
}

static struct merge_counts merge_groups(struct merger *m)
{
	struct thread_rows *r = m->rows;
	struct merge_counts counts = {0};
	struct thread_row *old = r->list.items;
	size_t count = r->list.count, used = 0, kept = 0;
	_cleanup_free_ struct thread_row *rows = xcalloc(m->groups.count, sizeof(*rows));
	thread_id *members = xcalloc(count + 1, sizeof(*members));

	for (uint32_t id = 0; id < m->groups.count; id++) {
		if (!m->groups.items[id].count)
			continue;
		rows[counts.rows++] = merge_group(m, id, members, &used);
		counts.threads += m->groups.items[id].count;
	}
	for (size_t i = 0; i < count; i++) {
		if (m->group_of[i] != NO_GROUP)
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

static void merger_init(struct merger *m, struct thread_rows *r)
{
	size_t count = r->list.count + 1;

	*m = (struct merger){.rows = r, .programs = string_overlay_count(r->strings) + 1};
	m->mains = xcalloc(count, sizeof(*m->mains));
	m->is_crowd = xcalloc(count, sizeof(*m->is_crowd));
	m->is_kept = xcalloc(count, sizeof(*m->is_kept));
	m->group_of = xcalloc(count, sizeof(*m->group_of));
}

static void merger_release(struct merger *m)
{
	free(m->mains);
	free(m->is_crowd);
	free(m->is_kept);
	free(m->group_of);
	vec_release(&m->groups);
}

struct merge_counts thread_rows_merge(struct thread_rows *r, const struct merge_limits *limits)
{
	struct merge_counts counts = {0};
	struct merger m;

	merger_init(&m, r);
	find_mains(&m);
	if (find_crowds(&m, limits->processes) || r->list.count > limits->rows) {
		choose_kept(&m, limits->rows);
		count_programs(&m);
		merge_small_groups(&m);
		counts = merge_groups(&m);
	}
	merger_release(&m);
	if (counts.rows)
		thread_rows_sort(r);
	return counts;
}
