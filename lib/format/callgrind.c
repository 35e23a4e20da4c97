/* SPDX-License-Identifier: MIT */
/*
 * Files of callgrind and cachegrind: costs of functions, and of the calls between them. They have
 * no stacks. A function's cost is distributed over its callers in proportion to the costs of their
 * calls, from the outermost function down. Costs that cannot be distributed, as in recursion, go to
 * the heaviest stack, so that the self cost of each function is exact.
 */
#include "lib/format/format.h"

#include "lib/format/foreign.h"

/* Maximum bytes before the line that names the events. */
#define HEAD_MAX 16384
/* Maximum events read from a file. */
#define EVENTS_MAX 16
#define DEPTH_MAX 256
#define PATHS_MAX (1u << 20)
/* Smaller parts of the total cost are not distributed over stacks. */
#define SMALLEST 50000

/* Spaces of compressed names: "(3) name" at first, then "(3)". */
enum space { SPACE_OBJECT, SPACE_FILE, SPACE_FUNCTION };

struct name {
	uint8_t space;
	uint64_t number;
	string_id text;
};

struct function {
	string_id object, file, name;
	frame_id frame;
	uint64_t self[EVENTS_MAX];
	uint64_t given[EVENTS_MAX]; /* part of `self` distributed to stacks */
	double inclusive; /* cost of the first event, including calls */
	bool is_called;
	stack_id heaviest; /* NO_STACK: none */
	double most; /* share of the heaviest stack */
	uint32_t first_call, call_count;
};

struct call {
	uint32_t from, to;
	uint64_t cost; /* cost of the first event */
};

/* The file's current position, to which the next lines belong. */
struct position {
	string_id object, file, name;
};

struct path {
	uint32_t function;
	stack_id outer;
	double cost;
	uint32_t depth;
};

struct callgrind_reader {
	struct foreign f;
	VEC(struct name) names;
	struct index name_index;
	VEC(struct function) functions;
	struct index function_index;
	VEC(struct call) calls;
	struct index call_index;
	VEC(struct path) paths;
	struct position at, callee;
	string_id file; /* file of the next lines, that of code inlined into the function */
	uint32_t function; /* function of `at`; INDEX_NONE: not looked up */
	uint8_t events[EVENTS_MAX];
	uint64_t sizes[EVENTS_MAX]; /* units in a cost of 1 */
	uint64_t last[EVENTS_MAX]; /* costs in the last line, to which "+3", "-3" and "*" refer */
	size_t event_count, position_count;
	bool is_call; /* the next line has the cost of a call */
	uint64_t damaged; /* lines */
};

/* Names. */

INDEX_EQUAL(name_equal, struct callgrind_reader, names,
	    a->space == b->space && a->number == b->number)

static string_id intern(struct callgrind_reader *r, const char *text, const char *end)
{
	_cleanup_free_ char *copy = xstrndup(text, (size_t)(end - text));

	return strings_intern_line(&r->f.profile->strings, copy);
}

static string_id read_name(struct callgrind_reader *r, enum space space, const char *text,
			   const char *end)
{
	struct name name = {.space = space, .text = NO_STRING};
	const char *at = text + 1;
	uint32_t row;

	if (text == end || *text != '(' || !text_scan_decimal(&at, end, &name.number) ||
	    at == end || *at != ')')
		return intern(r, text, end);
	for (at++; at < end && *at == ' ';)
		at++;
	row = index_intern(&r->name_index, hash_pair(name.number, space), name_equal, r, &name,
			   r->names.count);
	if (row == r->names.count)
		vec_push(&r->names, name);
	if (at < end)
		r->names.items[row].text = intern(r, at, end);
	return r->names.items[row].text;
}

INDEX_EQUAL(function_equal, struct callgrind_reader, functions,
	    a->object == b->object && a->file == b->file && a->name == b->name)

static frame_id make_frame(struct callgrind_reader *r, const struct position *at)
{
	const struct strings *strings = &r->f.profile->strings;
	const char *file = strings_get(strings, at->file);
	const char *object = strings_get(strings, at->object);
	_cleanup_free_ char *path = xstrdup(strcmp(object, "???") == 0 ? "" : object);
	_cleanup_free_ char *name = xstrdup(strings_get(strings, at->name));
	_cleanup_free_ char *source = xstrdup(strcmp(file, "???") == 0 ? "" : file);
	const struct foreign_frame frame = {
		.name = *name ? name : "(unknown)",
		.file = source,
		.module = foreign_module(&r->f, path, ""),
	};

	return foreign_frame(&r->f, &frame);
}

