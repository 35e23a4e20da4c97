/* SPDX-License-Identifier: MIT */
#include "lib/query/copy_rows.h"

#include "lib/model/tables/copy.h"
#include "lib/query/runs.h"

/* Times are relative to the new profile. */
static void copy_first(struct profile_meta *into, const struct profile_meta *from)
{
	uint64_t start = into->start_ns, realtime = into->start_realtime_ns, end = into->end_ns;

	profile_meta_copy(into, from, NULL, NULL);
	into->start_ns = start;
	into->start_realtime_ns = realtime;
	into->end_ns = end;
}

void row_copy_meta(struct profile *into, const struct profile *from, uint64_t offset_ns,
		   bool is_first, bool is_alone)
{
	const struct profile_meta *meta = &from->meta;
	uint64_t end = meta->end_ns > meta->start_ns ? meta->end_ns - meta->start_ns + offset_ns
						     : 0;

	into->meta.end_ns = MAX(into->meta.end_ns, end);
	if (is_first)
		copy_first(&into->meta, meta);
	else
		into->meta.symbolicated &= meta->symbolicated;
	vec_for_each(&meta->extra, const struct profile_extra *, extra) {
		if (is_alone)
			profile_add_extra(into, extra->section, extra->label, extra->format,
					  extra->value);
	}
	if (is_alone)
		into->overhead = from->overhead;
}

/* Returns the ticks of one sample of all profiles: the most of any. */
static uint64_t join_sample_ticks(uint64_t interval_ns, const struct profile *const *profiles,
				  size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		const struct profile_meta *meta = &profiles[i]->meta;
		double ticks = (double)(meta->sample_ticks ?: 1) * (double)meta->interval_ns /
			       (double)interval_ns;

		if (meta->sample_ticks == EVENT_IS_EXACT)
			continue;
		if (ticks > (double)most)
			most = ticks < UINT32_MAX ? (uint64_t)(ticks + 0.5) : UINT32_MAX;
	}
	return most ?: EVENT_IS_EXACT;
}

int row_join_ticks(struct joined_ticks *ticks, const struct profile *const *profiles, size_t count,
		   struct error *err)
{
	const struct profile_meta *sampled = NULL, *first = &profiles[0]->meta;
	bool is_one = true;

	*ticks = (struct joined_ticks){first->interval_ns, first->sample_ticks};
	for (size_t i = 0; i < count; i++) {
		const struct profile_meta *meta = &profiles[i]->meta;
		const struct profile_meta *other = meta->sample_ticks ? NULL : sampled ?: meta;

		if (!query_intervals_agree(meta->interval_ns, first->interval_ns)) {
			is_one = false;
			if (!meta->interval_ns || !first->interval_ns)
				other = first;
		}
		if (other && !query_intervals_agree(meta->interval_ns, other->interval_ns))
			return error_text(err, -EXDEV,
					  "the profiles have different intervals: %.6g and %.6g ms",
					  (double)other->interval_ns / 1e6,
					  (double)meta->interval_ns / 1e6);
		if (!meta->sample_ticks)
			sampled = meta;
		if (!is_one && meta->interval_ns < ticks->interval_ns)
			ticks->interval_ns = meta->interval_ns;
	}
	if (!is_one)
		ticks->sample_ticks = join_sample_ticks(ticks->interval_ns, profiles, count);
	return 0;
}

struct tick_scale row_tick_scale(const struct joined_ticks *into, const struct profile *from)
{
	return (struct tick_scale){from->meta.interval_ns, into->interval_ns, 0};
}

uint32_t row_scale_ticks(struct tick_scale *s, uint32_t ticks)
{
	unsigned __int128 ns;

	if (query_intervals_agree(s->from_ns, s->into_ns))
		return ticks;
	ns = (unsigned __int128)ticks * s->from_ns + s->rest_ns;
	s->rest_ns = (uint64_t)(ns % s->into_ns);
	return ns / s->into_ns < UINT32_MAX ? (uint32_t)(ns / s->into_ns) : UINT32_MAX;
}

