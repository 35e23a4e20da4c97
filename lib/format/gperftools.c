/* SPDX-License-Identifier: MIT */
/*
 * Address profiles written by gperftools, jemalloc and older Go: text files for heaps, contentions,
 * threads and counts, and a binary CPU profile. The program's mappings follow. In those of Java,
 * numbers of methods are in place of addresses, and the methods follow.
 */
#include "lib/format/format.h"

#include <math.h>

#include "lib/base/bytes.h"
#include "lib/format/foreign.h"
#include "lib/format/pprof_fields.h"
#include "lib/model/meaning/recording_markers.h"

#define DEPTH_MAX 1024
/* Bytes of a file that determine its kind. */
#define HEAD_SIZE 128
#define VALUES_MAX 4
/* Bytes between sampled allocations of Java. */
#define JAVA_RATE 524288

enum kind {
	KIND_HEAP, /* "n: bytes [n: bytes] @ addresses" */
	KIND_JEMALLOC, /* "@ addresses", then "t*: n: bytes [n: bytes]" */
	KIND_CONTENTION, /* "delay n @ addresses" */
	KIND_THREADS, /* one address per line, and a line before each thread */
	KIND_JAVA_HEAP, /* "bytes n @ addresses" */
	KIND_COUNT, /* "n @ addresses" */
};

struct mapping {
	uint64_t start, end, offset;
	module_id module;
};

struct method {
	uint64_t number;
	frame_id frame;
};

struct old_reader {
	struct foreign f;
	struct text_lines lines;
	enum kind kind;
	VEC(struct mapping) mappings;
	VEC(struct method) methods; /* of Java, by number */
	bool is_java;
	uint8_t events[VALUES_MAX];
	double rate; /* bytes between sampled allocations; 0: all count */
	double cycles, period; /* for contentions: units per second, contentions per sample */
	uint64_t duration_ms; /* for contentions; 0: unknown */
	uint64_t pcs[DEPTH_MAX], values[VALUES_MAX];
	size_t depth;
	bool has_sample; /* pcs and values are set; their names may follow */
	VEC(frame_id) named; /* frames of the comments after a sample, innermost first */
};

static bool starts(struct text_line line, const char *prefix)
{
	size_t size = strlen(prefix);

	return (size_t)(line.end - line.text) >= size && !memcmp(line.text, prefix, size);
}

/* Stacks. */

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

static const char *skip_word(const char *at, const char *end)
{
	while (at < end && *at != ' ' && *at != '\t')
		at++;
	return at;
}

/* Reads "5f3e0000-5f3f0000 r-xp 00000000 08:01 12 /lib/x.so", or "5f3e0000-5f3f0000: /lib/x.so". */
static void read_mapping(struct old_reader *r, struct text_line line)
{
	const char *at = skip_blanks(line.text, line.end);
	struct mapping row = {0};

	if (!text_scan_hex(&at, line.end, &row.start) || at == line.end || *at++ != '-' ||
	    !text_scan_hex(&at, line.end, &row.end) || row.end <= row.start || line.end - at < 2)
		return;
	if (*at == ':') {
		at = skip_blanks(at + 1, line.end);
	} else {
		if (line.end - at < 6 || at[3] != 'x')
			return;
		at += 6;
		if (!text_scan_hex(&at, line.end, &row.offset))
			return;
		/* The device and the inode. */
		for (int i = 0; i < 2; i++)
			at = skip_word(skip_blanks(at, line.end), line.end);
		at = skip_blanks(at, line.end);
	}
	if (at < line.end) {
		_cleanup_free_ char *name = xstrndup(at, (size_t)(line.end - at));

		text_to_line(name);
		row.module = foreign_module(&r->f, name, "");
		vec_push(&r->mappings, row);
	}
}

ORDER(compare_mappings, struct mapping, COMPARE(a->start, b->start))

static void read_mappings(struct old_reader *r, const char *text, size_t size)
{
	struct text_lines lines = text_lines_of(text, size);
	struct text_line line;

	while (text_lines_next(&lines, &line))
		read_mapping(r, line);
	vec_sort(&r->mappings, compare_mappings);
}