static uint32_t find_function(struct callgrind_reader *r, const struct position *at)
{
	struct function function = {
		.object = at->object,
		.file = at->file,
		.name = at->name,
		.heaviest = NO_STACK,
	};
	uint64_t hash = hash_pair(hash_pair(at->object, at->file), at->name);
	uint32_t row = index_intern(&r->function_index, hash, function_equal, r, &function,
				    r->functions.count);

	if (row == r->functions.count) {
		function.frame = make_frame(r, at);
		vec_push(&r->functions, function);
	}
	return row;
}

/* Costs. */

INDEX_EQUAL(call_equal, struct callgrind_reader, calls, a->from == b->from && a->to == b->to)

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Calls lead to the current object and file unless stated otherwise. */
static void begin_callee(struct callgrind_reader *r)
{
	r->callee = (struct position){r->at.object, r->file, NO_STRING};
}

static void add_call(struct callgrind_reader *r, uint64_t cost)
{
	struct call call = {.from = r->function, .to = find_function(r, &r->callee)};
	uint32_t row;

	r->is_call = false;
	begin_callee(r);
	if (call.from == call.to)
		return;
	row = index_intern(&r->call_index, hash_pair(call.from, call.to), call_equal, r, &call,
			   r->calls.count);
	if (row == r->calls.count)
		vec_push(&r->calls, call);
	r->calls.items[row].cost = add_up(r->calls.items[row].cost, cost);
	r->functions.items[call.to].is_called = true;
}

static const char *next_word(const char **at, const char *end)
{
	const char *word;

	while (*at < end && (**at == ' ' || **at == '\t'))
		(*at)++;
	word = *at;
	while (*at < end && **at != ' ' && **at != '\t')
		(*at)++;
	return word;
}

/* Parses "120", and "+20", "-20" or "*" relative to the last cost. */
static bool read_cost(const char *word, const char *end, uint64_t *cost)
{
	uint64_t last = *cost, number = 0;
	char sign = strchr("+-*", *word) ? *word++ : ' ';

	if (sign != '*' && !text_scan_decimal(&word, end, &number))
		return false;
	*cost = sign == '-' ? last - number : sign == ' ' ? number : last + number;
	return word == end && *cost <= INT64_MAX;
}

/* Parses "+3 120 4": positions, then costs; trailing zeros are omitted. */
static void read_costs(struct callgrind_reader *r, struct text_line line)
{
	uint64_t costs[EVENTS_MAX] = {0};
	const char *at = line.text;

	for (size_t i = 0; i < r->position_count; i++)
		next_word(&at, line.end);
	for (size_t i = 0; i < r->event_count; i++) {
		const char *word = next_word(&at, line.end);

		if (word == line.end)
			break;
		if (!read_cost(word, at, &r->last[i]) ||
		    __builtin_mul_overflow(r->last[i], r->sizes[i], &costs[i]) ||
		    costs[i] > INT64_MAX) {
			r->damaged++;
			return;
		}
	}
	if (r->function == INDEX_NONE)
		r->function = find_function(r, &r->at);
	if (r->is_call) {
		add_call(r, costs[0]);
		return;
	}
	for (size_t i = 0; i < r->event_count; i++) {
		uint64_t *self = &r->functions.items[r->function].self[i];

		*self = add_up(*self, costs[i]);
	}
}

static bool starts(struct text_line line, const char *prefix)
{
	size_t size = strlen(prefix);

	return (size_t)(line.end - line.text) >= size && !memcmp(line.text, prefix, size);
}

/* Returns an event's number. Cuts the unit that Xdebug and pprof add: "Time_(10ns)", "cpu(ms)". */
static uint8_t read_event(struct callgrind_reader *r, char *name, uint64_t *size)
{
	char *unit = strchr(name, '('), *end = unit ? strchr(unit, ')') : NULL;
	const char *at;

	*size = 1;
	if (!end || end[1])
		return foreign_measure(&r->f, name, "", EVENT_IS_EXACT);
	at = unit + 1;
	if (!text_scan_decimal(&at, end, size) || !*size)
		*size = 1;
	unit -= unit > name && unit[-1] == '_';
	*unit = *end = '\0';
	return foreign_measure(&r->f, name, strcmp(at, "ns") == 0 ? "nanoseconds" : at,
			       EVENT_IS_EXACT);
}

