/* SPDX-License-Identifier: MIT */
#include "lib/format/foreign.h"

#include <float.h>
#include <math.h>

#include "lib/model/languages/language.h"

/* Maximum length of a number. */
#define NUMBER_MAX 64

bool json_members_begin(const char *text, size_t size, const char *const *wanted,
			const char *const *others)
{
	struct json_cursor s;

	json_cursor_init(&s, text, size);
	if (json_cursor_peek(&s) != '{')
		return false;
	json_for_each_member(&s, key) {
		if (span_is_one_of(&s, key, wanted))
			return true;
		if (span_is_one_of(&s, key, others))
			return false;
	}
	return false;
}

/* Converts most numbers of files, faster than the library. All integers of so many digits fit. */
static bool is_small_integer(const char *text, size_t size, double *number)
{
	int64_t value = 0;

	if (size > DBL_DIG)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (!decimal_is_digit(text[i]))
			return false;
		value = value * 10 + (text[i] - '0');
	}
	*number = (double)value;
	return true;
}

double json_members_number(struct json_cursor *s)
{
	char text[NUMBER_MAX];
	struct span value;
	double number;
	size_t size;

	if (!strchr("-0123456789", json_cursor_peek(s)) || !json_cursor_value(s, &value))
		return 0;
	size = value.end - value.start;
	if (is_small_integer(s->text + value.start, size, &number))
		return number;
	if (size >= sizeof(text))
		size = sizeof(text) - 1;
	memcpy(text, s->text + value.start, size);
	text[size] = '\0';
	number = strtod(text, NULL);
	return isfinite(number) ? number : 0;
}

double json_members_number_at(const struct json_cursor *whole, struct span span)
{
	struct json_cursor s = json_cursor_within(whole, span);

	return span.end ? json_members_number(&s) : 0;
}

char *json_members_text_at(const struct json_cursor *whole, struct span span)
{
	struct json_cursor s = json_cursor_within(whole, span);

	return span.end ? json_cursor_text(&s) : xstrdup("");
}

/* Maximum of rows for large weights. Beyond, weights are cut and counted. */
#define SPLIT_ROWS_MAX (1u << 20)
/* Maximum of ticks of a sample in profiles without times. */
#define TICKS_MAX 1000000
/* Maximum of counters, and of values of each. */
#define LEVELS_MAX 1024
#define COUNTER_SAMPLES_MAX (1u << 17)
/* Sampling interval if the profile lacks it. */
#define INTERVAL_NS 1000000
/* Fewer say little about the interval. */
#define DISTANCES_MIN 10

void foreign_init(struct foreign *f, struct import_counts *counts)
{
	*f = (struct foreign){.profile = profile_new()};
	f->counts = counts ? counts : &f->own;
	*f->counts = (struct import_counts){0};
	f->profile->meta.symbolicated = true;
}

void foreign_end(struct foreign *f, int ret, struct profile **out)
{
	vec_release(&f->threads);
	vec_release(&f->modules);
	index_release(&f->thread_index);
	index_release(&f->module_index);
	index_release(&f->counter_index);
	if (ret)
		profile_free(f->profile);
	else
		*out = f->profile;
}

int foreign_json(struct json_cursor *s, const char *text, size_t size, struct json_ends *ends,
		 struct error *err)
{
	struct json_cursor whole;

	json_cursor_init(s, text, size);
	s->ends = ends;
	whole = *s;
	json_cursor_skip(&whole);
	if (!json_cursor_end(&whole))
		return error_text(err, -EBADMSG,
				  whole.at == size ? "the JSON is cut off at byte %zu"
						   : "invalid JSON at byte %zu",
				  whole.at);
	return 0;
}

INDEX_EQUAL(module_equal, struct foreign, modules, a->path == b->path && a->build_id == b->build_id)

static enum profile_module_kind kind_of(const char *path)
{
	if (path[0] != '[')
		return module_path_is_dump(path) ? PROFILE_MODULE_CODE_DUMP : PROFILE_MODULE_FILE;
	if (strcmp(path, "[vdso]") == 0)
		return PROFILE_MODULE_VDSO;
	return text_starts_with(path, "[kernel") || text_starts_with(path, "[guest.kernel")
		       ? PROFILE_MODULE_KERNEL
		       : PROFILE_MODULE_KERNEL_MODULE;
}