#define NOT_COPIED (UINT32_MAX - 1)

struct row_copier {
	struct profile *into;
	const struct profile *from;
	/* New ids by old id, or NOT_COPIED. */
	uint32_t *strings, *modules, *funcs, *symbols, *files, *schemas;
	struct index modules_index; /* index of the new profile's modules */
	uint32_t categories[UINT8_MAX + 1]; /* new id by old id; subcategories stay */
};

static uint32_t *new_map(size_t count)
{
	uint32_t *map = xmalloc((count + 1) * sizeof(*map));

	for (size_t i = 0; i <= count; i++)
		map[i] = NOT_COPIED;
	return map;
}

struct row_copier *row_copier_new(struct profile *into, const struct profile *from)
{
	struct row_copier *c = xcalloc(1, sizeof(*c));

	c->into = into;
	c->from = from;
	c->strings = new_map(from->strings.rows.count);
	c->modules = new_map(from->modules.rows.count);
	c->funcs = new_map(from->funcs.rows.count);
	c->symbols = new_map(from->symbols.rows.count);
	c->files = new_map(from->source_files.rows.count);
	c->schemas = new_map(from->markers.schemas.rows.count);
	for (size_t i = 0; i <= UINT8_MAX; i++)
		c->categories[i] = NOT_COPIED;
	return c;
}

void row_copier_free(struct row_copier *c)
{
	free(c->strings);
	free(c->modules);
	free(c->funcs);
	free(c->symbols);
	free(c->files);
	free(c->schemas);
	index_release(&c->modules_index);
	free(c);
}

/* Copies a string, or a list of terminated ones. NO_STRING stays NO_STRING. */
static string_id copy_string(struct row_copier *c, string_id id)
{
	const struct strings *from = &c->from->strings;

	if (id >= from->rows.count)
		return NO_STRING;
	if (c->strings[id] == NOT_COPIED)
		c->strings[id] = strings_intern_list(&c->into->strings, strings_get(from, id),
						     strings_size(from, id));
	return c->strings[id];
}

static module_id add_module(struct row_copier *c, const struct module *from)
{
	string_id path = copy_string(c, from->path);
	module_id id = modules_copy(&c->into->modules, from, path, copy_string(c, from->name));

	modules_get(&c->into->modules, id)->debug_file = copy_string(c, from->debug_file);
	return id;
}

INDEX_EQUAL(module_equal, struct profile, modules.rows,
	    a->kind == b->kind && a->path == b->path && a->name == b->name && a->pid == b->pid &&
		    a->base == b->base && a->build_id_size == b->build_id_size &&
		    memcmp(a->build_id, b->build_id, sizeof(a->build_id)) == 0)

/* Modules of several profiles are the same if name and build id are equal. */
static module_id copy_module(struct row_copier *c, module_id id)
{
	struct profile *into = c->into;
	struct module wanted;
	uint64_t hash;
	uint32_t found;

	if (id == NO_MODULE || c->modules[id] != NOT_COPIED)
		return id == NO_MODULE ? NO_MODULE : c->modules[id];
	for (uint32_t i = c->modules_index.count; i < into->modules.rows.count; i++)
		index_add(&c->modules_index,
			  hash_pair(into->modules.rows.items[i].path,
				    into->modules.rows.items[i].name),
			  i);
	wanted = c->from->modules.rows.items[id];
	wanted.path = copy_string(c, wanted.path);
	wanted.name = copy_string(c, wanted.name);
	hash = hash_pair(wanted.path, wanted.name);
	found = index_find(&c->modules_index, hash, module_equal, into, &wanted);
	if (found == INDEX_NONE) {
		found = add_module(c, &c->from->modules.rows.items[id]);
		index_add(&c->modules_index, hash, found);
	}
	c->modules[id] = found;
	return found;
}

