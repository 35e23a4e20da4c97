/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/sanitize.h"

#include <endian.h>

#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/origin.h"
#include "lib/model/tables/copy.h"
#include "lib/query/sanitize/sanitize_internal.h"

static uint64_t rotate(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static void mix(uint64_t v[4], unsigned int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

/* Reads up to 8 bytes, the lowest first. */
static uint64_t read_word(const uint8_t *data, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, data, size);
	return le64toh(word);
}

uint64_t keyed_hash(const uint8_t key[KEYED_HASH_KEY_SIZE], const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t low = read_word(key, 8), high = read_word(key + 8, 8), word;
	uint64_t v[4] = {low ^ 0x736f6d6570736575ull, high ^ 0x646f72616e646f6dull,
			 low ^ 0x6c7967656e657261ull, high ^ 0x7465646279746573ull};
	size_t at = 0;

	for (; size - at >= 8; at += 8) {
		word = read_word(bytes + at, 8);
		v[3] ^= word;
		mix(v, 2);
		v[0] ^= word;
	}
	word = (uint64_t)size << 56 | read_word(bytes + at, size - at);
	v[3] ^= word;
	mix(v, 2);
	v[0] ^= word;
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static string_id intern(struct sanitizer *s, struct strbuf *text)
{
	string_id id = strings_intern_sized(&s->into->strings, strbuf_text(text), text->size);

	strbuf_release(text);
	return id;
}

/* Returns the scrubbed string; NO_STRING for NO_STRING. */
static string_id sanitize_text(struct sanitizer *s, string_id id)
{
	const struct strings *strings = &s->from->strings;
	struct strbuf text = {0};

	if (id == NO_STRING)
		return NO_STRING;
	scrub_text(&s->scrubber, &text, strings_get(strings, id), strings_size(strings, id));
	return intern(s, &text);
}

/* Callbacks of a row_copier, whose ctx is the sanitizer: scrub strings, drop them, map stacks. */
static string_id sanitize_any_text(void *ctx, string_id id)
{
	return sanitize_text(ctx, id);
}

static string_id sanitize_no_text(void *ctx, string_id id)
{
	(void)ctx, (void)id;
	return NO_STRING;
}

static stack_id sanitize_stack(void *ctx, stack_id id)
{
	const struct sanitizer *s = ctx;

	return s->stacks[id];
}

static string_id sanitize_path(struct sanitizer *s, string_id id)
{
	const struct strings *strings = &s->from->strings;
	struct strbuf text = {0};

	if (id == NO_STRING)
		return NO_STRING;
	scrub_path(&s->scrubber, &text, strings_get(strings, id), strings_size(strings, id));
	return intern(s, &text);
}

/* Does the same for strings outside the table; NULL for NULL; the caller frees the result. */
static char *sanitize_copy(struct sanitizer *s, const char *text)
{
	struct strbuf out = {0};

	if (!text)
		return NULL;
	scrub_text(&s->scrubber, &out, text, strlen(text));
	return strbuf_take(&out);
}

/* True if an option hides names, including this one. */
static bool sanitize_hides(const struct sanitizer *s, string_id id)
{
	return s->options->names && id != NO_STRING &&
	       regexec(&s->names, strings_get(&s->from->strings, id), 0, NULL, 0) != 0;
}

static string_id hashed(struct sanitizer *s, const char *text, size_t size)
{
	struct strbuf name = {0};

	s->counts->hashed++;
	strbuf_addf(&name, "f_%016" PRIx64, keyed_hash(s->options->key, text, size));
	return intern(s, &name);
}

/* Returns the name, or its hash if `names` hides the name. */
static string_id sanitize_name(struct sanitizer *s, string_id id)
{
	const struct strings *strings = &s->from->strings;

	return sanitize_hides(s, id)
		       ? hashed(s, strings_get(strings, id), strings_size(strings, id))
		       : sanitize_text(s, id);
}

static string_id sanitize_numbered(struct sanitizer *s, const char *what, uint32_t number)
{
	struct strbuf name = {0};

	strbuf_addf(&name, "%s %" PRIu32, what, number);
	return intern(s, &name);
}

/*
 * Returns only the first word of a name, unless arguments are kept: names from a file may end in an
 * argument, as in "cc1 parse.c".
 */
static string_id sanitize_program_name(struct sanitizer *s, string_id id)
{
	const struct strings *strings = &s->from->strings;
	const char *name = strings_get(strings, id);
	size_t size = strings_size(strings, id), end = size;
	struct strbuf text = {0};

	if (id == NO_STRING)
		return NO_STRING;
	if (s->options->removes[SANITIZE_ARGS])
		end = strcspn(name, " ");
	s->counts->removed[SANITIZE_ARGS] += end < size;
	if (sanitize_hides(s, id))
		return hashed(s, name, end);
	scrub_text(&s->scrubber, &text, name, end);
	return intern(s, &text);
}

/* Return the names of processes and threads, which may be replaced by a number counted from 1. */
static string_id sanitize_process_name(struct sanitizer *s, string_id id, uint32_t number)
{
	if (!s->options->removes[SANITIZE_PROCESSES])
		return sanitize_program_name(s, id);
	s->counts->removed[SANITIZE_PROCESSES]++;
	return sanitize_numbered(s, "process", number);
}

static string_id sanitize_thread_name(struct sanitizer *s, const struct profile_thread *from,
				      uint32_t number)
{
	bool is_process = from->is_main && s->options->removes[SANITIZE_PROCESSES];

	if (s->options->removes[SANITIZE_THREADS] || is_process) {
		s->counts->removed[SANITIZE_THREADS]++;
		return sanitize_numbered(s, "thread", number);
	}
	return from->is_main ? sanitize_program_name(s, from->name) : sanitize_name(s, from->name);
}

/* True for values that cannot contain strings of the recorded programs. */
static bool is_known(const struct profile_extra *extra)
{
	const struct fact_kind *kind;
	double number;

	if (extra->fact == FACT_NONE)
		return false;
	kind = fact_kind(extra->fact);
	return kind->is_harmless &&
	       (kind->format == FACT_FORMAT_TEXT || text_to_double(extra->value, &number));
}

static void copy_extras(struct sanitizer *s)
{
	vec_for_each(&s->from->meta.extra, const struct profile_extra *, extra) {
		char *label, *value;

		if (!is_known(extra)) {
			s->counts->unknown++;
			continue;
		}
		label = sanitize_copy(s, extra->label);
		value = sanitize_copy(s, extra->value);
		profile_add_extra(s->into, extra->section, label, extra->format, value);
		free(label);
		free(value);
	}
}

/*
 * True for "stackwalk", "cpu-clock", "sched:sched_switch"; false for strings that contain a folder.
 */
static bool is_feature(const char *text)
{
	size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_:-");

	return size && size < 64 && !text[size];
}

/* "Linux 6.1.0-27-amd64 x86_64" → "Linux 6.1.0 x86_64": the suffix of the version may be a name. */
static char *plain_os(const char *os)
{
	const char *version = strchr(os, ' '), *machine = strrchr(os, ' ');
	size_t size;

	if (!version || machine == version)
		return xstrdup("Linux");
	size = strspn(version + 1, "0123456789.");
	return xasprintf("Linux %.*s%s", (int)size, version + 1, machine);
}

static bool keeps_product(const struct sanitizer *s, const char *product)
{
	return !s->options->removes[SANITIZE_PROCESSES] &&
	       (!s->options->names || regexec(&s->names, product, 0, NULL, 0) == 0);
}

static char *copy_product(struct sanitizer *s, const char *product)
{
	bool hides = s->options->removes[SANITIZE_ARGS];
	char *program, *copy;

	if (!keeps_product(s, product))
		return NULL;
	program = xstrndup(product, hides ? strcspn(product, " ") : strlen(product));
	copy = sanitize_copy(s, program);
	free(program);
	return copy;
}

/* True if the class is to be removed; counts the removal. */
static bool takes_away(struct sanitizer *s, enum sanitize_class class)
{
	s->counts->removed[class] += s->options->removes[class];
	return s->options->removes[class];
}

static char *copy_text(void *ctx, size_t member, const char *text)
{
	struct sanitizer *s = ctx;

	switch (member) {
	case offsetof(struct profile_meta, product):
		return copy_product(s, text);
	case offsetof(struct profile_meta, command_line):
		return !*text || takes_away(s, SANITIZE_ARGS) ? NULL : sanitize_copy(s, text);
	case offsetof(struct profile_meta, os):
		return s->options->removes[SANITIZE_HOST] ? plain_os(text) : xstrdup(text);
	case offsetof(struct profile_meta, distribution):
		return takes_away(s, SANITIZE_HOST) ? NULL : xstrdup(text);
	case offsetof(struct profile_meta, features):
		s->counts->unknown += !is_feature(text);
		return is_feature(text) ? xstrdup(text) : NULL;
	case offsetof(struct profile_meta, filters): /* the product, below */
		return NULL;
	default:
		return sanitize_copy(s, text);
	}
}

/* Copies properties of the whole recording. */
static void sanitize_meta(struct sanitizer *s)
{
	struct profile_meta *into = &s->into->meta;
	bool hides_times = s->options->removes[SANITIZE_TIMES];

	profile_meta_copy(into, &s->from->meta, copy_text, s);
	if (into->product)
		vec_push(&into->filters, xstrdup(into->product));
	if (hides_times)
		into->start_realtime_ns = 0;
	s->counts->removed[SANITIZE_TIMES] += hides_times;
	s->into->stats.user_stacks = s->from->stats.user_stacks;
	s->into->overhead = s->from->overhead;
	copy_extras(s);
}

static const char *text_of(const struct sanitizer *s, string_id id)
{
	return strings_get(&s->from->strings, id);
}

/* `known`: the schema belongs to markers made by prof. */
static enum value_kind kind_of(const struct sanitizer *s, const struct marker_schema *known,
			       const struct schema_field *field)
{
	const char *key = text_of(s, field->key);

	if (field->personal)
		return VALUE_UNKNOWN;
	for (size_t i = 0; i < MARKER_SCHEMA_FIELDS_MAX && known->fields[i].key; i++) {
		if (strcmp(known->fields[i].key, key) == 0)
			return known->fields[i].value;
	}
	return VALUE_UNKNOWN;
}

/* Returns the class whose removal covers such a value; SANITIZE_CLASS_COUNT if there is none. */
static enum sanitize_class class_of(enum value_kind kind)
{
	switch (kind) {
	case VALUE_FOLDER:
		return SANITIZE_PATHS;
	case VALUE_ARGUMENTS:
		return SANITIZE_ARGS;
	case VALUE_MACHINE:
		return SANITIZE_HOST;
	default:
		return SANITIZE_CLASS_COUNT;
	}
}

static string_id task_or_path(struct sanitizer *s, enum value_kind kind, string_id id)
{
	if (kind == VALUE_TASK)
		return sanitize_program_name(s, id);
	return s->options->names ? sanitize_name(s, id) : sanitize_path(s, id);
}

static struct marker_value text_value(struct sanitizer *s, enum value_kind kind, string_id id)
{
	enum sanitize_class class = class_of(kind);
	bool names_task = kind == VALUE_TASK && (s->options->removes[SANITIZE_PROCESSES] ||
						 s->options->removes[SANITIZE_THREADS]);

	if (kind == VALUE_UNKNOWN || kind == VALUE_NUMBER)
		s->counts->unknown++;
	else if (names_task)
		s->counts->removed[SANITIZE_THREADS]++;
	else if (class != SANITIZE_CLASS_COUNT && s->options->removes[class])
		s->counts->removed[class]++;
	else if (kind == VALUE_TASK || kind == VALUE_PATH)
		return marker_string(task_or_path(s, kind, id));
	else
		return marker_string(sanitize_text(s, id));
	return (struct marker_value){.type = FIELD_NONE};
}

static schema_id copy_schema(struct sanitizer *s, const struct schema *from,
			     const struct marker_schema *known)
{
	const struct schema_field *fields = schema_fields(&s->from->markers.schemas, from);
	struct schema_field rows[SCHEMA_FIELDS_MAX];
	struct schema row = *from;

	row.field_count = 0;
	for (uint32_t i = 0; i < from->field_count; i++) {
		/* Labels may refer to the field. */
		if (fields[i].personal)
			row.chart_label = row.table_label = row.tooltip_label = NO_STRING;
		if (kind_of(s, known, &fields[i]) == VALUE_UNKNOWN)
			continue;
		rows[row.field_count++] = fields[i];
	}
	copy_schema_texts(&row, rows, &(struct copy_rules){s, sanitize_any_text, NULL, NULL});
	return schemas_intern(&s->into->markers.schemas, &row, rows);
}

/* Returns a schema without fields: even the names of fields may be private. */
static schema_id unknown_schema(struct sanitizer *s)
{
	const struct schema row = {
		.name = strings_intern(&s->into->strings, "marker"),
		.chart_label = NO_STRING,
		.table_label = NO_STRING,
		.tooltip_label = NO_STRING,
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE | SHOWN_IN_OVERVIEW,
	};

	return schemas_intern(&s->into->markers.schemas, &row, NULL);
}

static void copy_values(struct sanitizer *s, const struct marker *from, const struct marker *into,
			const struct schema *schema, const struct marker_schema *known,
			const struct copy_rules *rules)
{
	const struct schema_field *fields = schema_fields(&s->from->markers.schemas, schema);
	uint32_t kept = 0;

	for (uint32_t i = 0; i <= schema->field_count; i++) {
		struct marker_value value = *marker_value(&s->from->markers, from, i);
		bool is_cause = i == schema->field_count;
		enum value_kind kind = is_cause ? VALUE_NUMBER : kind_of(s, known, &fields[i]);

		if (value.type == FIELD_STRING)
			value = text_value(s, kind, value.string);
		else
			value = copy_marker_value(&value, rules);
		if (kind != VALUE_UNKNOWN)
			*marker_value(&s->into->markers, into, kept++) = value;
	}
}

/* Copies the stack of the cause, which follows the fields. */
static void copy_cause(struct sanitizer *s, const struct marker *from, const struct marker *into)
{
	stack_id cause = marker_cause(&s->from->markers, from);

	if (cause != NO_STACK)
		*marker_value(&s->into->markers, into, 0) = marker_stack(s->stacks[cause]);
}

/* Adds the marker to the new profile's thread, unless it must be dropped. */
static void sanitize_marker(struct sanitizer *s, const struct marker *from,
			    struct profile_thread *thread)
{
	const struct schema *schema = schemas_get(&s->from->markers.schemas, from->schema);
	const struct marker_schema *known = marker_schema_find(text_of(s, schema->name));
	struct copy_rules rules = {s, NULL, NULL, sanitize_stack};
	schema_id id;
	struct marker row;

	if (s->options->removes[SANITIZE_MARKERS] && !(known && known->stays)) {
		s->counts->removed[SANITIZE_MARKERS]++;
		return;
	}
	id = known ? copy_schema(s, schema, known) : unknown_schema(s);
	s->counts->unknown += !known;
	if (id == NO_SCHEMA) {
		s->counts->unknown += known != NULL;
		return;
	}
	rules.text = known ? sanitize_any_text : sanitize_no_text;
	row = copy_marker_row(id, from, &rules);
	row.first_value = markers_make(&s->into->markers, id, 0, 0).first_value;
	/* The name of a label has its value. */
	if (!known || known == marker_schema(MARKER_LABEL))
		row.name = schemas_get(&s->into->markers.schemas, id)->name;
	if (known)
		copy_values(s, from, &row, schema, known, &rules);
	else
		copy_cause(s, from, &row);
	vec_push(&thread->markers, row);
}

/* Scrubs each string of a list separately. */
static string_id sanitize_list(struct sanitizer *s, string_id id)
{
	const char *text = strings_get(&s->from->strings, id);
	size_t size = strings_size(&s->from->strings, id);
	_cleanup_(strbuf_release) struct strbuf list = {0};

	for (size_t at = 0; at < size; at++) {
		size_t length = strnlen(text + at, size - at);

		scrub_text(&s->scrubber, &list, text + at, length);
		at += length;
		if (at < size)
			strbuf_addch(&list, '\0');
	}
	return strings_intern_list(&s->into->strings, strbuf_text(&list), list.size);
}

static void copy_thread(struct sanitizer *s, thread_id id, uint32_t process)
{
	const struct profile_thread *from = &s->from->threads.rows.items[id];
	const struct copy_rules rules = {s, sanitize_no_text, NULL, sanitize_stack};
	struct profile_thread thread = copy_thread_row(from, &rules);
	struct profile_thread *into;

	thread.name = sanitize_thread_name(s, from, id + 1);
	thread.process_name = sanitize_process_name(s, from->process_name, process);
	if (from->arguments != NO_STRING && !s->options->removes[SANITIZE_ARGS])
		thread.arguments = sanitize_list(s, from->arguments);
	else
		s->counts->removed[SANITIZE_ARGS] += from->arguments != NO_STRING;
	s->counts->removed[SANITIZE_HOST] += from->process_label != NO_STRING;
	into = threads_get(&s->into->threads, threads_add(&s->into->threads, &thread));
	samples_for_each(&from->samples, sample) {
		struct sample copy = *sample;

		copy.stack = copy.stack == NO_STACK ? NO_STACK : s->stacks[copy.stack];
		samples_add(&into->samples, &copy);
	}
	vec_for_each(&from->allocations.rows, const struct allocation *, row)
		vec_push(&into->allocations.rows, copy_allocation_row(row, &rules));
	vec_for_each(&from->markers, const struct marker *, marker)
		sanitize_marker(s, marker, into);
}

static void copy_events(struct sanitizer *s)
{
	for (uint32_t i = 1; i < s->from->events.rows.count; i++) {
		struct event_count row = s->from->events.rows.items[i];

		row.name = sanitize_text(s, row.name);
		row.unit = sanitize_text(s, row.unit);
		*event_counts_get(&s->into->events, i) = row;
	}
}

/* Other counters may have names chosen by the user. */
static bool is_known_counter(const struct sanitizer *s, string_id name)
{
	return name != NO_STRING && counter_is_own(strings_get(&s->from->strings, name));
}

static void copy_counters(struct sanitizer *s)
{
	uint32_t number = 0;

	vec_for_each(&s->from->counters.rows, const struct counter *, from) {
		bool is_known = is_known_counter(s, from->name);
		const struct copy_rules rules = {s, is_known ? sanitize_any_text : sanitize_no_text,
						 NULL, NULL};
		struct counter row = copy_counter_row(from, &rules);

		number++;
		s->counts->unknown += !is_known;
		if (!is_known) {
			row.name = row.label = sanitize_numbered(s, "counter", number);
			row.unit = sanitize_text(s, from->unit);
			row.color = sanitize_text(s, from->color);
		}
		vec_for_each(&from->samples, const struct counter_sample *, sample)
			vec_push(&row.samples, *sample);
		if (profile_counters_add(&s->into->counters, &row) == NO_COUNTER)
			vec_release(&row.samples);
	}
}

/* Copies threads with their samples and markers, and counters. */
static void sanitize_threads(struct sanitizer *s)
{
	const struct threads *threads = &s->from->threads;
	uint32_t process = 0;

	copy_events(s);
	for (thread_id id = 0; id < threads->rows.count; id++) {
		process += threads->rows.items[id].is_main;
		copy_thread(s, id, process);
	}
	copy_counters(s);
}

#define NEW_MAP(map, table) ((map) = xcalloc((table).rows.count + 1, sizeof(*(map))))
#define MAPPED(map, id, none) ((id) == (none) ? (none) : (map)[id])

static void copy_categories(struct sanitizer *s)
{
	vec_for_each(&s->from->categories, const struct profile_category *, from) {
		struct profile_category row = {
			.name = sanitize_copy(s, from->name),
			.color = sanitize_copy(s, from->color),
		};

		vec_for_each(&from->subcategories, char *const *, name)
			vec_push(&row.subcategories, sanitize_copy(s, *name));
		vec_push(&s->into->categories, row);
	}
}

static module_id copy_module(struct sanitizer *s, const struct module *from)
{
	bool hides = sanitize_hides(s, from->name) && !module_is_kernel(from);
	string_id name = hides ? sanitize_name(s, from->name) : sanitize_path(s, from->name);
	string_id path = hides ? name : sanitize_path(s, from->path);
	module_id id = modules_copy(&s->into->modules, from, path, name);
	struct module *into = modules_get(&s->into->modules, id);

	if (hides || s->options->removes[SANITIZE_BUILD_IDS]) {
		s->counts->removed[SANITIZE_BUILD_IDS] += from->build_id_size != 0;
		memset(into->build_id, 0, sizeof(into->build_id));
		into->build_id_size = 0;
	}
	if (module_is_kernel(from))
		into->base = 0;
	vec_release(&into->sections);
	return id;
}

static source_file_id copy_file(struct sanitizer *s, const struct source_file *from)
{
	struct source_files *files = &s->into->source_files;
	source_file_id id = source_files_intern(files, sanitize_path(s, from->path));

	if (!from->text)
		return id;
	if (s->options->removes[SANITIZE_SOURCES])
		s->counts->removed[SANITIZE_SOURCES]++;
	else if (!files->rows.items[id].text)
		source_files_set_text(files, id, xmemdup(from->text, from->size), from->size);
	return id;
}

/*
 * True for "[futex]", "[preempted]": prof's own labels of waits. Other frames without code are
 * spans, named by the recorded program.
 */
static bool is_wait(const char *name)
{
	size_t size = strspn(name + (*name == '['), "abcdefghijklmnopqrstuvwxyz0123456789_ ");

	return *name == '[' && size < 40 && strcmp(name + 1 + size, "]") == 0;
}

/* True for frames without file and language, outside of the categories of code. */
static bool is_told(const struct sanitizer *s, const struct frame *frame)
{
	const struct profile *p = s->from;
	const char *category = frame->category < p->categories.count
				       ? p->categories.items[frame->category].name
				       : NULL;
	const struct func *func;

	if (frame->func == NO_FUNC || frame->module != NO_MODULE ||
	    frame->language != LANGUAGE_NONE)
		return false;
	func = &p->funcs.rows.items[frame->func];
	if (!func->is_named || func->module != NO_MODULE || func->file != NO_SOURCE_FILE)
		return false;
	if (frame->kind == PROFILE_FRAME_LABEL)
		return !is_wait(strings_get(&p->strings, func->name)) ||
		       frame->category == CATEGORY_OTHER;
	return category && strcmp(category, "Other") == 0;
}

static bool is_kernel_func(const struct sanitizer *s, module_id module)
{
	return module != NO_MODULE && module_is_kernel(&s->from->modules.rows.items[module]);
}

/* Synthetic names, kernel names and labels are public. */
static bool is_public_func(const struct sanitizer *s, func_id id)
{
	const struct func *func = &s->from->funcs.rows.items[id];

	return !func->is_named || (s->is_label && s->is_label[id]) ||
	       is_kernel_func(s, func->module);
}

bool sanitize_is_public_module(const struct profile *p, module_id module)
{
	const struct module *row = module == NO_MODULE ? NULL : &p->modules.rows.items[module];

	if (!row || row->kind == PROFILE_MODULE_KERNEL_DYNAMIC)
		return false;
	return module_is_kernel(row) ||
	       (row->path != NO_STRING &&
		scrub_is_public_path(strings_get(&p->strings, row->path),
				     strings_size(&p->strings, row->path)));
}

/* Scrubs paths, users and machines, which even a public name may contain. */
static string_id public_name(struct sanitizer *s, string_id id)
{
	bool users = s->scrubber.users, hosts = s->scrubber.hosts;

	s->scrubber.users = s->scrubber.hosts = false;
	id = sanitize_text(s, id);
	s->scrubber.users = users;
	s->scrubber.hosts = hosts;
	return id;
}

/* Checks the new module, whose path may have become "~/…". */
static string_id code_name(struct sanitizer *s, module_id module, string_id id)
{
	return sanitize_is_public_module(s->into, MAPPED(s->modules, module, NO_MODULE))
		       ? public_name(s, id)
		       : sanitize_text(s, id);
}

static func_id copy_func(struct sanitizer *s, func_id id)
{
	struct func row = s->from->funcs.rows.items[id];

	const char *name = strings_get(&s->from->strings, row.name);

	if (!row.is_named && made_code_is_description(name)) {
		/* The file may be private. */
		row.name = strings_intern(&s->into->strings, made_code_without_file(name));
	} else if (is_public_func(s, id)) {
		row.name = code_name(s, row.module, row.name);
	} else if (sanitize_hides(s, row.name)) {
		row.file = NO_SOURCE_FILE;
		row.line = row.column = 0;
		row.name = sanitize_name(s, row.name);
	} else {
		row.name = code_name(s, row.module, row.name);
	}
	row.module = MAPPED(s->modules, row.module, NO_MODULE);
	row.file = MAPPED(s->files, row.file, NO_SOURCE_FILE);
	return funcs_intern(&s->into->funcs, &row);
}

static symbol_id copy_symbol(struct sanitizer *s, const struct symbol *from)
{
	struct symbol row = *from;

	row.name = is_kernel_func(s, from->module) || !sanitize_hides(s, from->name)
			   ? code_name(s, from->module, from->name)
			   : sanitize_name(s, from->name);
	row.module = MAPPED(s->modules, row.module, NO_MODULE);
	return symbols_intern(&s->into->symbols, &row);
}

/* Drops files used only by hidden functions. */
static void copy_files(struct sanitizer *s)
{
	const struct source_files *files = &s->from->source_files;
	bool *is_used = xcalloc(files->rows.count + 1, sizeof(*is_used));

	for (func_id id = 0; id < s->from->funcs.rows.count; id++) {
		const struct func *func = &s->from->funcs.rows.items[id];

		if (func->file != NO_SOURCE_FILE &&
		    (is_public_func(s, id) || !sanitize_hides(s, func->name)))
			is_used[func->file] = true;
	}
	for (size_t i = 0; i < files->rows.count; i++)
		s->files[i] = is_used[i] ? copy_file(s, &files->rows.items[i]) : NO_SOURCE_FILE;
	free(is_used);
}

static func_id span_func(struct sanitizer *s)
{
	const struct func row = {
		.name = strings_intern(&s->into->strings, "span"),
		.module = NO_MODULE,
		.file = NO_SOURCE_FILE,
		.is_named = true,
	};

	s->counts->unknown++;
	return funcs_intern(&s->into->funcs, &row);
}

/* Drops functions used only by spans. */
static void copy_funcs(struct sanitizer *s)
{
	const struct profile *from = s->from;
	bool *is_used = xcalloc(from->funcs.rows.count + 1, sizeof(*is_used));

	vec_for_each(&from->frames.rows, const struct frame *, frame) {
		if (frame->func != NO_FUNC && !is_told(s, frame))
			is_used[frame->func] = true;
	}
	for (func_id id = 0; id < from->funcs.rows.count; id++)
		s->funcs[id] = is_used[id] ? copy_func(s, id) : NO_FUNC;
	free(is_used);
}

static frame_id copy_frame(struct sanitizer *s, const struct frame *from)
{
	struct frame row = *from;

	row.module = MAPPED(s->modules, row.module, NO_MODULE);
	row.func = is_told(s, from) ? span_func(s) : MAPPED(s->funcs, row.func, NO_FUNC);
	row.symbol = MAPPED(s->symbols, row.symbol, NO_SYMBOL);
	if (row.func != NO_FUNC && s->into->funcs.rows.items[row.func].file == NO_SOURCE_FILE)
		row.line = 0;
	return frames_intern(&s->into->frames, &row);
}

/* Modules, functions, symbols, files, frames and stacks. */
static void sanitize_tables(struct sanitizer *s)
{
	const struct profile *from = s->from;

	NEW_MAP(s->modules, from->modules);
	NEW_MAP(s->files, from->source_files);
	NEW_MAP(s->funcs, from->funcs);
	NEW_MAP(s->symbols, from->symbols);
	NEW_MAP(s->frames, from->frames);
	NEW_MAP(s->stacks, from->stacks);
	copy_categories(s);
	for (size_t i = 0; i < from->modules.rows.count; i++)
		s->modules[i] = copy_module(s, &from->modules.rows.items[i]);
	copy_files(s);
	copy_funcs(s);
	for (size_t i = 0; i < from->symbols.rows.count; i++)
		s->symbols[i] = copy_symbol(s, &from->symbols.rows.items[i]);
	for (size_t i = 0; i < from->frames.rows.count; i++)
		s->frames[i] = copy_frame(s, &from->frames.rows.items[i]);
	for (size_t i = 0; i < from->stacks.rows.count; i++) {
		const struct stack *stack = &from->stacks.rows.items[i];

		s->stacks[i] = stacks_intern(&s->into->stacks,
					     MAPPED(s->stacks, stack->parent, NO_STACK),
					     s->frames[stack->frame]);
	}
}

static void learn(struct scrubber *scrubber, const char *text)
{
	if (text)
		scrubber_learn(scrubber, text, strlen(text));
}

/* "Linux 6.1.0-27-amd64 x86_64" */
static void learn_release(struct scrubber *scrubber, const char *os)
{
	const char *release = os ? strchr(os, ' ') : NULL;

	if (release)
		scrubber_add_release(scrubber, release + 1, strcspn(release + 1, " "));
}

void sanitize_learn(struct scrubber *scrubber, const struct profile *from,
		    const struct sanitize_options *options)
{
	const struct strings *strings = &from->strings;

	for (size_t i = 0; i < options->user_count; i++) {
		scrubber_add_home(scrubber, options->users[i].home);
		scrubber_add_user(scrubber, options->users[i].name);
		scrubber_add_full_name(scrubber, options->users[i].full_name);
	}
	scrubber_add_host(scrubber, options->host);
	learn_release(scrubber, from->meta.os);
	for (string_id id = 0; id < strings->rows.count; id++)
		scrubber_learn(scrubber, strings_get(strings, id), strings_size(strings, id));
	learn(scrubber, from->meta.command_line);
	learn(scrubber, from->meta.product);
	vec_for_each(&from->meta.extra, const struct profile_extra *, extra) {
		learn(scrubber, extra->label);
		learn(scrubber, extra->value);
	}
}

static void prepare(struct sanitizer *s)
{
	const struct sanitize_options *o = s->options;

	s->scrubber.paths = o->removes[SANITIZE_PATHS];
	s->scrubber.users = o->removes[SANITIZE_USERS];
	s->scrubber.hosts = o->removes[SANITIZE_HOST];
	sanitize_learn(&s->scrubber, s->from, o);
	/* Labels of waits are not names of functions. */
	if (o->names && s->from->funcs.rows.count)
		s->is_label = xcalloc(s->from->funcs.rows.count, sizeof(*s->is_label));
	for (size_t i = 0; s->is_label && i < s->from->frames.rows.count; i++) {
		const struct frame *frame = &s->from->frames.rows.items[i];

		if (frame->kind == PROFILE_FRAME_LABEL && frame->func != NO_FUNC)
			s->is_label[frame->func] = true;
	}
}

static void release(struct sanitizer *s)
{
	struct sanitize_counts *counts = s->counts;

	counts->removed[SANITIZE_PATHS] += s->scrubber.changed_paths;
	counts->removed[SANITIZE_USERS] += s->scrubber.changed_users;
	counts->removed[SANITIZE_HOST] += s->scrubber.changed_hosts;
	scrubber_release(&s->scrubber);
	free(s->modules);
	free(s->funcs);
	free(s->symbols);
	free(s->files);
	free(s->frames);
	free(s->stacks);
	free(s->is_label);
	if (s->options->names)
		regfree(&s->names);
}

int sanitize(struct profile **into, const struct profile *from,
	     const struct sanitize_options *options, struct sanitize_counts *counts,
	     struct error *err)
{
	struct sanitizer s = {.options = options, .counts = counts, .from = from};

	*counts = (struct sanitize_counts){0};
	if (options->names && regcomp(&s.names, options->names, REG_EXTENDED | REG_NOSUB))
		return error_text(err, -EINVAL, "names=%s: invalid regular expression",
				  options->names);
	s.into = profile_new();
	prepare(&s);
	sanitize_meta(&s);
	sanitize_tables(&s);
	sanitize_threads(&s);
	release(&s);
	*into = s.into;
	return 0;
}