static void set_build_id(struct module *module, const char *text)
{
	size_t size = strlen(text) / 2;

	if (!size || size > sizeof(module->build_id) || strlen(text) % 2)
		return;
	for (size_t i = 0; i < size; i++) {
		const char *at = text + 2 * i;
		uint64_t byte;

		if (!text_scan_hex(&at, at + 2, &byte) || at != text + 2 * i + 2)
			return;
		module->build_id[i] = (uint8_t)byte;
	}
	module->build_id_size = (uint8_t)size;
}

module_id foreign_module(struct foreign *f, const char *path, const char *build_id)
{
	static const char *const no_files[] = {"[unknown]", "[anon]", "[heap]", "[stack]",
					       "//anon"};
	struct strings *strings = &f->profile->strings;
	const char *slash = strrchr(path, '/');
	struct foreign_module row;
	uint64_t hash;
	uint32_t at;

	for (size_t i = 0; i < sizeof(no_files) / sizeof(*no_files); i++) {
		if (!*path || strcmp(path, no_files[i]) == 0)
			return NO_MODULE;
	}
	row.path = strings_intern(strings, path);
	row.build_id = strings_intern(strings, build_id);
	hash = hash_pair(row.path, row.build_id);
	at = index_find(&f->module_index, hash, module_equal, f, &row);
	if (at != INDEX_NONE)
		return f->modules.items[at].id;
	row.id = modules_add(&f->profile->modules, kind_of(path), row.path,
			     slash && slash[1] && path[0] != '['
				     ? strings_intern(strings, slash + 1)
				     : row.path);
	set_build_id(modules_get(&f->profile->modules, row.id), build_id);
	index_add(&f->module_index, hash, (uint32_t)f->modules.count);
	vec_push(&f->modules, row);
	return row.id;
}

/* A segment without contents before the first makes addresses in the file the same as offsets. */
void foreign_segment(struct foreign *f, module_id id, uint64_t start, uint64_t limit,
		     uint64_t offset)
{
	struct module *module = id == NO_MODULE ? NULL : modules_get(&f->profile->modules, id);
	struct module_segment segment = {
		.file_offset = offset,
		.file_size = limit - start,
		.vaddr = start,
		.executable = true,
	};

	if (!module || limit <= start || segment.file_size > UINT64_MAX - offset)
		return;
	vec_for_each(&module->segments, const struct module_segment *, other) {
		if (offset < other->file_offset + other->file_size &&
		    other->file_offset < offset + segment.file_size)
			return;
	}
	if (!module->segments.count)
		vec_push(&module->segments, (struct module_segment){.vaddr = start - offset});
	vec_push(&module->segments, segment);
}

frame_id foreign_frame(struct foreign *f, const struct foreign_frame *frame)
{
	struct profile *p = f->profile;
	bool has_name = frame->name && *frame->name;
	struct func func = {
		.module = frame->module,
		.file = NO_SOURCE_FILE,
		.line = frame->func_line,
		.column = frame->func_column,
		.is_js = frame->is_js,
		.is_named = true,
	};
	struct frame row = {
		.module = frame->module,
		.func = NO_FUNC,
		.offset = frame->address,
		.symbol = NO_SYMBOL,
		.line = frame->line,
		.inline_depth = frame->inline_depth,
		.language = frame->is_js ? LANGUAGE_JAVASCRIPT : LANGUAGE_NONE,
		.kind = frame->is_kernel ? PROFILE_FRAME_KERNEL : PROFILE_FRAME_NATIVE,
	};

	if (frame->module != NO_MODULE && module_is_kernel(modules_get(&p->modules, frame->module)))
		row.kind = PROFILE_FRAME_KERNEL;
	if (has_name) {
		func.name = strings_intern(&p->strings, frame->name);
		if (frame->file && *frame->file)
			func.file = source_files_intern(&p->source_files,
							strings_intern(&p->strings, frame->file));
		row.func = funcs_intern(&p->funcs, &func);
	} else {
		p->meta.symbolicated = false;
	}
	return frames_intern(&p->frames, &row);
}

