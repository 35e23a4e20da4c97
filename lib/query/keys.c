/* SPDX-License-Identifier: MIT */
#include "lib/query/keys.h"

#include "lib/model/meaning/titles.h"

/* Separates a merged row's name and its number of processes, "cc1 × 60". */
static const char times[] = " × ";

struct finder {
	const struct profile *p;
	struct thread_titles titles;
	struct strings words; /* first words of names */
	/* by id in `words`: common part of the names, in the keys' strings */
	VEC(string_id) commons;
};

/* Processes without a name form one nameless program. */
static const char *name_of(const struct finder *f, thread_id id)
{
	return strings_size(&f->p->strings, f->p->threads.rows.items[id].process_name)
		       ? process_title(&f->titles, id)
		       : "";
}

/* Returns the size of a name without its number of processes, and stores the number. */
static size_t split_count(const char *name, uint32_t *count)
{
	const char *at = strstr(name, times);
	unsigned long value = at ? strtoul(at + strlen(times), NULL, 10) : 0;

	*count = value > 1 && value < UINT32_MAX ? (uint32_t)value : 1;
	return at && value ? (size_t)(at - name) : strlen(name);
}

/* Kernel threads have a '/' before the distinguishing part. */
static size_t word_end(const char *name, size_t size)
{
	size_t end = 1;

	while (end < size && name[end] != ' ' && name[end] != '/')
		end++;
	return end < size ? end : size;
}

/* Returns the start of the container in "nginx (pid 1 in 1a2b3c4d5e6f)"; `size`: none. */
static size_t label_start(const char *name, size_t size)
{
	const char *at = memrchr(name, '(', size);

	return at && at > name + 1 && at[-1] == ' ' ? (size_t)(at - 1 - name) : size;
}

size_t program_name_bare_size(const char *name)
{
	size_t size = strlen(name);

	return size && name[size - 1] == ')' ? label_start(name, size) : size;
}

/* Returns the size of the common prefix in whole words. */
static size_t common_size(const char *a, size_t a_size, const char *b, size_t b_size)
{
	size_t size = 0, end = 0;

	while (size < a_size && size < b_size && a[size] == b[size]) {
		if (a[size] == ' ')
			end = size;
		size++;
	}
	if ((size == a_size || a[size] == ' ') && (size == b_size || b[size] == ' '))
		end = size;
	/* Labels also have words in common. */
	if (end && a[end - 1] != ')')
		end = label_start(a, end);
	return end ? end : word_end(a, a_size);
}

static void add_name(struct finder *f, struct strings *texts, const char *name, size_t size)
{
	string_id word = strings_intern_sized(&f->words, name, word_end(name, size));
	string_id before;

	if (word == f->commons.count) {
		vec_push(&f->commons, strings_intern_sized(texts, name, size));
		return;
	}
	before = f->commons.items[word];
	size = common_size(strings_get(texts, before), strings_size(texts, before), name, size);
	f->commons.items[word] = strings_intern_sized(texts, name, size);
}

/* Rows of a process need not be adjacent in files of other tools. */
INDEX_EQUAL(process_equal, struct profile, threads.rows,
	    a->pid == b->pid && a->incarnation == b->incarnation &&
		    a->process_name == b->process_name)

thread_id *query_process_firsts(const struct profile *p)
{
	thread_id *firsts = xcalloc(p->threads.rows.count + 1, sizeof(*firsts));
	struct index index = {0};

	for (thread_id i = 0; i < p->threads.rows.count; i++) {
		const struct profile_thread *row = &p->threads.rows.items[i];
		uint64_t hash = hash_pair((uint64_t)row->pid << 32 | row->incarnation,
					  row->process_name);

		firsts[i] = index_find(&index, hash, process_equal, p, row);
		if (firsts[i] == INDEX_NONE) {
			index_add(&index, hash, i);
			firsts[i] = i;
		}
	}
	index_release(&index);
	return firsts;
}

const char *const query_by_names[QUERY_BY_COUNT + 1] = {QUERY_BY_NAMES};