static void read_events(struct callgrind_reader *r, struct text_line line)
{
	const char *at = line.text, *word;

	r->event_count = 0;
	while ((word = next_word(&at, line.end)) < line.end) {
		_cleanup_free_ char *name = xstrndup(word, (size_t)(at - word));

		if (r->event_count == EVENTS_MAX) {
			r->f.counts->unread[UNREAD_SAMPLES]++;
			continue;
		}
		text_to_line(name);
		r->events[r->event_count] = read_event(r, name, &r->sizes[r->event_count]);
		r->event_count++;
	}
}

static void read_positions(struct callgrind_reader *r, struct text_line line)
{
	const char *at = line.text;

	for (r->position_count = 0; next_word(&at, line.end) < line.end;)
		r->position_count++;
}

/* Reads "key: value" and "key=value". False for other lines. */
static bool read_key(struct callgrind_reader *r, struct text_line line)
{
	static const struct {
		const char *key;
		enum space space;
		bool is_callee;
	} keys[] = {
		{"ob=", SPACE_OBJECT, false},	{"fl=", SPACE_FILE, false},
		{"fn=", SPACE_FUNCTION, false}, {"cob=", SPACE_OBJECT, true},
		{"cfi=", SPACE_FILE, true},	{"cfl=", SPACE_FILE, true},
		{"cfn=", SPACE_FUNCTION, true},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct position *at = keys[i].is_callee ? &r->callee : &r->at;
		string_id *const members[] = {&at->object, &at->file, &at->name};

		if (!starts(line, keys[i].key))
			continue;
		*members[keys[i].space] = read_name(r, keys[i].space,
						    line.text + strlen(keys[i].key), line.end);
		if (!keys[i].is_callee) {
			r->function = INDEX_NONE;
			r->file = r->at.file;
			begin_callee(r);
		}
		return true;
	}
	if (!starts(line, "fi=") && !starts(line, "fe="))
		return false;
	r->file = read_name(r, SPACE_FILE, line.text + 3, line.end);
	begin_callee(r);
	return true;
}

static void read_command(struct callgrind_reader *r, const char *text, const char *end)
{
	while (text < end && *text == ' ')
		text++;
	r->f.profile->meta.command_line = xstrndup(text, (size_t)(end - text));
}

static void read_line(struct callgrind_reader *r, struct text_line line)
{
	if (line.text == line.end || *line.text == '#' || read_key(r, line))
		return;
	if (starts(line, "events:"))
		read_events(r, (struct text_line){line.text + 7, line.end});
	else if (starts(line, "positions:"))
		read_positions(r, (struct text_line){line.text + 10, line.end});
	else if (starts(line, "cmd:") && !r->f.profile->meta.command_line)
		read_command(r, line.text + 4, line.end);
	else if (starts(line, "calls="))
		r->is_call = true;
	else if (strchr("0123456789+-*", *line.text) && *line.text)
		read_costs(r, line);
}

/* Stacks. */

ORDER(compare_calls, struct call, COMPARE(a->from, b->from) ?: COMPARE(a->cost, b->cost))

static void link_calls(struct callgrind_reader *r)
{
	vec_for_each(&r->functions, struct function *, function)
		function->inclusive = (double)function->self[0];
	vec_sort(&r->calls, compare_calls);
	for (uint32_t i = 0; i < r->calls.count; i++) {
		struct function *from = &r->functions.items[r->calls.items[i].from];

		from->first_call = from->call_count ? from->first_call : i;
		from->call_count++;
		from->inclusive += (double)r->calls.items[i].cost;
	}
}

static void add_cost(struct callgrind_reader *r, struct function *function, size_t event,
		     stack_id stack, uint64_t cost)
{
	thread_id thread = 0;

	function->given[event] += cost;
	if (cost && r->events[event])
		foreign_sample(&r->f, thread, r->events[event], r->f.now, stack, cost);
}

static bool is_on(const struct profile *p, stack_id stack, frame_id frame)
{
	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		if (p->stacks.rows.items[stack].frame == frame)
			return true;
	}
	return false;
}

