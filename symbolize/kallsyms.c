/* SPDX-License-Identifier: MIT */
#include "symbolize/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "symbolize/symbolizer.h"

/* Ten times what kernels with everything built in have. */
#define MAX_TEXT ((size_t)128 << 20)
/* No function is that large: what lies further off belongs to code that has no symbol. */
#define MAX_FUNC_SIZE ((uint64_t)1 << 20)

struct row {
	uint64_t addr;
	uint32_t name; /* in text */
	uint16_t length;
	uint8_t rank; /* of names for one address the lowest is the best */
	bool is_code; /* data symbols only end the function in front of them */
};

struct kallsyms {
	char *text;
	VEC(struct row) rows; /* by address, one each */
};

DEFINE_CLEANUP(struct kallsyms *, kallsyms_free)

/* Names of places and not of functions, or of one that has a better known name. */
static bool is_second_choice(const char *name)
{
	return text_starts_with(name, "__pfx_") || text_starts_with(name, "__pi_") ||
	       text_starts_with(name, "__ia32_") || text_ends_with(name, "_start") ||
	       text_ends_with(name, "_begin") || text_ends_with(name, "_end");
}

static uint8_t name_rank(char type, const char *name, bool is_code)
{
	bool is_local = type == 't' || type == 'i';
	size_t underscores = strspn(name, "_");

	if (underscores > 31)
		underscores = 31;
	return (uint8_t)(!is_code << 7 | is_second_choice(name) << 6 | is_local << 5 | underscores);
}

/* "ffffffff81000000 T _text" or "ffffffffc0000000 t name\t[module]", terminated in place. */
static void parse_line(struct kallsyms *k, char *line, char *end)
{
	const char *at = line;
	struct row row = {0};
	char type, *name, *name_end;
	size_t length;

	if (!text_scan_hex(&at, end, &row.addr) || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return;
	type = at[1];
	name = line + (at + 3 - line);
	name_end = memchr(name, '\t', (size_t)(end - name));
	if (!name_end)
		name_end = end;
	*name_end = '\0';
	length = strlen(name);
	if (!length)
		return;
	row.is_code = strchr("tTwWi", type) && type;
	row.name = (uint32_t)(name - k->text);
	row.length = length < UINT16_MAX ? (uint16_t)length : UINT16_MAX;
	row.rank = name_rank(type, name, row.is_code);
	vec_push(&k->rows, row);
}

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->length != y->length)
		return x->length > y->length ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void sort_and_drop_aliases(struct kallsyms *k)
{
	struct row *rows = k->rows.items;
	size_t kept = 0;

	qsort(rows, k->rows.count, sizeof(*rows), compare);
	for (size_t i = 0; i < k->rows.count; i++) {
		if (!kept || rows[kept - 1].addr != rows[i].addr)
			rows[kept++] = rows[i];
	}
	k->rows.count = kept;
}

int kallsyms_parse(struct kallsyms **out, char *text, size_t size, struct error *err)
{
	_cleanup_(kallsyms_free) struct kallsyms *k = xcalloc(1, sizeof(*k));
	char *end = text + size;

	k->text = text;
	for (char *line = text; line < end;) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		/* What is cut off at the end of the text is no whole name. */
		if (!line_end)
			break;
		parse_line(k, line, line_end);
		line = line_end + 1;
	}
	if (k->rows.count)
		sort_and_drop_aliases(k);
	if (!k->rows.count || vec_last(&k->rows).addr == 0)
		return error_text(err, -ENOENT, "the kernel hides its symbols' addresses");
	*out = steal(k);
	return 0;
}

int kallsyms_read(struct kallsyms **out, int fd, struct error *err)
{
	/* The kernel's list, which has no size that could be asked for, is 5 to 10 MB. */
	size_t used = 0, capacity = (size_t)4 << 20;
	_cleanup_free_ char *text = xmalloc(capacity);

	while (used < MAX_TEXT) {
		ssize_t n;

		if (used == capacity)
			text = xrealloc(text, capacity *= 2);
		n = pread(fd, text + used, capacity - used, (off_t)used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, -errno, "read kernel symbols");
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return kallsyms_parse(out, steal(text), used, err);
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	vec_release(&k->rows);
	free(k->text);
	free(k);
}

bool kallsyms_find(const struct kallsyms *k, uint64_t addr, struct kernel_symbol *symbol)
{
	const struct row *rows = k->rows.items, *row;
	size_t low = 0, high = k->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return false;
	row = &rows[low - 1];
	if (!row->is_code || addr - row->addr >= MAX_FUNC_SIZE)
		return false;
	*symbol = (struct kernel_symbol){.start = row->addr, .name = k->text + row->name};
	if (low < k->rows.count && row[1].addr - row->addr < MAX_FUNC_SIZE)
		symbol->size = row[1].addr - row->addr;
	return true;
}

struct kernel_namer {
	struct symbolizer base;
	const struct kallsyms *table;
	uint64_t load_addr;
};

static int namer_open(struct symbolizer **out, const struct symbolizer_input *input,
		      struct error *err)
{
	struct kernel_namer *n;

	if (!input->kallsyms)
		return error_text(err, -ENOENT, "no kernel symbols");
	n = xcalloc(1, sizeof(*n));
	n->base.ops = &symbolizer_kallsyms;
	n->table = input->kallsyms;
	n->load_addr = input->module ? input->module->base : 0;
	*out = &n->base;
	return 0;
}

static void namer_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			 struct answer *answers)
{
	const struct kernel_namer *n = (const struct kernel_namer *)base;

	for (size_t i = 0; i < count; i++) {
		struct kernel_symbol symbol;

		/* A symbol in front of the module is another module's. */
		if (answers[i].func || !kallsyms_find(n->table, n->load_addr + rvas[i], &symbol) ||
		    symbol.start < n->load_addr)
			continue;
		answers[i].func = symbol.name;
		answers[i].func_start = symbol.start - n->load_addr;
		answers[i].func_size = symbol.size;
	}
}

static void namer_free(struct symbolizer *base)
{
	free(base);
}

const struct symbolizer_ops symbolizer_kallsyms = {
	.name = "kallsyms",
	.open = namer_open,
	.lookup = namer_lookup,
	.free = namer_free,
};
