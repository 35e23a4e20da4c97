/* SPDX-License-Identifier: MIT */
#include "symbolize/elf/near_symbols.h"

/* Sets shift and grid for rows that are in order. */
static void draw_grid(struct near_addresses *a)
{
	uint64_t last = a->rows.count ? vec_last(&a->rows) : 0;

	while (last >> a->shift >= NEAR_SYMBOLS_GRID)
		a->shift++;
	vec_for_each(&a->rows, const uint64_t *, row) {
		uint64_t cell = *row >> a->shift;

		a->grid[cell / 64] |= 1ull << cell % 64;
	}
}

static bool is_cell_empty(const struct near_addresses *a, uint64_t address)
{
	uint64_t cell = address >> a->shift;

	return cell >= NEAR_SYMBOLS_GRID || !(a->grid[cell / 64] >> cell % 64 & 1);
}

/* Is one of the addresses in the range, which is not empty? */
static bool is_met(const struct near_addresses *a, uint64_t start, uint64_t end)
{
	size_t before;

	if ((end - 1) >> a->shift <= (start >> a->shift) + 1 && is_cell_empty(a, start) &&
	    is_cell_empty(a, end - 1))
		return false;
	before = vec_count_front(&a->rows, it, *it < start);
	return before < a->rows.count && a->rows.items[before] < end;
}

void near_symbols_begin(struct near_symbols *n, const uint64_t *rvas, size_t count)
{
	vec_reserve(&n->wanted.rows, count);
	for (size_t i = 0; i < count; i++)
		vec_push(&n->wanted.rows, rvas[i]);
	draw_grid(&n->wanted);
}

bool near_symbols_mark(void *ctx, const struct binary_symbol *symbol)
{
	struct near_symbols *n = ctx;
	uint64_t rva = symbol->vaddr - n->first_vaddr;
	uint64_t end = (symbol->size ? symbol->vaddr + symbol->size : symbol->limit) -
		       n->first_vaddr;

	if (symbol->vaddr < n->first_vaddr || !is_met(&n->wanted, rva, end))
		return false;
	if (symbol->size)
		vec_push(&n->places.rows, rva);
	return !symbol->size && n->label_count++ < NEAR_SYMBOLS_LABELS;
}

void near_symbols_seal(struct near_symbols *n)
{
	vec_sort(&n->places.rows, u64_compare);
	draw_grid(&n->places);
}

bool near_symbols_wants(void *ctx, const struct binary_symbol *symbol)
{
	const struct near_symbols *n = ctx;
	uint64_t rva = symbol->vaddr - n->first_vaddr;

	return symbol->vaddr >= n->first_vaddr && is_met(&n->places, rva, rva + 1);
}

bool near_symbols_has(const struct near_symbols *n, uint64_t rva)
{
	return is_met(&n->wanted, rva, rva + 1);
}

void near_symbols_release(struct near_symbols *n)
{
	vec_release(&n->wanted.rows);
	vec_release(&n->places.rows);
}