static source_file_id copy_file(struct row_copier *c, source_file_id id)
{
	const struct source_file *from;

	if (id == NO_SOURCE_FILE)
		return NO_SOURCE_FILE;
	from = &c->from->source_files.rows.items[id];
	if (c->files[id] == NOT_COPIED) {
		c->files[id] = source_files_intern(&c->into->source_files,
						   copy_string(c, from->path));
		if (from->text && !c->into->source_files.rows.items[c->files[id]].text)
			source_files_set_text(&c->into->source_files, c->files[id],
					      xstrndup(from->text, from->size), from->size);
	}
	return c->files[id];
}

static func_id copy_func(struct row_copier *c, func_id id)
{
	struct func row;

	if (id == NO_FUNC || c->funcs[id] != NOT_COPIED)
		return id == NO_FUNC ? NO_FUNC : c->funcs[id];
	row = c->from->funcs.rows.items[id];
	row.name = copy_string(c, row.name);
	row.module = copy_module(c, row.module);
	row.file = copy_file(c, row.file);
	c->funcs[id] = funcs_intern(&c->into->funcs, &row);
	return c->funcs[id];
}

static symbol_id copy_symbol(struct row_copier *c, symbol_id id)
{
	struct symbol row;

	if (id == NO_SYMBOL || c->symbols[id] != NOT_COPIED)
		return id == NO_SYMBOL ? NO_SYMBOL : c->symbols[id];
	row = c->from->symbols.rows.items[id];
	row.name = copy_string(c, row.name);
	row.module = copy_module(c, row.module);
	c->symbols[id] = symbols_intern(&c->into->symbols, &row);
	return c->symbols[id];
}

static string_id schema_text(void *ctx, string_id id)
{
	return copy_string(ctx, id);
}

/* Returns NO_SCHEMA if a different schema has its name, or there are too many. */
static schema_id copy_schema(struct row_copier *c, schema_id id)
{
	const struct schemas *from = &c->from->markers.schemas;
	struct schema_field fields[SCHEMA_FIELDS_MAX];
	struct schema row;

	if (c->schemas[id] != NOT_COPIED)
		return c->schemas[id];
	row = *schemas_get(from, id);
	for (uint32_t i = 0; i < row.field_count; i++)
		fields[i] = schema_fields(from, schemas_get(from, id))[i];
	copy_schema_texts(&row, fields, &(struct copy_rules){c, schema_text, NULL, NULL});
	c->schemas[id] = schemas_intern(&c->into->markers.schemas, &row, fields);
	return c->schemas[id];
}

static struct profile_category describe_category(const struct profile *p, uint8_t id)
{
	struct profile_category row = {0};

	if (p->categories.count) {
		const struct profile_category *from = &p->categories.items[id];

		row.name = xstrdup(from->name);
		row.color = xstrdup(from->color);
		vec_for_each(&from->subcategories, char *const *, name)
			vec_push(&row.subcategories, xstrdup(*name));
		return row;
	}
	row.name = xstrdup(categories[id]->name);
	row.color = xstrdup(categories[id]->color);
	for (size_t i = 0; categories[id]->subcategories[i]; i++)
		vec_push(&row.subcategories, xstrdup(categories[id]->subcategories[i]));
	return row;
}

static bool is_same_category(const struct profile_category *a, const struct profile_category *b)
{
	if (strcmp(a->name, b->name) != 0 || a->subcategories.count != b->subcategories.count)
		return false;
	for (size_t i = 0; i < a->subcategories.count; i++) {
		if (strcmp(a->subcategories.items[i], b->subcategories.items[i]) != 0)
			return false;
	}
	return true;
}

static void release_category(struct profile_category *row)
{
	free(row->name);
	free(row->color);
	vec_for_each(&row->subcategories, char **, name)
		free(*name);
	vec_release(&row->subcategories);
}