INDEX_EQUAL(thread_equal, struct foreign, threads,
	    a->pid == b->pid && a->tid == b->tid && a->name == b->name)

/* True for the first thread of a pid, which is the main one. */
static bool is_first(struct foreign *f, uint32_t pid)
{
	const struct foreign_thread key = {.pid = pid, .tid = UINT32_MAX, .name = NO_STRING - 1};
	uint64_t hash = hash_pair(pid, UINT32_MAX);

	if (index_find(&f->thread_index, hash, thread_equal, f, &key) != INDEX_NONE)
		return false;
	index_add(&f->thread_index, hash, (uint32_t)f->threads.count);
	vec_push(&f->threads, key);
	return true;
}

/* Counts votes for the names of a thread, of which the one of the majority remains. */
static void vote(struct foreign *f, struct foreign_thread *row, const struct profile_thread *given)
{
	struct profile_thread *thread = &f->profile->threads.rows.items[row->id];

	if (thread->name == given->name) {
		row->votes++;
	} else if (row->votes) {
		row->votes--;
	} else {
		thread->name = given->name;
		if (given->process_name != NO_STRING)
			thread->process_name = given->process_name;
		row->votes = 1;
	}
}

thread_id foreign_thread(struct foreign *f, uint32_t pid, uint32_t tid, const char *process,
			 const char *name, bool by_name)
{
	struct strings *strings = &f->profile->strings;
	struct foreign_thread row = {.pid = pid, .tid = tid, .name = NO_STRING, .votes = 1};
	struct profile_thread thread = {
		.pid = pid,
		.tid = tid,
		.process_label = NO_STRING,
		.arguments = NO_STRING,
	};
	uint64_t hash = hash_pair(pid, tid);
	uint32_t at;

	thread.name = name ? strings_intern(strings, name) : NO_STRING;
	thread.process_name = process ? strings_intern(strings, process) : NO_STRING;
	if (by_name)
		row.name = thread.name;
	at = index_find(&f->thread_index, hash, thread_equal, f, &row);
	if (at != INDEX_NONE) {
		if (!by_name && name)
			vote(f, &f->threads.items[at], &thread);
		return f->threads.items[at].id;
	}
	thread.is_main = is_first(f, pid);
	row.id = threads_add(&f->profile->threads, &thread);
	index_add(&f->thread_index, hash, (uint32_t)f->threads.count);
	vec_push(&f->threads, row);
	return row.id;
}

void foreign_name_processes(struct foreign *f)
{
	struct threads *threads = &f->profile->threads;

	vec_for_each(&threads->rows, struct profile_thread *, thread) {
		const struct foreign_thread main = {
			.pid = thread->pid, .tid = thread->pid, .name = NO_STRING};
		uint32_t at = index_find(&f->thread_index, hash_pair(thread->pid, thread->pid),
					 thread_equal, f, &main);

		if (thread->process_name == NO_STRING && at != INDEX_NONE)
			thread->process_name =
				threads_get(threads, f->threads.items[at].id)->process_name;
		if (thread->process_name == NO_STRING)
			thread->process_name = thread->name;
	}
}

const char *foreign_thread_of(char *text, uint32_t *tid)
{
	char *id = *text == '[' ? strstr(text, "tid=") : NULL;
	const char *at = id ? id + 4 : text;
	uint64_t number;

	if (!id || !text_scan_decimal(&at, text + strlen(text), &number) || number > INT32_MAX ||
	    strcmp(at, "]") != 0 || (id > text + 1 && id[-1] != ' '))
		return NULL;
	*tid = (uint32_t)number;
	id[id > text + 1 ? -1 : 0] = '\0';
	return text + 1;
}

char foreign_mark(const char *text, size_t size)
{
	if (size < 5 || text[size - 4] != '_' || text[size - 3] != '[' || text[size - 1] != ']')
		return '\0';
	return strchr("kij01", text[size - 2]) ? text[size - 2] : '\0';
}