/* Reads " 0x0000a1 com.example.Work.run (Work.java:12)". */
static void read_method(struct old_reader *r, struct text_line line)
{
	struct foreign_frame frame = {.module = NO_MODULE};
	const char *at = skip_blanks(line.text, line.end), *digits;
	_cleanup_free_ char *text = NULL;
	struct method row;
	char *open, *colon;
	uint64_t number;

	if (line.end - at < 3 || at[0] != '0' || at[1] != 'x')
		return;
	at += 2;
	if (!text_scan_hex(&at, line.end, &row.number) || skip_blanks(at, line.end) == line.end)
		return;
	at = skip_blanks(at, line.end);
	text = xstrndup(at, (size_t)(line.end - at));
	text_to_line(text);
	frame.name = text;
	open = strstr(text, " (");
	if (open && text_ends_with(text, ")")) {
		text[strlen(text) - 1] = '\0';
		*open = '\0';
		frame.file = open + 2;
		colon = strrchr(open + 2, ':');
		digits = colon ? colon + 1 : "";
		if (colon && text_scan_decimal(&digits, colon + strlen(colon + 1) + 1, &number) &&
		    number <= INT32_MAX) {
			*colon = '\0';
			frame.line = (uint32_t)number;
		}
	}
	row.frame = foreign_frame(&r->f, &frame);
	vec_push(&r->methods, row);
}

ORDER(compare_methods, struct method, COMPARE(a->number, b->number))

static void read_methods(struct old_reader *r, const char *text, size_t size)
{
	struct text_lines lines = text_lines_of(text, size);
	struct text_line line;

	r->is_java = true;
	while (text_lines_next(&lines, &line))
		read_method(r, line);
	vec_sort(&r->methods, compare_methods);
}

static frame_id frame_at(struct old_reader *r, uint64_t pc)
{
	struct foreign_frame frame = {.module = NO_MODULE, .address = pc};
	size_t count = vec_count_front(&r->mappings, it, it->start <= pc);
	const struct mapping *row = count ? &r->mappings.items[count - 1] : NULL;

	count = vec_count_front(&r->methods, it, it->number < pc);
	if (count < r->methods.count && r->methods.items[count].number == pc)
		return r->methods.items[count].frame;
	if (row && pc < row->end) {
		frame.module = row->module;
		frame.address = pc - row->start + row->offset;
	}
	return foreign_frame(&r->f, &frame);
}

/* All addresses are return addresses, except a signal's. */
static stack_id make_stack(struct old_reader *r, bool has_leaf)
{
	struct stacks *stacks = &r->f.profile->stacks;
	stack_id stack = NO_STACK;

	for (size_t i = r->named.count; i-- > 0;)
		stack = stacks_intern(stacks, stack, r->named.items[i]);
	if (r->named.count)
		return stack;
	for (size_t i = r->depth; i-- > 0;) {
		uint64_t pc = r->pcs[i];

		/* The signal handler may record the leaf twice. */
		if (has_leaf && i == 1 && pc == r->pcs[0])
			continue;
		pc -= (i || !has_leaf) && pc && !r->is_java;
		stack = stacks_intern(stacks, stack, frame_at(r, pc));
	}
	return stack;
}

/* Scales counts of sampled allocations to the total. */
static void scale(const struct old_reader *r, uint64_t *count, uint64_t *bytes)
{
	double mean = *count ? (double)*bytes / (double)*count : 0, factor;

	if (!(r->rate > 1) || !(mean > 0))
		return;
	factor = 1 / (1 - exp(-mean / r->rate));
	*count = (uint64_t)((double)*count * factor + 0.5);
	*bytes = (uint64_t)((double)*bytes * factor + 0.5);
}

/* Returns the size of one block of a sample, before it is scaled; 0: unknown. */
static int64_t block_size(const struct old_reader *r)
{
	const uint64_t *pair = r->values[0] ? r->values : r->values + 2;

	return pair[0] ? (int64_t)(pair[1] / pair[0]) : 0;
}