/* The default category is the first grey one. Categories beyond 255 map to it. */
static uint8_t copy_category(struct row_copier *c, uint8_t id)
{
	struct profile *into = c->into;
	struct profile_category row;
	size_t at = 0;

	if (c->categories[id] != NOT_COPIED)
		return (uint8_t)c->categories[id];
	row = describe_category(c->from, id);
	while (at < into->categories.count && !is_same_category(&into->categories.items[at], &row))
		at++;
	if (at == into->categories.count && at < CATEGORY_OF_CALLER)
		vec_push(&into->categories, row);
	else
		release_category(&row);
	c->categories[id] = at < CATEGORY_OF_CALLER ? (uint32_t)at : 0;
	return (uint8_t)c->categories[id];
}

/* True if the stack's frame is inlined into the frame of its shown caller. */
static bool is_inlined(const struct profile *p, const struct query *q, stack_id id)
{
	const struct frame *frame = profile_frame_of(p, id), *caller;

	if (q->parents[id] == NO_STACK || !frame->inline_depth)
		return false;
	caller = &p->frames.rows.items[p->stacks.rows.items[q->parents[id]].frame];
	return caller->module == frame->module && caller->offset == frame->offset &&
	       caller->inline_depth + 1 == frame->inline_depth;
}

static frame_id add_frame(struct row_copier *c, struct frame row)
{
	row.module = copy_module(c, row.module);
	row.func = copy_func(c, row.func);
	row.symbol = copy_symbol(c, row.symbol);
	return frames_intern(&c->into->frames, &row);
}

static frame_id copy_frame(struct row_copier *c, const struct query *q, stack_id id, uint16_t depth)
{
	struct frame row = *profile_frame_of(c->from, id);

	row.category = copy_category(c, q->categories[id].category);
	row.subcategory = q->categories[id].subcategory;
	row.inline_depth = depth;
	return add_frame(c, row);
}

void row_copier_modules(struct row_copier *c)
{
	for (module_id id = 0; id < c->from->modules.rows.count; id++)
		c->modules[id] = add_module(c, &c->from->modules.rows.items[id]);
}

frame_id row_copier_frame(struct row_copier *c, frame_id id)
{
	return add_frame(c, c->from->frames.rows.items[id]);
}

stack_id *row_copier_stacks(struct row_copier *c, const struct query *q, bool *is_used)
{
	size_t count = c->from->stacks.rows.count;
	stack_id *map = new_map(count);
	_cleanup_free_ uint16_t *depths = xcalloc(count + 1, sizeof(*depths));

	/* Front-ends need a grey category. */
	if (!c->into->categories.count && !c->from->categories.count)
		copy_category(c, CATEGORY_OTHER);
	for (size_t i = 0; i < c->from->categories.count && !c->into->categories.count; i++)
		if (strcmp(c->from->categories.items[i].color, "grey") == 0)
			copy_category(c, (uint8_t)i);
	for (size_t i = count; i-- > 0;) {
		if (is_used[i] && q->parents[i] != NO_STACK)
			is_used[q->parents[i]] = true;
	}
	for (stack_id id = 0; id < count; id++) {
		stack_id parent = q->parents[id];

		map[id] = NO_STACK;
		if (!is_used[id])
			continue;
		if (is_inlined(c->from, q, id))
			depths[id] = depths[parent] + 1;
		map[id] = stacks_intern(&c->into->stacks,
					parent == NO_STACK ? NO_STACK : map[parent],
					copy_frame(c, q, id, depths[id]));
	}
	return map;
}

struct narrowing {
	struct profile *into;
	struct row_copier *rows;
	struct copy_rules rules;
	const struct query *query;
	const stack_id *stacks; /* new stack by stack_id */
	const struct profile *from;
	const struct query_filter *filter;
	uint64_t offset_ns; /* start of the profile in the new profile */
	/* By the number of a marker's first value: the copy's number plus 1; 0: not copied. */
	uint32_t *values;
	thread_id *threads; /* new thread by thread_id; NO_THREAD: left out */
	uint8_t events[UINT8_MAX + 1]; /* new event by event; UINT8_MAX: not mapped yet */
	bool *is_used; /* by stack_id */
	size_t first_thread; /* threads before it belong to other profiles */
	struct narrow_counts *counts;
	struct tick_scale scale; /* of clock samples */
};