#define NOT_ASKED (UINT32_MAX - 1)
#define EMPTY_KEY \
	((struct query_key){NO_STRING, NO_STRING, NO_STRING, NO_STRING, NO_STRING, NO_STRING, \
			    NO_STRING, NO_STRING, 0, 0, 0, 0, 0})

bool query_by_has_stacks(enum query_by by)
{
	return by != QUERY_BY_PROCESS && by != QUERY_BY_PID && by != QUERY_BY_THREAD;
}

INDEX_EQUAL(key_equal, struct query_keys, rows, memcmp(a, b, sizeof(*a)) == 0)

/* struct query_key has no padding, so it is hashed as bytes. */
static uint32_t intern(struct query_keys *k, const struct query_key *key)
{
	uint64_t hash = hash_bytes(key, sizeof(*key), 0);
	uint32_t id = index_intern(&k->index, hash, key_equal, k, key, k->rows.count);

	_Static_assert(sizeof(*key) ==
			       8 * sizeof(string_id) + 4 * sizeof(uint32_t) + sizeof(uint64_t),
		       "keys are compared byte by byte");
	if (id == k->rows.count)
		vec_push(&k->rows, *key);
	return id;
}

/* A file may contain the same string under several ids. */
static string_id text(struct query_keys *k, const struct profile *p, string_id id)
{
	size_t size = strings_size(&p->strings, id);

	if (!size)
		return NO_STRING;
	if (k->of_strings[id] == NOT_ASKED)
		k->of_strings[id] = strings_intern_sized(&k->texts, strings_get(&p->strings, id),
							 size);
	return k->of_strings[id];
}

static uint64_t address_of(const struct profile *p, const struct frame *frame)
{
	return modules_address(&p->modules, frame->module, frame->offset);
}

static void set_function(struct query_keys *k, const struct profile *p, const struct frame *frame,
			 struct query_key *key)
{
	_cleanup_(strbuf_release) struct strbuf address = {0};
	const struct func *func;
	module_id module = frame->module;

	/* A function of two builds is in no module if these differ, see join_sides(). */
	if (k->by == QUERY_BY_FUNCTION && frame->func != NO_FUNC &&
	    p->funcs.rows.items[frame->func].module == NO_MODULE)
		module = NO_MODULE;
	/* Dumps have a different name each time. */
	if (module != NO_MODULE && p->modules.rows.items[module].kind != PROFILE_MODULE_CODE_DUMP)
		key->module = text(k, p, p->modules.rows.items[module].name);
	if (frame->func == NO_FUNC) {
		strbuf_addf(&address, "0x%" PRIx64, address_of(p, frame));
		key->function = strings_intern(&k->texts, strbuf_text(&address));
		return;
	}
	func = &p->funcs.rows.items[frame->func];
	key->function = text(k, p, func->name);
	if (func->file != NO_SOURCE_FILE)
		key->file = text(k, p, p->source_files.rows.items[func->file].path);
}

static uint32_t key_of_frame(struct query_keys *k, const struct profile *p,
			     const struct frame *frame)
{
	struct query_key key = EMPTY_KEY;

	set_function(k, p, frame, &key);
	if (k->by == QUERY_BY_LINE || k->by == QUERY_BY_ADDRESS)
		key.line = frame->line;
	if (k->by == QUERY_BY_ADDRESS)
		key.address = address_of(p, frame);
	if (k->by == QUERY_BY_MODULE || k->by == QUERY_BY_FILE)
		key.function = NO_STRING;
	if (k->by == QUERY_BY_MODULE)
		key.file = NO_STRING;
	else if (k->by == QUERY_BY_FILE && key.file != NO_STRING)
		key.module = NO_STRING;
	return intern(k, &key);
}

/* Looks up the key only once for all frames of a function; firsts: the first of them, by func_id.
 */
