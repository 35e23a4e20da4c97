/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/initial_rows.h"

#define VISIBLE_THREADS 15

/* Threads are shown inside their process, which is the track of its main thread. */
static size_t main_position(const struct firefox_rows *r, size_t position)
{
	const struct firefox_row *rows = r->list.items, *row = &rows[position];

	for (size_t i = position + 1; i-- > 0;) {
		if (rows[i].pid != row->pid || rows[i].incarnation != row->incarnation)
			break;
		if (rows[i].is_main)
			return i;
	}
	return position;
}

static uint64_t weight_of(const struct firefox_rows *r, const struct firefox_row *row,
			  struct sample_buffer *buffer)
{
	struct sample_run run = firefox_row_samples(r, row, buffer);
	uint64_t weight = 0;

	for (size_t i = 0; i < run.count; i++)
		weight += run.items[i].weight;
	return weight;
}

/* Shows events' rows with their thread, and of each event the row with the most samples. */
static void show_events(const struct firefox_rows *r, bool *is_visible)
{
	uint64_t most[EVENT_COUNTS_MAX] = {0}, weight;
	size_t where[EVENT_COUNTS_MAX] = {0}, owner = 0;
	struct sample_buffer buffer = {0};

	for (size_t i = 0; i < r->list.count; i++) {
		const struct firefox_row *row = &r->list.items[i];

		if (row->kind != ROW_EVENT) {
			owner = i;
			/* Rows of CPUs, and of a difference, exist only on request. */
			is_visible[i] |= row->kind == ROW_CPU || row->kind == ROW_DIFFERENCE;
			continue;
		}
		is_visible[i] = is_visible[owner];
		weight = weight_of(r, row, &buffer);
		if (weight > most[row->event]) {
			most[row->event] = weight;
			where[row->event] = i;
		}
	}
	for (size_t event = 0; event < EVENT_COUNTS_MAX; event++) {
		if (!most[event])
			continue;
		is_visible[where[event]] = true;
		is_visible[main_position(r, where[event])] = true;
	}
	sample_buffer_release(&buffer);
}

static bool has_processes(const struct firefox_rows *r)
{
	size_t processes = 0;

	vec_for_each(&r->list, const struct firefox_row *, row)
		processes += row->is_main && row->kind <= ROW_FOLDED;
	return processes > 1;
}

/* Selects all rows that a sum of the recording needs. Returns false if none has CPU time. */
static bool select_busy(const struct firefox_rows *r, bool *is_selected)
{
	bool has_any = false;

	for (size_t i = 0; i < r->list.count; i++) {
		const struct firefox_row *row = &r->list.items[i];

		is_selected[i] = row->kind <= ROW_FOLDED && row->has_run;
		has_any = has_any || is_selected[i];
	}
	return has_any;
}

/* Without samples of the clock, the rows of the first event tell most. */
static void select_event(const struct firefox_rows *r, bool *is_visible, bool *is_selected)
{
	uint8_t first = EVENT_COUNTS_MAX;

	vec_for_each(&r->list, const struct firefox_row *, row) {
		if (row->kind == ROW_EVENT && row->event < first)
			first = row->event;
	}
	for (size_t i = 0; i < r->list.count; i++) {
		if (r->list.items[i].kind != ROW_EVENT || r->list.items[i].event != first)
			continue;
		is_visible[i] = is_selected[i] = true;
		is_visible[main_position(r, i)] = true;
	}
}

static bool has_events(const struct firefox_rows *r)
{
	vec_for_each(&r->list, const struct firefox_row *, row) {
		if (row->kind == ROW_EVENT)
			return true;
	}
	return false;
}

void initial_rows(const struct firefox_rows *r, bool *is_visible, bool *is_selected)
{
	size_t rows = r->list.count, count;
	uint32_t busiest[VISIBLE_THREADS];
	bool has_clock;

	count = firefox_rows_busiest(r, busiest, VISIBLE_THREADS);
	has_clock = count;
	if (!count) {
		for (; count < VISIBLE_THREADS && count < rows; count++)
			busiest[count] = (uint32_t)count;
	}
	/* The root process comes first and is always shown. */
	is_visible[0] = true;
	for (size_t i = 0; i < count; i++) {
		is_visible[busiest[i]] = true;
		is_visible[main_position(r, busiest[i])] = true;
	}
	show_events(r, is_visible);
	if (vec_last(&r->list).kind == ROW_DIFFERENCE)
		is_selected[rows - 1] = true;
	else if (!has_clock && has_events(r))
		select_event(r, is_visible, is_selected);
	else if (!has_processes(r) || !select_busy(r, is_selected))
		is_selected[busiest[0]] = true;
}