static uint64_t time_in(void *ctx, uint64_t time)
{
	const struct narrowing *n = ctx;

	return profile_since_start(n->from, time) + n->offset_ns;
}

/* Counts the processes of a pid in the previous profiles. */
static uint32_t used_incarnations(const struct narrowing *n, uint32_t pid)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n->first_thread; i++) {
		const struct profile_thread *row = &n->into->threads.rows.items[i];

		if (row->pid == pid && row->incarnation >= count)
			count = row->incarnation + 1;
	}
	return count;
}

static void add_thread(struct narrowing *n, thread_id id)
{
	const struct profile_thread *from = &n->from->threads.rows.items[id];
	struct profile_thread row = copy_thread_row(from, &n->rules);

	row.incarnation += used_incarnations(n, from->pid);
	n->threads[id] = threads_add(&n->into->threads, &row);
}

/* Returns an event's number in the new profile; 0 if there is no room. */
static uint8_t event_in(struct narrowing *n, uint8_t event)
{
	if (event && n->events[event] == UINT8_MAX)
		n->events[event] = query_copy_event(n->into, n->from, event);
	return event ? n->events[event] : 0;
}

static bool has_user_frame(const struct profile *p, stack_id stack)
{
	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		uint8_t kind = profile_frame_of(p, stack)->kind;

		if (kind != PROFILE_FRAME_KERNEL && kind != PROFILE_FRAME_LABEL)
			return true;
	}
	return false;
}

static void take_sample(void *ctx, const struct query *q, thread_id thread,
			const struct sample *sample, stack_id shown)
{
	struct narrowing *n = ctx;
	struct sample row = *sample;

	row.event = event_in(n, sample->event);
	if (sample->event && !row.event)
		return;
	if (!row.event)
		row.weight = row_scale_ticks(&n->scale, row.weight);
	row.time = time_in(n, sample->time);
	row.stack = shown;
	if (shown != NO_STACK)
		n->is_used[shown] = true;
	n->into->stats.user_stacks += !profile_is_wait(n->from, sample) &&
				      has_user_frame(n->from, sample->stack);
	if (row.event) {
		struct event_count *count = event_counts_get(&n->into->events, row.event);

		count->samples++;
		count->weight += row.weight;
	} else {
		n->into->stats.cpu_samples += row.weight;
	}
	samples_add(&threads_get(&n->into->threads, n->threads[thread])->samples, &row);
}

static stack_id shown_stack(const struct query *q, stack_id stack)
{
	return stack == NO_STACK || q->is_shown[stack] ? stack : q->parents[stack];
}

static string_id text_in(void *ctx, string_id id)
{
	const struct narrowing *n = ctx;

	return copy_string(n->rows, id);
}

static stack_id stack_in(void *ctx, stack_id id)
{
	const struct narrowing *n = ctx;
	stack_id shown = shown_stack(n->query, id);

	return shown == NO_STACK ? NO_STACK : n->stacks[shown];
}

static bool has_times(const struct narrowing *n, uint64_t first, uint64_t last)
{
	return profile_since_start(n->from, first) < n->filter->until &&
	       profile_since_start(n->from, last) >= n->filter->from;
}

static bool has_time(const struct narrowing *n, const struct marker *marker)
{
	return has_times(n, marker->start, marker->end);
}

/* Allocations are kept in full if all events are kept. */
static bool has_allocation(const struct narrowing *n, const struct allocation *row)
{
	return n->filter->all_events && has_times(n, row->time, row->time);
}

