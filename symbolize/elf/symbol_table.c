/* SPDX-License-Identifier: MIT */
#include "symbolize/elf/symbol_table.h"

#include <pthread.h>

#include "lib/code/binary/objects.h"
#include "lib/code/binary/segments.h"
#include "lib/code/unwind/arch.h"

/*
 * Selects the symbols that decide the names of some addresses, from tables that may have a million
 * rows. An address within symbols of known size is named by them and their aliases. Any other
 * address may be named by a label without a size between it and the last such symbol before it, as
 * far as to the next symbol. Other symbols are irrelevant.
 *
 * Tables are read twice: near_symbols_mark() finds the places, near_symbols_wants() selects all
 * symbols there. Both are members of a struct binary_symbol_filter, with this struct as context.
 */

#define NEAR_SYMBOLS_GRID 4096

/* Addresses in order, and for each cell of a grid over them the first one at or after its start. */
struct near_addresses {
	VEC(uint64_t) rows;
	unsigned int shift; /* shift from an address to its cell */
	uint32_t first[NEAR_SYMBOLS_GRID];
};

/* Surroundings of an address outside of symbols of known size. */
struct near_gap {
	uint64_t before; /* 1 + start of the last sized symbol before it; 0: none */
	uint64_t covered; /* largest end of such symbols */
	uint64_t after; /* start of the next symbol; UINT64_MAX: none */
};

/* Zeroed at first. */
struct near_symbols {
	struct near_addresses wanted, places; /* RVAs of addresses and of symbols */
	struct near_gap *gaps; /* by wanted address */
	/* Set by the caller: RVAs of the file being read are relative to it. */
	uint64_t first_vaddr;
	size_t label_count;
};

/* Maximum number of labels to mark. */
#define NEAR_SYMBOLS_LABELS 1024

/* Sets shift and cells for sorted rows. */
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

/* Returns the index of the first address at or after this one. */
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

/* Sorts the wanted addresses, once the caller has added all of them to wanted.rows. */
static void near_symbols_begin(struct near_symbols *n)
{
	vec_sort(&n->wanted.rows, u64_compare);
	n->gaps = xcalloc(n->wanted.rows.count + 1, sizeof(*n->gaps));
	for (size_t i = 0; i < n->wanted.rows.count; i++)
		n->gaps[i].after = UINT64_MAX;
	draw_grid(&n->wanted);
}

/* True for a label without a size that may name a wanted address after it. */
static bool near_symbols_mark(void *ctx, const struct binary_symbol *symbol)
{
	struct near_symbols *n = ctx;
	uint64_t rva = symbol->vaddr - n->first_vaddr, end;
	size_t row = first_from(&n->wanted, rva);

	if (symbol->vaddr < n->first_vaddr)
		return false;
	if (row && rva < n->gaps[row - 1].after)
		n->gaps[row - 1].after = rva;
	if (row == n->wanted.rows.count)
		return false;
	end = (symbol->size ? symbol->vaddr + symbol->size : symbol->limit) - n->first_vaddr;
	if (symbol->size && n->gaps[row].before <= rva)
		n->gaps[row].before = rva + 1;
	if (symbol->size && n->gaps[row].covered < end)
		n->gaps[row].covered = end;
	if (n->wanted.rows.items[row] >= end)
		return false;
	if (symbol->size)
		vec_push(&n->places.rows, rva);
	return !symbol->size && n->label_count++ < NEAR_SYMBOLS_LABELS;
}

/* Call between the two passes, with the labels that the first one has found. */
static void near_symbols_seal(struct near_symbols *n, const struct binary_symbols *labels)
{
	struct near_gap last = {.after = UINT64_MAX};
	size_t count = n->wanted.rows.count;

	for (struct near_gap *gap = n->gaps; gap < n->gaps + count; gap++) {
		if (gap->before > last.before)
			vec_push(&n->places.rows, gap->before - 1);
		gap->before = last.before = MAX(gap->before, last.before);
		gap->covered = last.covered = MAX(gap->covered, last.covered);
	}
	for (size_t i = count; i--;)
		n->gaps[i].after = last.after = MIN(n->gaps[i].after, last.after);
	vec_for_each(&labels->rows, const struct binary_symbol *, label) {
		const struct near_gap *gap = &n->gaps[first_from(&n->wanted, label->vaddr)];

		if (label->vaddr < gap->before)
			continue;
		vec_push(&n->places.rows, label->vaddr);
		if (gap->after != UINT64_MAX)
			vec_push(&n->places.rows, gap->after);
	}
	vec_sort(&n->places.rows, u64_compare);
	draw_grid(&n->places);
}

