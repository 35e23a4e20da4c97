/* SPDX-License-Identifier: MIT */
/* Reads the profile, and selects samples of it. */
#include "lib/format/page/engine/engine.h"

#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/query/summary.h"
#include "lib/format/page/slab/slab.h"

struct engine engine = {.filter = {.until = UINT64_MAX}};

static struct slab_reader *reader;

struct query_keys *engine_keys(enum query_by by)
{
	if (!engine.keys[by]) {
		engine.keys[by] = xcalloc(1, sizeof(*engine.keys[by]));
		query_keys_make(engine.keys[by], &engine.query, by);
	}
	return engine.keys[by];
}

const char *engine_shown(const char *text, unsigned int buffer)
{
	static char *buffers[ENGINE_BUFFERS];

	free(buffers[buffer]);
	buffers[buffer] = xstrdup(text);
	text_to_line(buffers[buffer]);
	return buffers[buffer];
}

void *EXPORT(page_alloc)(size_t size)
{
	return xmalloc(size);
}

void EXPORT(page_free)(void *p)
{
	free(p);
}

/* Returns what the last failure was. */
const char *EXPORT(page_error)(void)
{
	return engine.err.text;
}

/* Takes the next block of the profile. 0, or the number of an error. */
int EXPORT(page_read)(const void *data, size_t size)
{
	if (!reader)
		reader = slab_reader_new();
	return slab_read(reader, data, size, &engine.err);
}

/* Ends reading: all blocks were there. */
int EXPORT(page_open)(void)
{
	int ret = slab_reader_take(reader, &engine.profile, &engine.err);

	if (!ret)
		engine.threads = xcalloc(engine.profile->threads.rows.count + 1, sizeof(bool));
	return ret;
}

/* Sets a text of the filter, as struct query_filter lists them. NULL: no condition. */
int EXPORT(page_filter_text)(unsigned int which, const char *text)
{
	const char **texts[] = {
		&engine.filter.process,	 &engine.filter.thread, &engine.filter.event,
		&engine.filter.category, &engine.filter.during, &engine.filter.focus,
		&engine.filter.ignore,	 &engine.filter.hide,	&engine.filter.root,
	};

	if (which >= sizeof(texts) / sizeof(texts[0]))
		return -EINVAL;
	free((char *)*texts[which]);
	*texts[which] = text ? xstrdup(text) : NULL;
	return 0;
}

void EXPORT(page_filter_rest)(double from, double until, int no_kernel, int fold_recursion,
			      int include_idle)
{
	engine.filter.from = from > 0 ? (uint64_t)from : 0;
	engine.filter.until = until < 1.8e19 ? (uint64_t)until : UINT64_MAX;
	engine.filter.no_kernel = no_kernel;
	engine.filter.fold_recursion = fold_recursion;
	engine.filter.include_idle = include_idle;
}

/* Returns bytes, by thread, in which the script sets those that count; not used unless `is_used`.
 */
bool *EXPORT(page_filter_threads)(int is_used)
{
	engine.filter.threads = is_used ? engine.threads : NULL;
	return engine.threads;
}

/* Tells whether other frames are shown than at the last call. */
static bool shows_others(const struct query_filter *filter)
{
	static char *last;
	char *now = xasprintf("%s\n%s\n%d%d", filter->hide ? filter->hide : "",
			      filter->root ? filter->root : "", filter->no_kernel,
			      filter->fold_recursion);
	bool differs = !last || strcmp(last, now) != 0;

	free(last);
	last = now;
	return differs;
}

int EXPORT(page_select)(void)
{
	int ret;

	engine.shape += shows_others(&engine.filter);

	if (engine.is_selected)
		query_release(&engine.query);
	ret = query_select(&engine.query, engine.profile, &engine.filter, &engine.err);
	engine.is_selected = !ret;
	return ret;
}

/* Returns the profile's length, ns. */
static double profile_length(void)
{
	const struct profile_meta *meta = &engine.profile->meta;

	return meta->end_ns > meta->start_ns ? (double)(meta->end_ns - meta->start_ns) : 0;
}

/* Sums of the selection and of the profile. */
const double *EXPORT(page_totals)(void)
{
	static double totals[12];
	const struct query *q = &engine.query;
	const struct profile_meta *meta = &engine.profile->meta;
	struct query_summary s = query_summarize(q);
	const double values[] = {
		(double)q->weight,
		(double)q->samples,
		(double)q->cpu_ns,
		(double)q->no_frame,
		(double)q->waits[QUERY_IDLE],
		(double)q->waits[QUERY_BLOCKED],
		(double)q->waits[QUERY_RUNNABLE],
		(double)meta->interval_ns,
		profile_length(),
		q->event,
		s.named,
		(double)meta->start_realtime_ns,
	};

	_Static_assert(sizeof(values) == sizeof(totals), "the script knows them by number");
	memcpy(totals, values, sizeof(values));
	return totals;
}

/* The line that `prof report` begins with. */
const char *EXPORT(page_summary)(void)
{
	struct strbuf line = {0};
	static char *text;

	free(text);
	query_summary_text(&engine.query, &line);
	text = strbuf_take(&line);
	return text;
}

/* The half width of the confidence interval of a weight. */
double EXPORT(page_weight_error)(double weight)
{
	return query_error(&engine.query, (uint64_t)weight);
}
