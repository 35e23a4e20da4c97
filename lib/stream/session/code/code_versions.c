/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/code/code_versions.h"

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"

/* Bounds entries that overlap one another without end, which no real compiler writes. */
#define VERSIONS_MAX (1u << 22)
/* Bounds chains of forks without an exec. */
#define ANCESTORS_MAX 16

struct order {
	uint64_t since;
	uint32_t row;
};

static int compare_execs(const void *a, const void *b)
{
	const struct code_exec *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

static int compare_orders(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void sort_addrs(struct code_versions *v, const uint64_t *addrs, size_t count)
{
	size_t kept = 0;

	if (!count)
		return;
	vec_reserve(&v->addrs, count);
	memcpy(v->addrs.items, addrs, count * sizeof(*addrs));
	qsort(v->addrs.items, count, sizeof(*addrs), u64_compare);
	for (size_t i = 0; i < count; i++) {
		if (!kept || v->addrs.items[kept - 1] != v->addrs.items[i])
			v->addrs.items[kept++] = v->addrs.items[i];
	}
	v->addrs.count = kept;
}

static void sort_execs(struct code_versions *v, struct code_table *table)
{
	size_t count = table->execs.count;

	v->execs = xcalloc(v->processes->rows.count + 1, sizeof(*v->execs));
	if (!count)
		return;
	qsort(table->execs.items, count, sizeof(*table->execs.items), compare_execs);
	for (size_t i = 0; i < count; i++) {
		struct code_range *range = &v->execs[table->execs.items[i].process];

		if (!range->count++)
			range->first = (uint32_t)i;
	}
}

/* Returns the position of the first address not below `addr`. */
static size_t find_addr(const struct code_versions *v, uint64_t addr)
{
	return vec_count_front(&v->addrs, it, *it < addr);
}

static uint64_t slot_hash(process_id process, uint32_t addr)
{
	return hash_u64((uint64_t)process << 32 | addr);
}

static bool slot_equal(const void *table, uint32_t id, const void *key)
{
	const struct code_slot *row = &((const struct code_versions *)table)->slots.items[id];
	const struct code_slot *wanted = key;

	return row->process == wanted->process && row->addr == wanted->addr;
}

static uint32_t find_slot(const struct code_versions *v, process_id process, uint32_t addr)
{
	struct code_slot key = {.process = process, .addr = addr};

	return index_find(&v->by_place, slot_hash(process, addr), slot_equal, v, &key);
}

static void add_version(struct code_versions *v, process_id process, uint32_t addr, uint32_t entry)
{
	uint32_t slot = find_slot(v, process, addr);

	if (slot == INDEX_NONE) {
		slot = (uint32_t)v->slots.count;
		vec_push(&v->slots, (struct code_slot){process, addr, NO_CODE});
		index_add(&v->by_place, slot_hash(process, addr), slot);
	}
	vec_push(&v->rows, (struct code_version){entry, v->slots.items[slot].latest});
	v->slots.items[slot].latest = (uint32_t)v->rows.count - 1;
}

static void add_entry(struct code_versions *v, uint32_t entry)
{
	const struct code_entry *row = &v->table->rows.items[entry];
	size_t at = find_addr(v, row->start);

	for (; at < v->addrs.count && v->addrs.items[at] < row->end; at++) {
		if (v->rows.count == VERSIONS_MAX) {
			v->is_cut = true;
			return;
		}
		add_version(v, row->process, (uint32_t)at, entry);
	}
}

static bool covers_any(const struct code_versions *v, const struct code_entry *row)
{
	size_t at = find_addr(v, row->start);

	return at < v->addrs.count && v->addrs.items[at] < row->end;
}

void code_versions_init(struct code_versions *v, struct code_table *table,
			const struct process_table *processes, const uint64_t *addrs, size_t count)
{
	VEC(struct order) orders = {0};

	*v = (struct code_versions){.table = table, .processes = processes};
	sort_addrs(v, addrs, count);
	sort_execs(v, table);
	/* Most code is never sampled. */
	for (size_t i = 0; i < table->rows.count; i++) {
		if (covers_any(v, &table->rows.items[i]))
			vec_push(&orders, (struct order){table->rows.items[i].since, (uint32_t)i});
	}
	if (orders.count)
		vec_sort(&orders, compare_orders);
	for (size_t i = 0; i < orders.count && !v->is_cut; i++)
		add_entry(v, orders.items[i].row);
	if (v->is_cut)
		log_debug("maps of code overlap too often: some of it has no name");
	vec_release(&orders);
}

void code_versions_release(struct code_versions *v)
{
	vec_release(&v->addrs);
	vec_release(&v->rows);
	vec_release(&v->slots);
	index_release(&v->by_place);
	free(v->execs);
}

static void narrow(struct rebind_span *span, uint64_t from, uint64_t to)
{
	if (span->from < from)
		span->from = from;
	if (span->to > to)
		span->to = to;
}

/*
 * Returns the span of the program that ran at this time: from its exec, or 0 for the first one, to
 * the next exec.
 */
static struct rebind_span find_program(const struct code_versions *v, process_id process,
				       uint64_t time)
{
	const struct code_range *range = &v->execs[process];
	struct rebind_span program = {0, UINT64_MAX};
	size_t low = count_front(&v->table->execs.items[range->first], range->count, it,
				 it->time <= time);

	if (low)
		program.from = v->table->execs.items[range->first + low - 1].time;
	if (low < range->count)
		program.to = v->table->execs.items[range->first + low].time;
	return program;
}

/* Searches the entries of the process's own program at this time; narrows *span. */
static uint32_t find_own(const struct code_versions *v, process_id process, uint64_t addr,
			 uint64_t time, struct rebind_span *span)
{
	size_t at = find_addr(v, addr);
	uint32_t version = NO_CODE, slot, deferred = NO_CODE;
	struct rebind_span program = *span;

	if (at == v->addrs.count || v->addrs.items[at] != addr)
		return NO_CODE;
	slot = find_slot(v, process, (uint32_t)at);
	if (slot != INDEX_NONE)
		version = v->slots.items[slot].latest;
	for (; version != NO_CODE; version = v->rows.items[version].before) {
		uint32_t entry = v->rows.items[version].entry;
		const struct code_entry *row = &v->table->rows.items[entry];

		if (row->since >= program.to)
			continue;
		if (row->since < program.from)
			break;
		if (row->since <= time) {
			narrow(span, row->since, UINT64_MAX);
			return entry;
		}
		narrow(span, 0, row->since);
		deferred = row->is_exact ? NO_CODE : entry;
	}
	return deferred;
}

uint32_t code_versions_find(const struct code_versions *v, process_id process, uint64_t addr,
			    uint64_t time, struct rebind_span *span)
{
	*span = (struct rebind_span){0, UINT64_MAX};
	for (unsigned int i = 0; i < ANCESTORS_MAX; i++) {
		const struct process *row = &v->processes->rows.items[process];
		struct rebind_span own = find_program(v, process, time);
		bool is_first_program = !own.from;
		uint32_t entry = find_own(v, process, addr, time, &own);

		/*
		 * The parent's code at the fork is fixed: only the process's own programs limit the
		 * span.
		 */
		if (!i)
			*span = own;
		if (entry != NO_CODE || !is_first_program || row->parent == NO_PROCESS)
			return entry;
		time = row->start;
		process = row->parent;
	}
	return NO_CODE;
}