static bool near_symbols_wants(void *ctx, const struct binary_symbol *symbol)
{
	const struct near_symbols *n = ctx;
	uint64_t rva = symbol->vaddr - n->first_vaddr;

	return symbol->vaddr >= n->first_vaddr && has(&n->places, rva);
}

/* True for a wanted address. */
static bool near_symbols_has(const struct near_symbols *n, uint64_t rva)
{
	return has(&n->wanted, rva);
}

static void near_symbols_release(struct near_symbols *n)
{
	vec_release(&n->wanted.rows);
	vec_release(&n->places.rows);
	free(n->gaps);
	*n = (struct near_symbols){0};
}

/* Number of bytes of a name that count when two symbols of one place are compared. */
#define COMPARED_NAME 256
/* Maximum size of a function whose end is unknown and that has labels in it. */
#define INNER_LABEL_REACH 0x10000
/*
 * Above this number of addresses all symbols are read at once, because a selection takes two
 * passes.
 */
#define WANTED_MAX 60000

struct sorted_symbols {
	struct binary_symbols symbols; /* as RVAs, sorted, one symbol per address */
	struct segments segments; /* address ranges of symbols */
};

struct symbol_table {
	struct binary *binary; /* NULL: file not available */
	struct binary *separate; /* separate file with the stripped symbols; NULL: none */
	struct near_symbols wanted; /* addresses to name */
	struct sorted_symbols near; /* symbols that decide the names of `wanted` */
	uint64_t stubs_start, stubs_end; /* vaddr range that contains all stubs */
	pthread_mutex_t lock; /* guards the members below until they have been read */
	bool has_all; /* accessed atomically */
	struct sorted_symbols all; /* all symbols, read on first use */
	bool has_stubs;
	struct binary_stubs stubs; /* read on first use */
};

DEFINE_CLEANUP(struct symbol_table *, symbol_table_free)

static size_t leading_underscores(const char *name)
{
	size_t count = 0;

	while (count < COMPARED_NAME && name[count] == '_')
		count++;
	return count;
}

/*
 * Compares how well two symbols of one place name it. Prefers a real function of known size; a
 * public name; an undecorated name (malloc, not __libc_malloc); among glibc's functions, whose
 * standard names are weak except those of the oldest standards, the strong one (lgamma, not gamma);
 * and the shorter one, as newer names append to older ones (open64, exp10f32x).
 */
static int compare_worth(const struct binary_symbol *x, const struct binary_symbol *y)
{
	size_t x_plain, y_plain, x_size, y_size;

	if (x->is_func != y->is_func)
		return x->is_func ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	if ((x->binding == BINARY_LOCAL) != (y->binding == BINARY_LOCAL))
		return x->binding != BINARY_LOCAL ? -1 : 1;
	x_plain = leading_underscores(x->name);
	y_plain = leading_underscores(y->name);
	if (x_plain != y_plain)
		return x_plain < y_plain ? -1 : 1;
	if (x->binding != y->binding)
		return x->binding == BINARY_GLOBAL ? -1 : 1;
	x_size = strnlen(x->name, COMPARED_NAME);
	y_size = strnlen(y->name, COMPARED_NAME);
	if (x_size != y_size)
		return x_size < y_size ? -1 : 1;
	return strncmp(x->name, y->name, COMPARED_NAME);
}

/*
 * Collects the symbols of one file as RVAs; drops those before the first segment, which have none.
 */
static void collect(const struct binary *b, const struct binary_symbol_filter *filter,
		    struct binary_symbols *symbols)
{
	uint64_t first_vaddr = binary_first_vaddr(b);
	size_t first = symbols->rows.count, kept = first;

	binary_add_symbols(b, filter, symbols);
	for (size_t i = first; i < symbols->rows.count; i++) {
		struct binary_symbol symbol = symbols->rows.items[i];

		if (symbol.vaddr < first_vaddr)
			continue;
		symbol.vaddr -= first_vaddr;
		symbol.limit -= first_vaddr;
		symbols->rows.items[kept++] = symbol;
	}
	symbols->rows.count = kept;
}

/*
 * Chooses the best symbol of a place. A missing size is taken from the next best one that has a
 * size.
 */