static uint32_t key_as_before(struct query_keys *k, const struct profile *p, frame_id id,
			      const uint32_t *known, frame_id *firsts)
{
	const struct frame *frames = p->frames.rows.items;
	func_id func = frames[id].func;

	if (k->by != QUERY_BY_FUNCTION || func == NO_FUNC)
		return key_of_frame(k, p, &frames[id]);
	if (firsts[func] != NO_FRAME && frames[firsts[func]].module == frames[id].module)
		return known[firsts[func]];
	firsts[func] = id;
	return key_of_frame(k, p, &frames[id]);
}

static void make_of_frames(struct query_keys *k, const struct query *q)
{
	const struct profile *p = q->profile;
	_cleanup_free_ uint32_t *known = xcalloc(p->frames.rows.count + 1, sizeof(*known));
	_cleanup_free_ frame_id *firsts = xcalloc(p->funcs.rows.count + 1, sizeof(*firsts));

	for (size_t i = 0; i < p->frames.rows.count; i++)
		known[i] = NOT_ASKED;
	for (size_t i = 0; i < p->funcs.rows.count; i++)
		firsts[i] = NO_FRAME;
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		frame_id frame = p->stacks.rows.items[id].frame;

		if (known[frame] == NOT_ASKED)
			known[frame] = key_as_before(k, p, frame, known, firsts);
		k->of_stacks[id] = known[frame];
	}
}

static uint32_t key_of_category(struct query_keys *k, const struct profile *p,
				struct frame_category category)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	struct query_key key = EMPTY_KEY;

	query_category_name(p, category, &name);
	if (name.size)
		key.category = strings_intern(&k->texts, strbuf_text(&name));
	return intern(k, &key);
}

static void make_of_categories(struct query_keys *k, const struct query *q)
{
	_cleanup_free_ uint32_t *known = xmalloc(sizeof(*known) << 16);

	for (size_t i = 0; i < 1 << 16; i++)
		known[i] = NOT_ASKED;
	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		struct frame_category category = q->categories[id];
		uint32_t *key = &known[category.category << 8 | category.subcategory];

		if (*key == NOT_ASKED)
			*key = key_of_category(k, q->profile, category);
		k->of_stacks[id] = *key;
	}
}

static void make_of_threads(struct query_keys *k, const struct query *q)
{
	const struct profile *p = q->profile;
	struct thread_titles titles;

	thread_titles_find(&titles, p);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];
		struct query_key key = EMPTY_KEY;

		key.process = text(k, p, thread->process_name);
		key.process_title = strings_intern(&k->texts, process_title(&titles, id));
		key.pid = thread->pid;
		key.incarnation = thread->incarnation;
		if (k->by == QUERY_BY_THREAD) {
			key.thread = text(k, p, thread->name);
			key.thread_title = strings_intern(&k->texts, thread_title(&titles, id));
			key.tid = thread->tid;
		}
		k->of_threads[id] = intern(k, &key);
	}
	thread_titles_release(&titles);
}

static void make_of_programs(struct query_keys *k, const struct query *q)
{
	size_t count = q->profile->threads.rows.count;
	struct finder f = {.p = q->profile};
	uint32_t ignored;

	thread_titles_find(&f.titles, f.p);
	for (thread_id id = 0; id < count; id++) {
		const char *name = name_of(&f, id);

		add_name(&f, &k->texts, name, split_count(name, &ignored));
	}
	for (thread_id id = 0; id < count; id++) {
		const char *name = name_of(&f, id);
		size_t size = word_end(name, split_count(name, &ignored));
		string_id program = f.commons.items[strings_find(&f.words, name, size)];
		struct query_key key = EMPTY_KEY;

		key.process = strings_size(&k->texts, program) ? program : NO_STRING;
		k->of_threads[id] = intern(k, &key);
	}
	k->firsts = query_process_firsts(f.p);
	thread_titles_release(&f.titles);
	strings_release(&f.words);
	vec_release(&f.commons);
}

void query_keys_count_processes(struct query_keys *k, const struct query *q)
{
	const struct profile *p = q->profile;
	size_t count = p->threads.rows.count;
	_cleanup_free_ bool *is_counted = xcalloc(count + 1, sizeof(*is_counted));

	free(k->processes);
	k->processes = xcalloc(count + 1, sizeof(*k->processes));
	for (thread_id id = 0; id < count; id++) {
		uint32_t processes;

		if (!q->thread_weights[id] || is_counted[k->firsts[id]])
			continue;
		is_counted[k->firsts[id]] = true;
		split_count(strings_get(&p->strings, p->threads.rows.items[id].process_name),
			    &processes);
		k->processes[k->of_threads[id]] += processes;
	}
}

