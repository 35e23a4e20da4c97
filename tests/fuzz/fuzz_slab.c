/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the blocks of a page, each after its size. What is read as a profile is sound: it
 * can be asked, and written; and it is the same when it was written as a page.
 */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "lib/query/marker_rows.h"
#include "lib/query/table.h"
#include "lib/query/timeline.h"
#include "lib/query/tree.h"
#include "lib/format/page/slab/slab.h"
#include "tests/fuzz/input.h"

/* Asks for all that is drawn over time. */
static void ask_times(const struct profile *p, const struct query *q)
{
	struct query_timeline timeline = {.from = 3, .until = 50000000, .bins = 7};
	const struct query_filter filter = QUERY_FILTER_ALL;
	struct marker_rows markers;

	query_timeline_make(&timeline, q, NO_THREAD);
	query_timeline_release(&timeline);
	free(query_timeline_marks(&timeline, p, NO_THREAD));
	for (counter_id id = 0; id < p->counters.rows.count; id++)
		free(query_timeline_counter(&timeline, p, id));
	marker_rows_make(&markers, p, &filter);
	vec_for_each(&markers.list, const struct marker_row *, row)
		free(marker_fields_text(p, row->marker));
	marker_rows_release(&markers);
}

static void ask(const struct profile *p)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct query_table table;
	struct query_tree tree;
	struct query q;

	filter.include_idle = true;
	if (query_select(&q, p, &filter, NULL))
		return;
	for (int by = 0; by < QUERY_BY_COUNT; by++) {
		query_table_make(&table, &q, by, NULL);
		query_table_release(&table);
	}
	for (int kind = QUERY_TREE_PLAIN; kind <= QUERY_TREE_INVERTED; kind++) {
		query_tree_make(&tree, &q, &(struct query_tree_options){.kind = kind});
		query_tree_release(&tree);
	}
	ask_times(p, &q);
	query_release(&q);
}

static char *write_as(const struct profile *p, const struct format *format, size_t *size)
{
	const struct export_options how = {.all_threads = true};
	char *text = NULL;

	require(!written_text(format, p, &how, NULL, &text, size, NULL));
	return text;
}

static void write_twice(const struct profile *p)
{
	size_t page_size, size, again_size;
	char *page = write_as(p, &format_html, &page_size);
	char *text = write_as(p, &format_firefox, &size), *text_again;
	struct profile *again;

	require(!format_html.read(&again, page, page_size, NULL, NULL));
	text_again = write_as(again, &format_firefox, &again_size);
	require(size == again_size && !memcmp(text, text_again, size));
	profile_free(again);
	free(page);
	free(text);
	free(text_again);
}

static int read_blocks(struct slab_reader *r, const uint8_t *data, size_t size, struct error *err)
{
	int ret = 0;

	while (!ret && size >= sizeof(uint32_t)) {
		uint32_t block;
		char *copy;

		memcpy(&block, data, sizeof(block));
		data += sizeof(block);
		size -= sizeof(block);
		block = block < size ? block : (uint32_t)size;
		/* Ends with the block, so that sanitizers see reads beyond it. */
		copy = xmemdup(data, block);
		ret = slab_read(r, copy, block, err);
		free(copy);
		data += block;
		size -= block;
	}
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slab_reader *r = slab_reader_new();
	struct profile *p = NULL;
	struct error err = {0};
	int ret = read_blocks(r, data, size, &err);

	if (!ret)
		ret = slab_reader_take(r, &p, &err);
	slab_reader_free(r);
	require(!ret == !*err.text);
	if (ret)
		return 0;
	ask(p);
	write_twice(p);
	profile_free(p);
	return 0;
}