static struct binary_symbol choose(const struct binary_symbols *symbols,
				   const struct radix_row *order, size_t count)
{
	const struct binary_symbol *rows = symbols->rows.items, *best = &rows[order[0].value];
	const struct binary_symbol *sized = best->size ? best : NULL;
	uint64_t limit = best->limit;
	struct binary_symbol chosen;

	for (size_t i = 1; i < count; i++) {
		const struct binary_symbol *other = &rows[order[i].value];

		if (compare_worth(other, best) < 0)
			best = other;
		limit = MAX(limit, other->limit);
		if (other->size && (!sized || compare_worth(other, sized) < 0))
			sized = other;
	}
	chosen = *best;
	chosen.limit = limit;
	if (!chosen.size && sized)
		chosen.size = sized->size;
	return chosen;
}

/* Sorts the symbols and keeps one per place. */
static void sort(struct binary_symbols *symbols)
{
	struct binary_symbols sorted = {0};
	size_t count = symbols->rows.count;
	_cleanup_free_ struct radix_row *order = xmalloc((count + 1) * sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = (struct radix_row){symbols->rows.items[i].vaddr, (uint32_t)i};
	radix_sort(order, count);
	vec_reserve(&sorted.rows, count);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && order[next].key == order[i].key;)
			next++;
		vec_push(&sorted.rows, choose(symbols, order + i, next - i));
	}
	vec_release(&symbols->rows);
	*symbols = sorted;
}

/*
 * Assemblers keep the labels of loops and branches as local symbols without a type. True for one
 * that follows a function without a size closely enough to be in it.
 */
static bool is_inner_label(const struct binary_symbol *symbol, const struct binary_symbol *before)
{
	return symbol->binding == BINARY_LOCAL && !symbol->is_func && before->is_func &&
	       !before->size && symbol->vaddr < before->limit &&
	       symbol->vaddr - before->vaddr < INNER_LABEL_REACH;
}

/*
 * Drops labels without a size inside functions; extends other symbols without a size to the next
 * one. Symbols are sorted and without aliases.
 */
static void settle_sizes(struct binary_symbols *symbols)
{
	struct binary_symbol *rows = symbols->rows.items;
	uint64_t covered = 0;
	size_t kept = 0;

	for (size_t i = 0; i < symbols->rows.count; i++) {
		if (!rows[i].size && (rows[i].vaddr < covered ||
				      (kept && is_inner_label(&rows[i], &rows[kept - 1]))))
			continue;
		if (rows[i].size && rows[i].vaddr + rows[i].size > covered)
			covered = rows[i].vaddr + rows[i].size;
		rows[kept++] = rows[i];
	}
	symbols->rows.count = kept;
	for (size_t i = 0; i < kept; i++) {
		uint64_t end = rows[i].limit;

		if (rows[i].size)
			continue;
		rows[i].is_reach_guessed = true;
		if (i + 1 < kept && rows[i + 1].vaddr < end)
			end = rows[i + 1].vaddr;
		rows[i].size = end - rows[i].vaddr;
	}
}

static void build_segments(struct sorted_symbols *s)
{
	struct segments_builder builder = {.out = &s->segments};

	/* Padding follows most functions, and needs a segment of its own. */
	vec_reserve(&s->segments.rows, 2 * s->symbols.rows.count);
	for (size_t i = 0; i < s->symbols.rows.count; i++) {
		const struct binary_symbol *symbol = &s->symbols.rows.items[i];

		segments_builder_add(&builder, &(struct interval){
						       .start = symbol->vaddr,
						       .end = symbol->vaddr + symbol->size,
						       .id = (uint32_t)i,
					       });
	}
	segments_builder_finish(&builder);
}

static void put_in_order(struct sorted_symbols *s)
{
	sort(&s->symbols);
	settle_sizes(&s->symbols);
	build_segments(s);
}

static const struct binary_symbol *find(const struct sorted_symbols *s, uint64_t rva)
{
	uint32_t id = segments_find(&s->segments, rva);

	return id == NO_SEGMENT ? NULL : &s->symbols.rows.items[id];
}

static void release_symbols(struct sorted_symbols *s)
{
	segments_release(&s->segments);
	vec_release(&s->symbols.rows);
}

static void collect_wanted(struct symbol_table *t,
			   bool (*wants)(void *, const struct binary_symbol *),
			   struct binary_symbols *symbols)
{
	const struct binary_symbol_filter filter = {wants, &t->wanted};
	const struct binary *const files[] = {t->binary, t->separate};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (!files[i])
			continue;
		t->wanted.first_vaddr = binary_first_vaddr(files[i]);
		collect(files[i], &filter, symbols);
	}
}

