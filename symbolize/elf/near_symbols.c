/* SPDX-License-Identifier: MIT */
#include "symbolize/elf/near_symbols.h"

/* Sets shift and cells for rows that are in order. */
static void draw_grid(struct near_addresses *a)
{
	uint64_t last = a->rows.count ? vec_last(&a->rows) : 0;
	uint32_t row = 0;

	while (last >> a->shift >= NEAR_SYMBOLS_GRID)
		a->shift++;
	for (uint64_t cell = 0; cell < NEAR_SYMBOLS_GRID; cell++) {
		while (row < a->rows.count && a->rows.items[row] >> a->shift < cell)
			row++;
		a->first[cell] = row;
	}
}

/* Returns the number of the first address that is not before this one. */
static size_t first_from(const struct near_addresses *a, uint64_t address)
{
	uint64_t cell = address >> a->shift;
	size_t first, end;

	if (cell >= NEAR_SYMBOLS_GRID)
		return a->rows.count;
	first = a->first[cell];
	end = cell + 1 < NEAR_SYMBOLS_GRID ? a->first[cell + 1] : a->rows.count;
	return first + count_front(a->rows.items + first, end - first, it, *it < address);
}

static bool has(const struct near_addresses *a, uint64_t address)
{
	size_t row = first_from(a, address);

	return row < a->rows.count && a->rows.items[row] == address;
}

void near_symbols_begin(struct near_symbols *n)
{
	vec_sort(&n->wanted.rows, u64_compare);
	vec_add_zeroed(&n->before, n->wanted.rows.count);
	draw_grid(&n->wanted);
}

bool near_symbols_mark(void *ctx, const struct binary_symbol *symbol)
{
	struct near_symbols *n = ctx;
	uint64_t rva = symbol->vaddr - n->first_vaddr, end;
	size_t row = first_from(&n->wanted, rva);

	if (symbol->vaddr < n->first_vaddr || row == n->wanted.rows.count)
		return false;
	end = (symbol->size ? symbol->vaddr + symbol->size : symbol->limit) - n->first_vaddr;
	if (symbol->size && n->before.items[row] <= rva)
		n->before.items[row] = rva + 1;
	if (n->wanted.rows.items[row] >= end)
		return false;
	if (symbol->size)
		vec_push(&n->places.rows, rva);
	return !symbol->size && n->label_count++ < NEAR_SYMBOLS_LABELS;
}

void near_symbols_seal(struct near_symbols *n)
{
	uint64_t last = 0;

	vec_for_each(&n->before, uint64_t *, before) {
		if (*before > last)
			vec_push(&n->places.rows, *before - 1);
		if (*before < last)
			*before = last;
		last = *before;
	}
	vec_sort(&n->places.rows, u64_compare);
	draw_grid(&n->places);
}

bool near_symbols_wants(void *ctx, const struct binary_symbol *symbol)
{
	const struct near_symbols *n = ctx;
	uint64_t rva = symbol->vaddr - n->first_vaddr;

	return symbol->vaddr >= n->first_vaddr && has(&n->places, rva);
}

bool near_symbols_has(const struct near_symbols *n, uint64_t rva)
{
	return has(&n->wanted, rva);
}

void near_symbols_release(struct near_symbols *n)
{
	vec_release(&n->wanted.rows);
	vec_release(&n->places.rows);
	vec_release(&n->before);
	*n = (struct near_symbols){0};
}