static void use_allocations(struct narrowing *n, const struct query *q,
			    const struct profile_thread *thread)
{
	vec_for_each(&thread->allocations.rows, const struct allocation *, row) {
		stack_id stack = has_allocation(n, row) ? shown_stack(q, row->stack) : NO_STACK;

		if (stack != NO_STACK)
			n->is_used[stack] = true;
	}
}

static void add_allocations(struct narrowing *n, const struct profile_thread *from,
			    struct profile_thread *into)
{
	vec_for_each(&from->allocations.rows, const struct allocation *, row) {
		if (has_allocation(n, row))
			vec_push(&into->allocations.rows, copy_allocation_row(row, &n->rules));
	}
}

/* Marks the stacks of all kept markers and allocations. */
static void use_markers(struct narrowing *n, const struct query *q)
{
	const struct markers *markers = &n->from->markers;

	for (thread_id id = 0; id < n->from->threads.rows.count; id++) {
		const struct profile_thread *thread = &n->from->threads.rows.items[id];

		if (n->threads[id] == NO_THREAD)
			continue;
		use_allocations(n, q, thread);
		vec_for_each(&thread->markers, const struct marker *, marker) {
			const struct schema *schema = schemas_get(&markers->schemas,
								  marker->schema);

			for (uint32_t i = 0; has_time(n, marker) && i <= schema->field_count; i++) {
				const struct marker_value *value = marker_value(markers, marker, i);
				stack_id stack = value->type == FIELD_STACK
							 ? shown_stack(q, value->stack)
							 : NO_STACK;

				if (stack != NO_STACK)
					n->is_used[stack] = true;
			}
		}
	}
}

/* Copies the values of a marker once, though markers may share them. Returns the first one. */
static uint32_t copy_values(struct narrowing *n, const struct marker *from, schema_id schema)
{
	struct markers *into = &n->into->markers;
	uint32_t *known = &n->values[from->first_value];
	struct marker row;

	if (*known)
		return *known - 1;
	row = markers_make(into, schema, 0, 0);
	for (uint32_t i = 0; i <= schemas_get(&into->schemas, schema)->field_count; i++)
		*marker_value(into, &row, i) =
			copy_marker_value(marker_value(&n->from->markers, from, i), &n->rules);
	*known = row.first_value + 1;
	return row.first_value;
}

static void add_marker(struct narrowing *n, struct profile_thread *thread,
		       const struct marker *from)
{
	schema_id schema = copy_schema(n->rows, from->schema);
	struct marker row;

	if (schema == NO_SCHEMA) {
		n->counts->lost_markers++;
		return;
	}
	row = copy_marker_row(schema, from, &n->rules);
	row.first_value = copy_values(n, from, schema);
	vec_push(&thread->markers, row);
}

/* Maps samples to their new stacks, and adds markers to threads. */
static void finish_threads(struct narrowing *n)
{
	for (thread_id id = 0; id < n->from->threads.rows.count; id++) {
		const struct profile_thread *from = &n->from->threads.rows.items[id];
		struct profile_thread *into;

		if (n->threads[id] == NO_THREAD)
			continue;
		into = threads_get(&n->into->threads, n->threads[id]);
		samples_change_each(&into->samples, sample) {
			if (sample->stack != NO_STACK)
				sample->stack = n->stacks[sample->stack];
		}
		vec_for_each(&from->markers, const struct marker *, marker) {
			if (has_time(n, marker))
				add_marker(n, into, marker);
		}
		add_allocations(n, from, into);
	}
}

/* Copies the samples within the filter's time. A level begins with its previous value. */
static void add_counter_samples(struct narrowing *n, const struct counter *from,
				struct counter *into)
{
	uint64_t start = n->from->meta.start_ns, begin = time_in(n, start + n->filter->from);
	bool is_level = from->graph == COUNTER_LEVEL;