struct ranked_text {
	const char *text;
	string_id id;
};

ORDER(compare_texts, struct ranked_text, strcmp(a->text, b->text))

void query_keys_rank(struct query_keys *k)
{
	size_t count = k->texts.rows.count;
	_cleanup_free_ struct ranked_text *sorted = NULL;

	if (k->ranks)
		return;
	sorted = xcalloc(count + 1, sizeof(*sorted));
	k->ranks = xcalloc(count + 1, sizeof(*k->ranks));
	for (string_id i = 0; i < count; i++)
		sorted[i] = (struct ranked_text){strings_get(&k->texts, i), i};
	qsort(sorted, count, sizeof(*sorted), compare_texts);
	for (size_t i = 0; i < count; i++)
		k->ranks[sorted[i].id] = (uint32_t)i + 1;
}

void query_keys_make(struct query_keys *k, const struct query *q, enum query_by by)
{
	const struct profile *p = q->profile;

	*k = (struct query_keys){.by = by};
	k->of_strings = xcalloc(p->strings.rows.count + 1, sizeof(*k->of_strings));
	for (size_t i = 0; i < p->strings.rows.count; i++)
		k->of_strings[i] = NOT_ASKED;
	if (!query_by_has_stacks(by)) {
		k->of_threads = xcalloc(p->threads.rows.count + 1, sizeof(*k->of_threads));
		if (by == QUERY_BY_PROCESS)
			make_of_programs(k, q);
		else
			make_of_threads(k, q);
	} else {
		k->of_stacks = xcalloc(p->stacks.rows.count + 1, sizeof(*k->of_stacks));
		if (by == QUERY_BY_CATEGORY)
			make_of_categories(k, q);
		else
			make_of_frames(k, q);
	}
	free(k->of_strings);
	k->of_strings = NULL;
}

void query_keys_release(struct query_keys *k)
{
	strings_release(&k->texts);
	free(k->ranks);
	vec_release(&k->rows);
	index_release(&k->index);
	free(k->of_stacks);
	free(k->of_threads);
	free(k->firsts);
	free(k->processes);
	*k = (struct query_keys){0};
}

uint32_t query_keys_nothing(struct query_keys *k)
{
	struct query_key key = EMPTY_KEY;

	return intern(k, &key);
}

const char *query_keys_text(const struct query_keys *k, string_id id)
{
	return strings_get(&k->texts, id);
}

static int compare_strings(const struct query_keys *k, string_id a, string_id b)
{
	if (a == b || a == NO_STRING || b == NO_STRING)
		return (a != NO_STRING) - (b != NO_STRING);
	return k->ranks ? COMPARE(k->ranks[a], k->ranks[b])
			: strcmp(query_keys_text(k, a), query_keys_text(k, b));
}

int query_keys_compare(const struct query_keys *k, uint32_t a, uint32_t b)
{
	const struct query_key *x = &k->rows.items[a], *y = &k->rows.items[b];
	const string_id texts[][2] = {
		{x->function, y->function},
		{x->category, y->category},
		{x->process_title, y->process_title},
		{x->process, y->process},
		{x->thread_title, y->thread_title},
		{x->thread, y->thread},
		{x->module, y->module},
		{x->file, y->file},
	};
	int order = 0;

	for (size_t i = 0; !order && i < sizeof(texts) / sizeof(texts[0]); i++)
		order = compare_strings(k, texts[i][0], texts[i][1]);
	order = order ?: COMPARE(x->line, y->line) ?: COMPARE(x->address, y->address);
	return order ?: COMPARE(x->pid, y->pid) ?: COMPARE(x->incarnation, y->incarnation) ?:
	       COMPARE(x->tid, y->tid);
}