static void add_sample(struct old_reader *r)
{
	struct label_marker label = {.key = "bytes", .unit = ""};
	uint64_t start = r->f.now;
	stack_id stack;

	if (!r->has_sample)
		return;
	r->has_sample = false;
	stack = make_stack(r, r->kind == KIND_THREADS);
	if (r->kind == KIND_HEAP || r->kind == KIND_JEMALLOC || r->kind == KIND_JAVA_HEAP) {
		label.number = block_size(r);
		scale(r, &r->values[0], &r->values[1]);
		scale(r, &r->values[2], &r->values[3]);
	}
	for (size_t i = 0; i < VALUES_MAX; i++) {
		if (r->events[i] && r->values[i] <= INT64_MAX)
			foreign_sample(&r->f, 0, r->events[i], r->f.now, stack, r->values[i]);
		r->values[i] = 0;
	}
	foreign_pass(&r->f, 1);
	if (label.number > 0)
		label_marker_add(r->f.profile, 0, &label, start, r->f.now);
	vec_clear(&r->named);
	r->depth = 0;
}

/* Lines. */

static bool skip_to(const char **at, const char *end, const char *punctuation)
{
	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
	for (; *punctuation; punctuation++) {
		if (*at == end || **at != *punctuation)
			return false;
		(*at)++;
		while (*at < end && **at == ' ')
			(*at)++;
	}
	return true;
}

/* Reads "n: bytes [n: bytes]". */
static bool read_heap(const char **at, const char *end, uint64_t values[4])
{
	static const char *const after[] = {":", "[", ":", "]"};

	for (size_t i = 0; i < 4; i++) {
		if (!skip_to(at, end, "") || !text_scan_decimal(at, end, &values[i]) ||
		    !skip_to(at, end, after[i]))
			return false;
	}
	return true;
}

static void read_addresses(struct old_reader *r, const char *at, const char *end)
{
	uint64_t pc;

	while (at < end && r->depth < DEPTH_MAX) {
		while (at < end && *at == ' ')
			at++;
		if (end - at > 2 && at[0] == '0' && at[1] == 'x')
			at += 2;
		if (!text_scan_hex(&at, end, &pc))
			break;
		r->pcs[r->depth++] = pc;
	}
}

/* Reads the numbers before the stack, by kind. */
static bool read_values(struct old_reader *r, const char **at, const char *end)
{
	uint64_t delay, count;

	switch (r->kind) {
	case KIND_HEAP:
		return read_heap(at, end, r->values);
	case KIND_CONTENTION:
		if (!skip_to(at, end, "") || !text_scan_decimal(at, end, &delay) ||
		    !skip_to(at, end, "") || !text_scan_decimal(at, end, &count))
			return false;
		r->values[0] = (uint64_t)fmin((double)count * r->period, 9e18);
		r->values[1] = (uint64_t)fmin((double)delay * r->period / r->cycles * 1e9, 9e18);
		return true;
	case KIND_JAVA_HEAP:
		return skip_to(at, end, "") && text_scan_decimal(at, end, &r->values[1]) &&
		       skip_to(at, end, "") && text_scan_decimal(at, end, &r->values[0]);
	case KIND_COUNT:
		return skip_to(at, end, "") && text_scan_decimal(at, end, &r->values[0]);
	default:
		return true;
	}
}

static void read_sample(struct old_reader *r, struct text_line line)
{
	const char *at = line.text;

	add_sample(r);
	if (!read_values(r, &at, line.end) || !skip_to(&at, line.end, "@")) {
		r->f.counts->unread[UNREAD_MEMBERS]++;
		return;
	}
	read_addresses(r, at, line.end);
	r->has_sample = true;
}

/* Parses "#\t0x46d3c4\tmain.f+0x24\t/path/x.go:12", by which Go names the addresses of a sample. */
static void read_named(struct old_reader *r, struct text_line line)
{
	_cleanup_free_ char *text = xstrndup(line.text, (size_t)(line.end - line.text));
	struct foreign_frame frame = {.module = NO_MODULE};
	char *save = NULL, *name, *place, *colon, *plus;
	const char *digits;
	uint64_t number;

	strtok_r(text, "\t", &save);
	name = strtok_r(NULL, "\t", &save) ? strtok_r(NULL, "\t", &save) : NULL;
	place = name ? strtok_r(NULL, "\t", &save) : NULL;
	if (!place || !r->has_sample || r->named.count == DEPTH_MAX)
		return;
	place += strspn(place, " ");
	text_to_line(name);
	text_to_line(place);
	plus = strrchr(name, '+');
	if (plus)
		*plus = '\0';
	colon = strrchr(place, ':');
	digits = colon ? colon + 1 : "";
	if (colon && text_scan_decimal(&digits, place + strlen(place), &number) &&
	    number <= INT32_MAX) {
		*colon = '\0';
		frame.line = (uint32_t)number;
	}
	frame.name = name;
	frame.file = place;
	vec_push(&r->named, foreign_frame(&r->f, &frame));
}