uint8_t foreign_event(struct foreign *f, const char *name)
{
	uint8_t number = profile_event(f->profile, name);

	f->counts->unread[UNREAD_SAMPLES] += !number;
	return number;
}

uint8_t foreign_measure(struct foreign *f, const char *name, const char *unit, uint64_t period)
{
	struct profile *p = f->profile;
	size_t known = p->events.rows.count;
	/* Both may be strings of the profile, which move. */
	_cleanup_free_ char *both = xasprintf("%s/%s", name, *unit ? unit : "count");
	string_id id = *unit && strcmp(unit, "count") != 0 ? strings_intern(&p->strings, unit)
							   : NO_STRING;
	_cleanup_free_ char *only = xstrndup(both, strlen(name));
	uint8_t number = foreign_event(f, only);
	struct event_count *row;

	if (!number)
		return 0;
	row = &p->events.rows.items[number];
	if (number < known && row->unit != id) {
		number = foreign_event(f, both);
		row = &p->events.rows.items[number];
	}
	row->unit = number ? id : NO_STRING;
	row->period = number ? period : 0;
	return number;
}

static void add_row(struct foreign *f, thread_id thread, const struct sample *sample)
{
	struct profile *p = f->profile;

	samples_add(&threads_get(&p->threads, thread)->samples, sample);
	if (!sample->event) {
		p->stats.cpu_samples++;
		return;
	}
	p->events.rows.items[sample->event].samples++;
	p->events.rows.items[sample->event].weight += sample->weight;
}

void foreign_add(struct foreign *f, thread_id thread, const struct sample *like, uint64_t weight)
{
	struct sample sample = *like;

	while (weight) {
		sample.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
		add_row(f, thread, &sample);
		weight -= sample.weight;
		if (!weight)
			break;
		if (f->split_rows++ >= SPLIT_ROWS_MAX) {
			f->counts->unread[UNREAD_WEIGHTS]++;
			break;
		}
	}
}

void foreign_sample(struct foreign *f, thread_id thread, uint8_t event, uint64_t time,
		    stack_id stack, uint64_t weight)
{
	const struct sample sample = {.time = time, .stack = stack, .cpu = NO_CPU, .event = event};

	foreign_add(f, thread, &sample, weight);
}

/* Rounding may change a thousandth of the whole time. */
static bool are_multiples(const double *lengths, size_t count, double interval)
{
	double sum = 0, rest = 0;

	for (size_t i = 0; i < count; i++) {
		sum += lengths[i];
		rest += fabs(lengths[i] - round(lengths[i] / interval) * interval);
	}
	return rest <= sum / 1000;
}

double foreign_interval(const double *lengths, size_t count, double shortest, double least)
{
	static const uint8_t parts[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50};

	for (size_t i = 0; i < sizeof(parts) && shortest / parts[i] >= least; i++) {
		if (are_multiples(lengths, count, shortest / parts[i]))
			return shortest / parts[i];
	}
	return fmax(shortest / 100, least);
}

ORDER(compare_distances, uint64_t, COMPARE(*a, *b))

void foreign_guess_interval(struct foreign *f)
{
	VEC(uint64_t) distances = {0};

	vec_for_each(&f->profile->threads.rows, const struct profile_thread *, thread) {
		uint64_t last = CLOCK_NO_TIME;

		samples_for_each(&thread->samples, sample) {
			if (sample->event || sample->time == CLOCK_NO_TIME)
				continue;
			if (sample->time > last && distances.count < FOREIGN_LENGTHS_MAX)
				vec_push(&distances, sample->time - last);
			last = sample->time;
		}
	}
	if (distances.count >= DISTANCES_MIN) {
		vec_sort(&distances, compare_distances);
		f->profile->meta.interval_ns =
			MAX((distances.items[distances.count / 2] + 500) / 1000 * 1000, 1000);
	}
	vec_release(&distances);
}

uint32_t foreign_place(uint64_t number)
{
	return number <= INT32_MAX ? (uint32_t)number : 0;
}

void foreign_run_parallel(struct foreign *f, double length, uint64_t duration)
{
	if (duration && clock_can_show(duration) && length > (double)duration)
		f->pace = (double)duration / length;
	f->duration = (double)duration;
}

