/* SPDX-License-Identifier: MIT */
#include <wctype.h>

#include "lib/base/cleanup.h"
#include "lib/base/open_file.h"
#include "lib/format/page/slab/slab_columns.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/tables/sample_store.h"

/* Merges two sorted halves, the first of which is in `left`. */
static void merge(char *rows, char *left, size_t half, size_t count, size_t size,
		  int (*compare)(const void *a, const void *b, void *ctx), void *ctx)
{
	size_t i = 0, k = half;

	for (char *to = rows; i < half; to += size) {
		if (k < count && compare(rows + k * size, left + i * size, ctx) < 0)
			memcpy(to, rows + k++ * size, size);
		else
			memcpy(to, left + i++ * size, size);
	}
}

static void sort(char *rows, char *left, size_t count, size_t size,
		 int (*compare)(const void *a, const void *b, void *ctx), void *ctx)
{
	size_t half = count / 2;

	if (count < 2)
		return;
	sort(rows, left, half, size, compare, ctx);
	sort(rows + half * size, left, count - half, size, compare, ctx);
	memcpy(left, rows, half * size);
	merge(rows, left, half, count, size, compare, ctx);
}

void page_sort(void *rows, size_t count, size_t size,
	       int (*compare)(const void *a, const void *b, void *ctx), void *ctx)
{
	char *left = xreallocarray(NULL, count / 2 + 1, size);

	sort(rows, left, count, size, compare, ctx);
	free(left);
}

/* In a page, samples keep the form that they have in its file. */
size_t sample_pack(const struct sample *rows, size_t count, unsigned char *out)
{
	_Static_assert(SAMPLE_PACK_MAX(1) >= ROW_PLANES_MAX(1), "room for a row");
	return row_planes_pack(rows, count, out);
}

bool sample_unpack(const unsigned char *bytes, size_t size, struct sample *rows, size_t count)
{
	return row_planes_unpack(bytes, size, rows, count);
}

/* A page has no files: everything stays in memory. */
void sample_store_put(struct stored_bytes *s, const unsigned char *bytes, uint32_t size)
{
	free(s->bytes);
	*s = (struct stored_bytes){.bytes = xmemdup(bytes, size), .size = size};
}

const unsigned char *sample_store_get(const struct stored_bytes *s, unsigned char *buffer)
{
	return s->bytes;
}

void sample_store_drop(struct stored_bytes *s)
{
	free(s->bytes);
	*s = (struct stored_bytes){0};
}

bool sample_store_take_room(uint64_t bytes)
{
	return false;
}

void sample_store_give_room(uint64_t bytes)
{
}

void readers_release(struct readers *readers)
{
	vec_release(&readers->rows);
}

/*
 * Character classes of regular expressions in place of the C library's, whose tables of all of
 * Unicode make each page a few kilobytes larger: letters beyond ASCII have a class, but no case.
 */
#define ASCII_END 128

static wint_t folded(wint_t c)
{
	return c | ('a' ^ 'A');
}

static int is_ascii_letter(wint_t c)
{
	return c < ASCII_END && folded(c) >= 'a' && folded(c) <= 'z';
}

int iswalpha(wint_t c)
{
	return is_ascii_letter(c) || c >= ASCII_END;
}

int iswpunct(wint_t c)
{
	return c > ' ' && c < ASCII_END - 1 && !is_ascii_letter(c) && !(c >= '0' && c <= '9');
}

wint_t towlower(wint_t c)
{
	return is_ascii_letter(c) ? folded(c) : c;
}

wint_t towupper(wint_t c)
{
	return is_ascii_letter(c) ? folded(c) ^ ('a' ^ 'A') : c;
}

double page_decimal(const char *text)
{
	double number = 0, divisor = 1;
	long exponent = 0;
	bool is_fraction = false, is_negative = *text == '-';

	for (text += is_negative || *text == '+'; *text; text++) {
		if (*text == '.') {
			is_fraction = true;
		} else if (*text < '0' || *text > '9') {
			exponent = strtol(text + 1, NULL, 10);
			break;
		} else {
			number = number * 10 + (*text - '0');
			divisor *= is_fraction ? 10 : 1;
		}
	}
	number /= divisor;
	for (; exponent > 0 && number < 1e300; exponent--)
		number *= 10;
	for (; exponent < 0 && number > 0; exponent++)
		number /= 10;
	return is_negative ? -number : number;
}

/* Rules of languages and of the kernel's functions: their results are in each page. */

#define LANGUAGE(NAME, name, title) \
	const struct language language_##name = {.category = {title, "", NULL}};
#include "lib/model/languages/languages.def"
#undef LANGUAGE

#define LANGUAGE(NAME, name, title) [LANGUAGE_##NAME] = &language_##name,
const struct language *const languages[LANGUAGE_COUNT] = {
#include "lib/model/languages/languages.def"
};
#undef LANGUAGE

struct frame_category *categories_find(const struct profile *p)
{
	return xcalloc(p->frames.rows.count + 1, sizeof(struct frame_category));
}