/* Reads "cycles/second = 2000", "sampling period = 5" and Java's "resolution = microseconds". */
static void read_setting(struct old_reader *r, struct text_line line)
{
	static const struct {
		const char *name;
		double per_second;
	} units[] = {{"seconds", 1}, {"milliseconds", 1e3}, {"microseconds", 1e6}};
	const char *equals = memchr(line.text, '=', (size_t)(line.end - line.text));
	uint64_t number;

	if (!equals++)
		return;
	equals = skip_blanks(equals, line.end);
	for (size_t i = 0; i < 3 && starts(line, "resolution"); i++) {
		if ((size_t)(line.end - equals) == strlen(units[i].name) &&
		    !memcmp(equals, units[i].name, strlen(units[i].name)))
			r->cycles = units[i].per_second;
	}
	if (!text_scan_decimal(&equals, line.end, &number) || !number)
		return;
	if (starts(line, "cycles/second"))
		r->cycles = (double)number;
	else if (starts(line, "sampling period"))
		r->period = (double)number;
	else if (starts(line, "ms since reset"))
		r->duration_ms = number;
}

/* The sum over all threads comes first; the values per thread are left out. */
static void read_jemalloc(struct old_reader *r, struct text_line line)
{
	const char *at = line.text;

	skip_to(&at, line.end, "");
	if (at < line.end && *at == '@')
		read_sample(r, line);
	else if (line.end - at > 3 && !memcmp(at, "t*:", 3) && r->has_sample) {
		at += 3;
		read_heap(&at, line.end, r->values);
	}
}

static void read_line(struct old_reader *r, struct text_line line)
{
	if (line.text == line.end)
		return;
	if (starts(line, "#"))
		read_named(r, line);
	else if (r->kind == KIND_JEMALLOC)
		read_jemalloc(r, line);
	else if ((r->kind == KIND_CONTENTION || r->kind == KIND_JAVA_HEAP) &&
		 memchr(line.text, '=', (size_t)(line.end - line.text)))
		read_setting(r, line);
	else if (r->kind == KIND_THREADS && starts(line, "---")) {
		add_sample(r);
		r->has_sample = starts(line, "--- Thread ");
		r->values[0] = 1;
	} else if (r->kind == KIND_THREADS) {
		const char *at = line.text;

		skip_to(&at, line.end, "");
		if (line.end - at > 3 && !memcmp(at, "PC:", 3))
			at += 3;
		read_addresses(r, at, line.end);
	} else if (!r->is_java || !starts(line, " 0x")) {
		read_sample(r, line);
	}
}

/* Heads. */

static void add_events(struct old_reader *r, const char *const *names)
{
	for (size_t i = 0; i < VALUES_MAX && names[2 * i]; i++)
		r->events[i] = foreign_measure(&r->f, names[2 * i], names[2 * i + 1],
					       EVENT_IS_EXACT);
}

/* Sets the rate of sampling by "heapprofile", "heap_v2/524288" or Go's "heap/1048576". */
static void read_rate(struct old_reader *r, struct text_line line)
{
	const char *slash = memrchr(line.text, '/', (size_t)(line.end - line.text));
	bool is_twice = slash && slash - line.text > 5 && !memcmp(slash - 5, " heap", 5);
	uint64_t rate;

	if (!slash)
		return;
	slash++;
	if (text_scan_decimal(&slash, line.end, &rate) && rate < 1ull << 53)
		r->rate = (double)rate / (is_twice ? 2 : 1);
}