/* True if a symbol begins at the address. */
static bool begins(const struct binary_symbols *sorted, uint64_t rva)
{
	size_t row = vec_count_front(&sorted->rows, it, it->vaddr < rva);

	return row < sorted->rows.count && sorted->rows.items[row].vaddr == rva;
}

static bool is_reached(uint64_t rva, uint64_t from, const struct binary_symbols *labels)
{
	return vec_find(&labels->rows, label,
			from <= label->vaddr && label->vaddr <= rva && rva < label->limit);
}

/* True if the label names the address, and everything is known that could end it. */
static bool is_decided_label(const struct symbol_table *t, const struct binary_symbol *label,
			     const struct near_gap *gap)
{
	return label->vaddr >= gap->before && label->vaddr >= gap->covered &&
	       (gap->after == UINT64_MAX || begins(&t->near.symbols, gap->after));
}

/* True if the selected symbols decide the names of all wanted addresses. */
static bool is_decided(const struct symbol_table *t, const struct binary_symbols *labels)
{
	const struct near_symbols *n = &t->wanted;

	for (size_t i = 0; i < n->wanted.rows.count; i++) {
		uint64_t rva = n->wanted.rows.items[i], before = n->gaps[i].before;
		const struct binary_symbol *symbol = find(&t->near, rva);

		if (symbol && !symbol->is_reach_guessed)
			continue;
		/* A symbol without a name does not end the reach of a label. */
		if (before && !begins(&t->near.symbols, before - 1))
			return false;
		if (symbol ? !is_decided_label(t, symbol, &n->gaps[i])
			   : is_reached(rva, before, labels))
			return false;
	}
	return t->near.symbols.rows.count && n->label_count <= NEAR_SYMBOLS_LABELS;
}

/* Returns true if there are any stubs. */
static bool find_stubs(struct symbol_table *t)
{
	pthread_mutex_lock(&t->lock);
	if (!t->has_stubs && t->binary)
		binary_find_stubs(t->binary, &t->stubs);
	t->has_stubs = true;
	pthread_mutex_unlock(&t->lock);
	return t->stubs.rows.count;
}

uint64_t symbol_table_first_vaddr(const struct symbol_table *t)
{
	return t->binary ? binary_first_vaddr(t->binary) : 0;
}

const struct binary_stub *symbol_table_find_stub(struct symbol_table *t, uint64_t rva)
{
	uint64_t vaddr = rva + symbol_table_first_vaddr(t);
	struct binary_stub *stub;
	bool is_named;
	size_t low;

	/*
	 * Finding stubs requires reading relocations, which is not worthwhile for an address
	 * between two functions.
	 */
	if (vaddr < t->stubs_start || vaddr >= t->stubs_end || !find_stubs(t))
		return NULL;
	low = vec_count_front(&t->stubs.rows, it, it->vaddr <= vaddr);
	stub = low ? &t->stubs.rows.items[low - 1] : NULL;
	if (!stub || vaddr - stub->vaddr >= stub->size)
		return NULL;
	pthread_mutex_lock(&t->lock);
	is_named = binary_name_stub(t->binary, stub);
	pthread_mutex_unlock(&t->lock);
	return is_named ? stub : NULL;
}

/*
 * Adds the address, the function that may begin after it, and the target of a stub there, which may
 * have no other name.
 */
static void want(struct symbol_table *t, uint64_t rva)
{
	const struct binary_stub *stub = symbol_table_find_stub(t, rva);
	uint64_t first_vaddr = symbol_table_first_vaddr(t);

	vec_push(&t->wanted.wanted.rows, rva);
	if (symbol_table_is_before_function(rva))
		vec_push(&t->wanted.wanted.rows, rva + 1);
	if (stub && !stub->name && stub->target >= first_vaddr)
		vec_push(&t->wanted.wanted.rows, stub->target - first_vaddr);
}

static void read_near(struct symbol_table *t, const uint64_t *rvas, size_t count)
{
	struct binary_symbols labels = {0};

	for (size_t i = 0; i < count; i++)
		want(t, rvas[i]);
	near_symbols_begin(&t->wanted);
	collect_wanted(t, near_symbols_mark, &labels);
	near_symbols_seal(&t->wanted, &labels);
	collect_wanted(t, near_symbols_wants, &t->near.symbols);
	put_in_order(&t->near);
	if (!is_decided(t, &labels)) {
		near_symbols_release(&t->wanted);
		release_symbols(&t->near);
	}
	vec_release(&labels.rows);
}