	vec_for_each(&from->samples, const struct counter_sample *, sample) {
		uint64_t time = sample->time < start ? 0 : sample->time - start;
		struct counter_sample row = {time_in(n, sample->time), sample->delta};
		bool is_before = time < n->filter->from;

		if (time >= n->filter->until)
			break;
		if (is_before && !is_level)
			continue;
		if (is_before)
			row.time = begin;
		if (into->samples.count && vec_last(&into->samples).time == row.time)
			vec_last(&into->samples).delta += row.delta;
		else
			vec_push(&into->samples, row);
	}
}

static void add_counters(struct narrowing *n)
{
	if (n->filter->process || n->filter->thread)
		return;
	vec_for_each(&n->from->counters.rows, const struct counter *, from) {
		struct counter row = copy_counter_row(from, &n->rules);

		row.incarnation += row.pid ? used_incarnations(n, row.pid) : 0;
		add_counter_samples(n, from, &row);
		if (profile_counters_add(&n->into->counters, &row) == NO_COUNTER)
			vec_release(&row.samples);
	}
}

static int add_profile(struct narrowing *n, struct error *err)
{
	const struct profile *p = n->from;
	_cleanup_free_ thread_id *threads = xcalloc(p->threads.rows.count + 1, sizeof(*threads));
	_cleanup_free_ bool *is_used = xcalloc(p->stacks.rows.count + 1, sizeof(*is_used));
	_cleanup_free_ uint32_t *values = xcalloc(p->markers.values.count + 1, sizeof(*values));
	_cleanup_free_ bool *is_selected = query_select_threads(p, n->filter);
	_cleanup_free_ stack_id *stacks = NULL;
	struct query q;
	int ret;

	n->values = values;
	n->threads = threads;
	n->is_used = is_used;
	n->first_thread = n->into->threads.rows.count;
	n->rows = row_copier_new(n->into, p);
	n->rules = (struct copy_rules){n, text_in, time_in, stack_in};
	memset(n->events, UINT8_MAX, sizeof(n->events));
	/* Events without samples stay, too. */
	for (size_t i = 1; n->filter->all_events && i < p->events.rows.count; i++)
		event_in(n, (uint8_t)i);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		threads[id] = NO_THREAD;
		if (is_selected[id])
			add_thread(n, id);
	}
	ret = query_select_each(&q, p, n->filter, take_sample, n, err);
	if (!ret) {
		use_markers(n, &q);
		stacks = row_copier_stacks(n->rows, &q, is_used);
		n->query = &q;
		n->stacks = stacks;
		finish_threads(n);
		add_counters(n);
		query_release(&q);
	}
	row_copier_free(n->rows);
	return ret;
}

int narrow(struct profile **into, const struct profile *const *profiles, size_t count,
	   const struct query_filter *filter, struct narrow_counts *counts, struct error *err)
{
	struct narrowing n = {.filter = filter, .counts = counts};
	struct joined_ticks ticks;
	int ret = row_join_ticks(&ticks, profiles, count, err);
	uint64_t start = 0;

	if (ret)
		return ret;
	n.into = profile_new();
	for (size_t i = 0; i < count; i++) {
		uint64_t own = profiles[i]->meta.start_realtime_ns;

		if (own && (!start || own < start))
			start = own;
	}
	for (size_t i = 0; !ret && i < count; i++) {
		n.from = profiles[i];
		/* Profiles without a date start at the same time as the first. */
		n.offset_ns = 0;
		if (n.from->meta.start_realtime_ns)
			n.offset_ns = n.from->meta.start_realtime_ns - start;
		n.scale = row_tick_scale(&ticks, n.from);
		row_copy_meta(n.into, n.from, n.offset_ns, i == 0, count == 1);
		ret = add_profile(&n, err);
	}
	n.into->meta.start_realtime_ns = start;
	n.into->meta.interval_ns = ticks.interval_ns;
	n.into->meta.sample_ticks = ticks.sample_ticks;
	if (ret)
		profile_free(n.into);
	else
		*into = n.into;
	return ret;
}