static void read_head(struct old_reader *r, struct text_line line)
{
	static const char *const heap[] = {"inuse_objects", "count", "inuse_space", "bytes",
					   "alloc_objects", "count", "alloc_space", "bytes"};
	static const char *const contention[] = {"contentions", "count", "delay", "nanoseconds",
						 NULL};
	static const char *const java[] = {"inuse_objects", "count", "inuse_space", "bytes", NULL};
	_cleanup_free_ char *name = NULL;
	const char *const count[] = {"thread", "count", NULL};
	const char *colon;

	if (starts(line, "heap")) {
		r->kind = starts(line, "heap_v2/") ? KIND_JEMALLOC : KIND_HEAP;
		read_rate(r, line);
		add_events(r, heap);
		r->f.profile->events.rows.items[r->events[1]].is_default = true;
	} else if (starts(line, "--- contention") || starts(line, "--- mutex")) {
		r->kind = KIND_CONTENTION;
		add_events(r, contention);
		r->f.profile->events.rows.items[r->events[1]].is_default = true;
	} else if (starts(line, "--- heapz")) {
		r->kind = KIND_JAVA_HEAP;
		r->rate = JAVA_RATE;
		add_events(r, java);
		r->f.profile->events.rows.items[r->events[1]].is_default = true;
	} else if (starts(line, "--- thread")) {
		r->kind = KIND_THREADS;
		add_events(r, count);
	} else {
		colon = memchr(line.text, ' ', (size_t)(line.end - line.text));
		name = xstrndup(line.text, (size_t)((colon ? colon : line.end) - line.text));
		r->kind = KIND_COUNT;
		add_events(r, (const char *const[]){name, "count", NULL});
	}
}

static void keep_number(struct old_reader *r, const char *name, double number)
{
	_cleanup_free_ char *text = xasprintf("%.0f", number);

	profile_add_extra(r->f.profile, PPROF_SECTION, name, "integer", text);
}

/* Keeps how the values were sampled, and for how long, for a file of pprof. */
static void keep_period(struct old_reader *r)
{
	bool is_heap = r->kind == KIND_HEAP || r->kind == KIND_JEMALLOC;
	uint64_t duration_ns;

	if (!is_heap && r->kind != KIND_CONTENTION)
		return;
	profile_add_extra(r->f.profile, PPROF_SECTION, PPROF_PERIOD_TYPE, "string",
			  is_heap ? "space/bytes" : "contentions/count");
	keep_number(r, PPROF_PERIOD, !is_heap ? r->period : r->rate > 1 ? r->rate : 1);
	if (!r->duration_ms || __builtin_mul_overflow(r->duration_ms, 1000000, &duration_ns) ||
	    !clock_can_show(duration_ns))
		return;
	keep_number(r, PPROF_DURATION, (double)duration_ns);
	r->f.stated.end = duration_ns;
	if (duration_ns > r->f.now)
		r->f.now = duration_ns;
}

/* Returns the position of the program's mappings, or the end. */
static size_t find_mappings(const char *text, size_t size)
{
	static const char *const titles[] = {"MAPPED_LIBRARIES:", "\n--- Memory map: ---",
					     "# runtime.MemStats"};
	const char *at = NULL;

	for (size_t i = 0; !at && i < sizeof(titles) / sizeof(*titles); i++)
		at = memmem(text, size, titles[i], strlen(titles[i]));
	return at ? (size_t)(at - text) : size;
}

static void read_text(struct old_reader *r, const char *text, size_t size)
{
	static const char java[] = "\nformat = java\n";
	size_t end = find_mappings(text, size);
	struct text_lines lines = text_lines_of(text, end);
	struct text_line line;

	if (memmem(text, size < HEAD_SIZE ? size : HEAD_SIZE, java, strlen(java)))
		read_methods(r, text, size);
	else
		read_mappings(r, text + end, size - end);
	r->cycles = 1e9;
	r->period = 1;
	if (text_lines_next(&lines, &line))
		read_head(r, line);
	while (text_lines_next(&lines, &line))
		read_line(r, line);
	add_sample(r);
	keep_period(r);
}

/* The binary CPU profile: words of 8 or 4 bytes, in machine order. */

struct words {
	struct bytes bytes;
	uint8_t size;
	bool is_big;
};

static uint64_t next_word(struct words *w)
{
	const uint8_t *at = bytes_take(&w->bytes, w->size);
	uint64_t value = 0;

	for (size_t i = 0; at && i < w->size; i++)
		value |= (uint64_t)at[i] << 8 * (w->is_big ? w->size - 1u - i : i);
	return value;
}