/* Runs once, with the lock held unless nobody else has the table. */
static void read_all(struct symbol_table *t)
{
	if (t->binary)
		collect(t->binary, NULL, &t->all.symbols);
	if (t->separate)
		collect(t->separate, NULL, &t->all.symbols);
	put_in_order(&t->all);
	__atomic_store_n(&t->has_all, true, __ATOMIC_RELEASE);
}

static const struct sorted_symbols *need_all(struct symbol_table *t)
{
	if (!__atomic_load_n(&t->has_all, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&t->lock);
		if (!t->has_all)
			read_all(t);
		pthread_mutex_unlock(&t->lock);
	}
	return &t->all;
}

int symbol_table_new(struct symbol_table **out, const struct symbol_table_input *input,
		     struct error *err)
{
	_cleanup_(symbol_table_free) struct symbol_table *t = xcalloc(1, sizeof(*t));
	int ret = -ENOENT;

	pthread_mutex_init(&t->lock, NULL);
	if (input->own >= 0)
		ret = binary_open(&t->binary, input->own, err);
	if (t->binary)
		binary_stub_extent(t->binary, &t->stubs_start, &t->stubs_end);
	if (input->separate >= 0)
		binary_open(&t->separate, input->separate, NULL);
	if (input->rva_count && input->rva_count <= WANTED_MAX)
		read_near(t, input->rvas, input->rva_count);
	if (!t->near.symbols.rows.count)
		read_all(t);
	/* Static programs have stubs, too, for functions chosen at run time. */
	if (!t->near.symbols.rows.count && !t->all.symbols.rows.count && !find_stubs(t))
		return ret && ret != -ENOENT ? ret : error_text(err, -ENOENT, "no symbols");
	*out = steal(t);
	return 0;
}

void symbol_table_free(struct symbol_table *t)
{
	if (!t)
		return;
	near_symbols_release(&t->wanted);
	release_symbols(&t->near);
	release_symbols(&t->all);
	vec_release(&t->stubs.rows);
	pthread_mutex_destroy(&t->lock);
	binary_free(t->separate);
	binary_free(t->binary);
	free(t);
}

const struct binary_symbol *symbol_table_find(struct symbol_table *t, uint64_t rva)
{
	return find(near_symbols_has(&t->wanted, rva) ? &t->near : need_all(t), rva);
}

/* Maximum instructions read of a symbol whose size is unknown. */
#define CODE_MAX 4096

uint64_t symbol_table_code_size(struct symbol_table *t, const struct binary_symbol *symbol)
{
	const struct unwind_arch *arch;
	uint8_t bytes[CODE_MAX];
	struct stub_code code = {.code = bytes, .size = sizeof(bytes), .vaddr = symbol->vaddr};
	bool is_read;

	if (!symbol->is_reach_guessed || !symbol->is_dynamic || !t->binary)
		return symbol->size;
	arch = unwind_arch_find(binary_machine(t->binary));
	code.size = MIN(code.size, symbol->size);
	if (!arch || !arch->function_size)
		return symbol->size;
	pthread_mutex_lock(&t->lock);
	is_read = binary_read_text(t->binary, symbol->vaddr + binary_first_vaddr(t->binary), bytes,
				   code.size);
	pthread_mutex_unlock(&t->lock);
	return is_read ? arch->function_size(&code) : symbol->size;
}

void shared_fdes_init(struct shared_fdes *s, int fd)
{
	*s = (struct shared_fdes){.fd = fd};
	pthread_mutex_init(&s->lock, NULL);
}

void shared_fdes_release(struct shared_fdes *s)
{
	fde_ranges_free(s->ranges);
	pthread_mutex_destroy(&s->lock);
}

/* Call with the lock held. */
static void read_once(struct shared_fdes *s)
{
	struct error err = {0};

	if (s->was_read)
		return;
	s->was_read = true;
	if (s->fd >= 0 && fde_ranges_new(&s->ranges, s->fd, &err) != 0)
		log_debug("functions without a name: %s", err.text);
}

bool shared_fdes_find(struct shared_fdes *s, uint64_t rva, struct fde_range *range)
{
	bool is_found;

	*range = (struct fde_range){0};
	pthread_mutex_lock(&s->lock);
	read_once(s);
	is_found = s->ranges && fde_ranges_find(s->ranges, rva, range);
	pthread_mutex_unlock(&s->lock);
	return is_found;
}