void foreign_pass(struct foreign *f, uint64_t ticks)
{
	uint64_t interval = f->profile->meta.interval_ns, length;

	if (f->pace > 0) {
		f->passed += (double)ticks * (double)interval * f->pace;
		f->now = (uint64_t)fmin(f->passed, f->duration);
		return;
	}
	if (ticks > TICKS_MAX)
		ticks = TICKS_MAX;
	if (!__builtin_mul_overflow(ticks, interval ? interval : INTERVAL_NS, &length) &&
	    clock_can_show(length) && clock_can_show(f->now + length))
		f->now += length;
}

/* Counters have levels, and differences only at the end. */

static void drop_half(struct profile *p, struct counter *counter)
{
	size_t count = counter->samples.count / 2;

	for (size_t i = 0; i < count; i++)
		counter->samples.items[i] = counter->samples.items[2 * i + 1];
	counter->samples.count = count;
	p->stats.merged_counter_values += count;
}

INDEX_EQUAL(counter_equal, struct profile_counters, rows, a->pid == b->pid && a->name == b->name)

void foreign_level(struct foreign *f, uint32_t pid, const char *name, const char *unit,
		   bool is_memory, uint64_t time, int64_t level)
{
	struct profile *p = f->profile;
	string_id id = strings_intern(&p->strings, name);
	struct counter like = {
		.pid = pid,
		.name = id,
		.label = id,
		.category = strings_intern(&p->strings, is_memory ? "Memory" : "CPU"),
		.description = NO_STRING,
		.unit = strings_intern(&p->strings, unit),
		.color = strings_intern(&p->strings, is_memory ? "orange" : "blue"),
		.graph = COUNTER_LEVEL,
	};
	struct counter *counter;
	uint32_t row;

	row = index_find(&f->counter_index, hash_pair(pid, id), counter_equal, &p->counters, &like);
	if (row == INDEX_NONE) {
		if (p->counters.rows.count == LEVELS_MAX) {
			f->counts->unread[UNREAD_COUNTERS]++;
			return;
		}
		row = profile_counters_add(&p->counters, &like);
		index_add(&f->counter_index, hash_pair(pid, id), row);
	}
	counter = &p->counters.rows.items[row];
	if (counter->samples.count == COUNTER_SAMPLES_MAX)
		drop_half(p, counter);
	vec_push(&counter->samples, (struct counter_sample){time, level});
}

ORDER(compare_counter_samples, struct counter_sample, COMPARE(a->time, b->time))

/* Converts levels into differences from the preceding levels. */
static void finish_counters(struct profile *p)
{
	vec_for_each(&p->counters.rows, struct counter *, counter) {
		int64_t before = 0;
		size_t count = 0;

		vec_sort(&counter->samples, compare_counter_samples);
		vec_for_each(&counter->samples, const struct counter_sample *, sample) {
			const struct counter_sample row = {sample->time,
							   counter_add(sample->delta, -before)};

			before = sample->delta;
			if (count && counter->samples.items[count - 1].time == row.time)
				counter->samples.items[count - 1].delta = counter_add(
					counter->samples.items[count - 1].delta, row.delta);
			else
				counter->samples.items[count++] = row;
		}
		counter->samples.count = count;
	}
}

int foreign_finish(struct foreign *f, bool has_times, struct error *err)
{
	struct profile *p = f->profile;
	const struct time_range passed = {0, f->now};
	const struct time_range *stated = f->stated.end > f->stated.start ? &f->stated : NULL;

	finish_counters(p);
	if (!p->threads.rows.count)
		foreign_thread(f, 0, 0, NULL, FOREIGN_ALL, false);
	if (!p->meta.interval_ns)
		p->meta.interval_ns = INTERVAL_NS;
	p->meta.root_pid = p->threads.rows.items[0].pid;
	if (!has_times)
		profile_add_text(
			p, FACT_NO_TIMES, NULL,
			p->stats.cpu_samples
				? "none: samples follow one another, each as long as its weight"
			: stated ? "the duration alone"
				 : NO_TIMES_AT_ALL);
	profile_set_range(p, has_times ? stated : &passed);
	return 0;
}