/* Assigns a stack its share of the function's cost, and continues with the calls. */
static void follow(struct callgrind_reader *r, const struct path *path, double least)
{
	struct function *function = &r->functions.items[path->function];
	stack_id stack = stacks_intern(&r->f.profile->stacks, path->outer, function->frame);
	double share = function->inclusive > 0 ? path->cost / function->inclusive : 0;

	share = share < 1 ? share : 1;
	if (function->heaviest == NO_STACK || share > function->most) {
		function->heaviest = stack;
		function->most = share;
	}
	for (size_t i = 0; i < r->event_count; i++) {
		uint64_t left = function->self[i] - function->given[i];
		uint64_t cost = (uint64_t)((double)function->self[i] * share);

		add_cost(r, function, i, stack, cost < left ? cost : left);
	}
	for (uint32_t i = 0; i < function->call_count && path->depth < DEPTH_MAX; i++) {
		const struct call *call = &r->calls.items[function->first_call + i];
		const struct path next = {call->to, stack, (double)call->cost * share,
					  path->depth + 1};

		if (next.cost >= least && next.cost >= 1 && r->paths.count < PATHS_MAX &&
		    !is_on(r->f.profile, stack, r->functions.items[call->to].frame))
			vec_push(&r->paths, next);
	}
}

/* Assigns the rest of the costs to the heaviest stack. */
static void give_rest(struct callgrind_reader *r, struct function *function)
{
	stack_id stack = function->heaviest;

	for (size_t i = 0; i < r->event_count; i++) {
		uint64_t left = function->self[i] - function->given[i];

		if (left && stack == NO_STACK)
			stack = stacks_intern(&r->f.profile->stacks, NO_STACK, function->frame);
		add_cost(r, function, i, stack, left);
	}
}

static void make_stacks(struct callgrind_reader *r)
{
	double all = 0;
	uint32_t steps = 0;

	link_calls(r);
	vec_for_each(&r->functions, const struct function *, function)
		all += (double)function->self[0];
	for (uint32_t i = 0; i < r->functions.count; i++) {
		const struct function *function = &r->functions.items[i];

		if (!function->is_called)
			vec_push(&r->paths, (struct path){i, NO_STACK, function->inclusive, 0});
	}
	while (r->paths.count && steps++ < PATHS_MAX) {
		struct path path = vec_last(&r->paths);

		r->paths.count--;
		follow(r, &path, all / SMALLEST);
	}
	vec_for_each(&r->functions, struct function *, function)
		give_rest(r, function);
}

static int read_lines(struct callgrind_reader *r, const char *text, size_t size, struct error *err)
{
	struct text_lines lines = text_lines_of(text, size);
	struct profile *p = r->f.profile;
	struct text_line line;

	foreign_thread(&r->f, 0, 0, "callgrind", FOREIGN_ALL, false);
	while (text_lines_next(&lines, &line))
		read_line(r, line);
	if (!r->event_count || !r->functions.count)
		return error_text(err, -EBADMSG, "the callgrind profile has no costs");
	if (p->meta.command_line)
		text_to_line(p->meta.command_line);
	p->meta.product = xstrdup("callgrind");
	r->f.counts->unread[UNREAD_WEIGHTS] += r->damaged;
	make_stacks(r);
	return foreign_finish(&r->f, false, err);
}

static int callgrind_read(struct profile **p, const char *text, size_t size,
			  struct import_counts *counts, struct error *err)
{
	const struct position none = {NO_STRING, NO_STRING, NO_STRING};
	struct callgrind_reader r = {.at = none,
				     .callee = none,
				     .file = NO_STRING,
				     .function = INDEX_NONE,
				     .position_count = 1};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_lines(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	vec_release(&r.names);
	index_release(&r.name_index);
	vec_release(&r.functions);
	index_release(&r.function_index);
	vec_release(&r.calls);
	index_release(&r.call_index);
	vec_release(&r.paths);
	return ret;
}

static bool callgrind_matches(const char *text, size_t size)
{
	static const char *const starts[] = {
		"# callgrind format", "version:", "creator:", "desc:", "cmd:", "events:",
		"positions:"};
	size_t head = size < HEAD_MAX ? size : HEAD_MAX;

	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		size_t length = strlen(starts[i]);

		if (size >= length && !memcmp(text, starts[i], length))
			return !memcmp(text, "events:", size < 7 ? size : 7) ||
			       memmem(text, head, "\nevents:", 8);
	}
	return false;
}

const struct format format_callgrind = {
	.name = "callgrind",
	.suffixes = (const char *const[]){NULL},
	.has_linker_names = true,
	.matches = callgrind_matches,
	.read = callgrind_read,
};
