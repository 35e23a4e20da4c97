/* SPDX-License-Identifier: MIT */
#include "lib/stream/process/mapping.h"

const char *cgroup_container_id(const char *path, size_t size)
{
	const char *found = NULL;
	size_t digits = 0;

	for (size_t i = 0; i < size; i++) {
		digits = isxdigit((unsigned char)path[i]) ? digits + 1 : 0;
		if (digits == CONTAINER_ID_SIZE)
			found = path + i + 1 - CONTAINER_ID_SIZE;
		else if (digits > CONTAINER_ID_SIZE)
			found = NULL; /* a longer run of digits is not an id */
	}
	return found;
}

const char *cgroup_leaf(const char *path, size_t *size)
{
	size_t end = *size, start;

	while (end && path[end - 1] == '/')
		end--;
	start = end;
	while (start && path[start - 1] != '/')
		start--;
	*size = end - start;
	return path + start;
}

struct mapping_table *mapping_table_new(void)
{
	struct mapping_table *t = xcalloc(1, sizeof(*t));

	t->holders = 1;
	return t;
}

struct mapping_table *mapping_table_hold(struct mapping_table *t)
{
	t->holders++;
	return t;
}

void mapping_table_drop(struct mapping_table *t)
{
	if (--t->holders)
		return;
	vec_release(&t->rows);
	free(t);
}

static size_t table_size(const struct mapping_table *t)
{
	return sizeof(*t) + t->rows.count * sizeof(*t->rows.items);
}

size_t mapping_table_await(struct mapping_table *t)
{
	mapping_table_hold(t);
	return t->waiting++ ? 0 : table_size(t);
}

size_t mapping_table_settle(struct mapping_table *t)
{
	size_t size = --t->waiting ? 0 : table_size(t);

	mapping_table_drop(t);
	return size;
}

struct mapping_table *mapping_table_copy(const struct mapping_table *t, uint64_t stamp)
{
	struct mapping_table *copy = mapping_table_new();

	vec_reserve(&copy->rows, t->rows.count);
	if (t->rows.count)
		memcpy(copy->rows.items, t->rows.items, t->rows.count * sizeof(*t->rows.items));
	copy->rows.count = t->rows.count;
	copy->has_anon = t->has_anon;
	copy->stamp = stamp;
	return copy;
}

/* Returns the position of the first row that ends at addr or beyond. */
static size_t first_reaching(const struct mapping_table *t, uint64_t addr)
{
	return vec_count_front(&t->rows, it, it->end < addr);
}

const struct mapping *mapping_table_find(const struct mapping_table *t, uint64_t addr)
{
	/* addr + 1 wraps at the very end of the address space, where no mapping can lie. */
	size_t at = addr == UINT64_MAX ? t->rows.count : first_reaching(t, addr + 1);

	if (at == t->rows.count || t->rows.items[at].start > addr)
		return NULL;
	return &t->rows.items[at];
}

/* True if b, which starts within or right after a, continues a. */
static bool continues(const struct mapping *a, const struct mapping *b)
{
	return a->module == b->module && a->file_offset + (b->start - a->start) == b->file_offset;
}

static void replace_rows(struct mapping_table *t, size_t at, size_t old_count,
			 const struct mapping *rows, size_t count)
{
	size_t tail = t->rows.count - at - old_count;

	vec_reserve(&t->rows, t->rows.count - old_count + count);
	memmove(t->rows.items + at + count, t->rows.items + at + old_count,
		tail * sizeof(*t->rows.items));
	memcpy(t->rows.items + at, rows, count * sizeof(*rows));
	t->rows.count += count - old_count;
}

static bool is_there(const struct mapping_table *t, const struct mapping *m)
{
	const struct mapping *found = mapping_table_find(t, m->start);

	return found && found->end >= m->end && continues(found, m);
}

bool mapping_table_insert(struct mapping_table **table, const struct mapping *mapping,
			  uint64_t stamp)
{
	struct mapping grown = *mapping, pieces[3];
	struct mapping_table *t = *table;
	size_t count = 0;

	if (mapping->start >= mapping->end || is_there(t, mapping))
		return false;
	if (t->holders > 1) {
		*table = mapping_table_copy(t, stamp);
		mapping_table_drop(t);
		t = *table;
	}

	size_t first = first_reaching(t, mapping->start), last = first;

	while (last < t->rows.count && t->rows.items[last].start <= mapping->end)
		last++;
	/*
	 * Rows [first, last) overlap or touch; only the first and the last can have a remaining
	 * part.
	 */
	if (first < last && t->rows.items[first].start < mapping->start) {
		struct mapping left = t->rows.items[first];

		if (continues(&left, mapping)) {
			grown.start = left.start;
			grown.file_offset = left.file_offset;
		} else {
			left.end = mapping->start;
			pieces[count++] = left;
		}
	}

	size_t middle = count++;

	if (first < last && t->rows.items[last - 1].end > mapping->end) {
		struct mapping right = t->rows.items[last - 1];

		right.file_offset += mapping->end - right.start;
		right.start = mapping->end;
		if (continues(mapping, &right))
			grown.end = right.end;
		else
			pieces[count++] = right;
	}
	pieces[middle] = grown;
	replace_rows(t, first, last - first, pieces, count);
	t->has_anon |= mapping->module == MAPPING_ANON;
	t->stamp = stamp;
	return true;
}