/*
 * Reads "0, 3 or more, 0, period in µs, 0", in which Java has 1 in place of the second 0. Returns
 * the period; 0: not such a file.
 */
static uint64_t begin_words(struct words *w, const char *text, size_t size, bool *is_java)
{
	for (unsigned int form = 0; form < 4; form++) {
		uint64_t head[5];

		*w = (struct words){.size = form & 1 ? 4 : 8, .is_big = form & 2};
		bytes_init(&w->bytes, text, size);
		for (size_t i = 0; i < 5; i++)
			head[i] = next_word(w);
		*is_java = head[2] == 1;
		if (!head[0] && head[1] == 3 && head[2] <= 1 && head[3] && head[3] <= 100000000 &&
		    !head[4] && !w->bytes.failed)
			return head[3];
	}
	return 0;
}

static int read_cpu(struct old_reader *r, struct words *w, struct error *err)
{
	const struct bytes start = w->bytes;
	uint64_t count, depth;
	bool is_end;

	/* The mappings follow the samples. */
	for (int pass = 0; pass < 2; pass++) {
		w->bytes = start;
		is_end = false;
		for (;;) {
			count = next_word(w);
			depth = next_word(w);
			if (depth > DEPTH_MAX || w->bytes.failed)
				break;
			for (r->depth = 0; r->depth < depth; r->depth++)
				r->pcs[r->depth] = next_word(w);
			is_end = !count && depth == 1 && !r->pcs[0];
			if (is_end || w->bytes.failed)
				break;
			if (pass) {
				foreign_sample(&r->f, 0, 0, r->f.now, make_stack(r, true), count);
				foreign_pass(&r->f, count);
			}
		}
		if (!is_end || w->bytes.failed)
			return error_text(err, -EBADMSG, "the gperftools CPU profile is damaged");
		if (!pass && r->is_java)
			read_methods(r, (const char *)w->bytes.at, bytes_left(&w->bytes));
		else if (!pass)
			read_mappings(r, (const char *)w->bytes.at, bytes_left(&w->bytes));
	}
	return 0;
}

static int read_any(struct old_reader *r, const char *text, size_t size, struct error *err)
{
	struct words words;
	uint64_t period = begin_words(&words, text, size, &r->is_java);
	int ret = 0;

	foreign_thread(&r->f, 0, 0, NULL, FOREIGN_ALL, false);
	r->f.profile->meta.product = xstrdup("gperftools");
	if (period) {
		r->f.profile->meta.interval_ns = 1000 *
						 machine_number(period, CLOCK_TIME_MAX / 1000);
		ret = read_cpu(r, &words, err);
	} else {
		r->is_java = false;
		read_text(r, text, size);
	}
	return ret ? ret : foreign_finish(&r->f, false, err);
}

static int gperftools_read(struct profile **p, const char *text, size_t size,
			   struct import_counts *counts, struct error *err)
{
	struct old_reader *r = xcalloc(1, sizeof(*r));
	int ret;

	foreign_init(&r->f, counts);
	ret = read_any(r, text, size, err);
	foreign_end(&r->f, ret, p);
	vec_release(&r->mappings);
	vec_release(&r->methods);
	vec_release(&r->named);
	free(r);
	return ret;
}

static bool gperftools_matches(const char *text, size_t size)
{
	static const char *const heads[] = {"heap profile:", "heap_v2/",    "--- contention",
					    "--- mutex:",    "--- threadz", "--- heapz"};
	struct text_lines lines = text_lines_of(text, size < HEAD_SIZE ? size : HEAD_SIZE);
	struct text_line line;
	struct words words;
	bool is_java;

	if (!text_lines_next(&lines, &line))
		return false;
	return array_find(heads, it, starts(line, *it)) ||
	       memmem(line.text, (size_t)(line.end - line.text), " profile: total ", 16) ||
	       begin_words(&words, text, size, &is_java);
}

const struct format format_gperftools = {
	.name = "gperftools",
	.suffixes = (const char *const[]){NULL},
	.matches = gperftools_matches,
	.read = gperftools_read,
};
