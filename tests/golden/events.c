/* SPDX-License-Identifier: MIT */
#include "tests/golden/events.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/record/record.h"
#include "lib/record/stack_record.h"
#include "tests/golden/event_line.h"

#define DEPTH_MAX 64
#define SEGMENTS_MAX 8
#define LINES_MAX 8
#define CODE_TEXT_MAX 512

static const struct event_word sample_flags[] = {
	{"leaf-kernel", SAMPLE_LEAF_KERNEL},
	{"no-stack", SAMPLE_NO_STACK},
	{"kernel-thread", SAMPLE_KERNEL_THREAD},
	{"exiting", SAMPLE_EXITING},
	{"no-leaf", SAMPLE_NO_LEAF},
	{NULL, 0},
};
static const struct event_word stack_flags[] = {
	{"truncated", STACK_TRUNCATED}, {"user-pc", STACK_USER_PC},
	{"whole", STACK_WHOLE},		{"broken", STACK_BROKEN},
	{"unknown", STACK_UNKNOWN},	{"guessed", STACK_GUESSED},
	{"later", STACK_LATER},		{NULL, 0},
};
static const struct event_word name_flags[] = {
	{"new-space", NAME_NEW_SPACE},	       {"exec", NAME_EXEC},   {"scan", NAME_SCAN},
	{"kernel-thread", NAME_KERNEL_THREAD}, {"moved", NAME_MOVED}, {NULL, 0},
};
static const struct event_word arguments_flags[] = {
	{"cut", ARGUMENTS_CUT},
	{"folder-cut", FOLDER_CUT},
	{"scan", ARGUMENTS_SCAN},
	{NULL, 0},
};
static const struct event_word exit_flags[] = {{"process", EXIT_PROCESS}, {NULL, 0}};
static const struct event_word map_flags[] = {{"kernel", MAP_KERNEL_SPACE}, {NULL, 0}};
static const struct event_word code_flags[] = {{"exact", CODE_EXACT}, {NULL, 0}};
static const struct event_word cpu_flags[] = {{"online", CPU_ONLINE}, {NULL, 0}};
static const struct event_word frame_kinds[] = {
	{"native", FRAME_NATIVE},
	{"kernel", FRAME_KERNEL},
	{"guess", FRAME_GUESS},
	{"signal", FRAME_SIGNAL},
	{NULL, 0},
};
static const struct event_word module_kinds[] = {
	{"file", MODULE_FILE},
	{"vdso", MODULE_VDSO},
	{"kernel", MODULE_KERNEL},
	{"kernel-module", MODULE_KERNEL_MODULE},
	{"kernel-dynamic", MODULE_KERNEL_DYNAMIC},
	{NULL, 0},
};
static const struct event_word lost_causes[] = {
	{"ring-full", LOST_RING_FULL},
	{"stack", LOST_STACK},
	{"event", LOST_EVENT},
	{"mapping", LOST_MAPPING},
	{"tracking", LOST_TRACKING},
	{"no-ring", LOST_NO_RING},
	{NULL, 0},
};
static const struct event_word module_none[] = {{"none", NO_REC_MODULE}, {NULL, 0}};

/* Room for a record at the end; valid until the next one. */
static void *add_record(struct events *e, struct event_line *l, enum rec_kind kind, size_t size)
{
	struct rec *rec = (struct rec *)vec_add_zeroed(&e->words, size / 8);
	uint32_t pid = (uint32_t)event_line_number(l, "pid", 0);

	record_init(rec, kind, size, EVENTS_START_NS + event_line_time(l, "time"), pid,
		    (uint32_t)event_line_number(l, "tid", pid));
	rec->cpu = (uint16_t)event_line_number(l, "cpu", 0);
	return rec;
}

static void copy_name(struct event_line *l, char *name)
{
	char *text = event_line_text(l, "name");
	size_t size = text ? event_text_unescape(text) : 0;

	memcpy(name, text ? text : "", size < REC_NAME_SIZE ? size : REC_NAME_SIZE);
}

static void fill_sample(struct rec_sample *rec, struct event_line *l)
{
	rec->rec.flags = event_line_flags(l, sample_flags);
	rec->leaf = event_line_number(l, "leaf", 0);
	rec->stack_id = (uint32_t)event_line_number(l, "stack", 0);
}

static void parse_event(struct events *e, struct event_line *l)
{
	struct rec_event *rec = add_record(e, l, REC_EVENT, sizeof(*rec));

	fill_sample(&rec->sample, l);
	rec->event = (uint32_t)event_line_number(l, "event", 0);
	rec->period = event_line_number(l, "period", 1);
}

static void parse_event_name(struct events *e, struct event_line *l)
{
	char *name = event_line_text(l, "name");
	size_t size = name ? event_text_unescape(name) : 0;
	struct rec_event_name *rec = add_record(e, l, REC_EVENT_NAME, rec_event_name_size(size));

	rec->event = (uint32_t)event_line_number(l, "event", 0);
	rec->name_size = (uint32_t)size;
	memcpy(rec->name, name ? name : "", size);
}

static void parse_throttled(struct events *e, struct event_line *l)
{
	struct rec_throttled *rec = add_record(e, l, REC_THROTTLED, sizeof(*rec));

	rec->duration = event_line_time(l, "duration");
	rec->event = (uint32_t)event_line_number(l, "event", 0);
}

static void parse_sample(struct events *e, struct event_line *l)
{
	struct rec_sample *rec = add_record(e, l, REC_SAMPLE, sizeof(*rec));

	fill_sample(rec, l);
	rec->rec.weight = (uint16_t)event_line_number(l, "weight", 1);
	rec->cpu_time = (uint32_t)(event_line_time(l, "cpu-time") >> 4);
}

static void parse_stack(struct events *e, struct event_line *l)
{
	uint64_t addrs[DEPTH_MAX];
	uint8_t kinds[DEPTH_MAX] = {0};
	size_t kernel = event_line_numbers(l, "kernel", addrs, DEPTH_MAX);
	size_t depth = kernel + event_line_numbers(l, "user", addrs + kernel, DEPTH_MAX - kernel);

	memset(kinds, FRAME_KERNEL, kernel);
	event_line_words(l, "kinds", frame_kinds, kinds, depth);

	_cleanup_free_ struct rec_stack *made = stack_record_new(addrs, kinds, (uint16_t)kernel,
								 (uint16_t)(depth - kernel));
	size_t size = record_size(&made->rec), body = offsetof(struct rec_stack, run_count);
	struct rec_stack *rec = add_record(e, l, REC_STACK, size);

	memcpy((char *)rec + body, (char *)made + body, size - body);
	rec->rec.flags = event_line_flags(l, stack_flags);
	rec->stack_id = (uint32_t)event_line_number(l, "id", 0);
	rec->prefix_id = (uint32_t)event_line_number(l, "outer", 0);
	rec->prefix_skip = (uint16_t)event_line_number(l, "outer-skip", 0);
}

static void parse_fork(struct events *e, struct event_line *l)
{
	struct rec_fork *rec = add_record(e, l, REC_FORK, sizeof(*rec));

	rec->parent_pid = (uint32_t)event_line_number(l, "parent", 0);
	rec->parent_tid = (uint32_t)event_line_number(l, "parent-tid", rec->parent_pid);
	rec->ns_pid = (uint32_t)event_line_number(l, "inner-pid", 0);
	copy_name(l, rec->name);
}

static void parse_home(struct events *e, struct event_line *l)
{
	const char *cgroup = event_line_text(l, "cgroup");
	size_t size = cgroup ? strlen(cgroup) : 0;
	struct rec_container *rec = add_record(e, l, REC_CONTAINER, rec_container_size(size));

	rec->ns_pid = (uint32_t)event_line_number(l, "inner-pid", 0);
	rec->cgroup_size = (uint32_t)size;
	memcpy(rec->cgroup, cgroup ? cgroup : "", size);
}

static void parse_user(struct events *e, struct event_line *l)
{
	struct rec_user *rec = add_record(e, l, REC_USER, sizeof(*rec));

	rec->uid = (uint32_t)event_line_number(l, "uid", 0);
	rec->gid = (uint32_t)event_line_number(l, "gid", rec->uid);
}

/* arguments=cc,-c,a.c */
static void parse_arguments(struct events *e, struct event_line *l)
{
	char *folder = event_line_text(l, "folder"), *list = event_line_text(l, "arguments");
	size_t folder_size = folder ? event_text_unescape(folder) : 0;
	size_t size = list ? event_text_unescape(list) + 1 : 0;
	struct rec_arguments *rec = add_record(e, l, REC_ARGUMENTS,
					       rec_arguments_size(folder_size, size));

	for (size_t i = 0; i < size; i++) {
		if (list[i] == ',')
			list[i] = '\0';
	}
	rec->rec.flags = event_line_flags(l, arguments_flags);
	rec->folder_size = (uint16_t)folder_size;
	rec->arguments_size = (uint16_t)size;
	memcpy(rec->text, folder ? folder : "", folder_size);
	memcpy(rec->text + folder_size, list ? list : "", size);
}

static void parse_name(struct events *e, struct event_line *l)
{
	struct rec_name *rec = add_record(e, l, REC_NAME, sizeof(*rec));

	rec->rec.flags = event_line_flags(l, name_flags);
	copy_name(l, rec->name);
}

static void parse_exit(struct events *e, struct event_line *l)
{
	struct rec_exit *rec = add_record(e, l, REC_EXIT, sizeof(*rec));

	rec->rec.flags = event_line_flags(l, exit_flags);
	rec->status = (uint32_t)event_line_number(l, "status", 0);
}

static void parse_map(struct events *e, struct event_line *l)
{
	struct rec_map *rec = add_record(e, l, REC_MAP, sizeof(*rec));
	char *module = event_line_text(l, "module");
	uint64_t id = NO_REC_MODULE;

	if (!module || (strcmp(module, module_none[0].name) != 0 && !event_number(module, &id)))
		event_line_problem(l, "not a module:", module ? module : "");
	rec->rec.flags = event_line_flags(l, map_flags);
	rec->start = event_line_number(l, "start", 0);
	rec->end = event_line_number(l, "end", 0);
	rec->file_offset = event_line_number(l, "offset", 0);
	rec->module_id = (uint32_t)id;
}

static void parse_build_id(struct event_line *l, struct rec_module *rec)
{
	const char *text = event_line_text(l, "build-id");

	while (text && text[0] && text[1] && rec->build_id_size < REC_BUILD_ID_MAX) {
		char digits[] = {'0', 'x', text[0], text[1], '\0'};
		uint64_t byte = 0;

		if (!event_number(digits, &byte))
			event_line_problem(l, "not a build id:", text);
		rec->build_id[rec->build_id_size++] = (uint8_t)byte;
		text += 2;
	}
}

static size_t parse_segments(struct event_line *l, struct rec_segment *segments)
{
	size_t count = 0;
	char *text;

	while (count < SEGMENTS_MAX && (text = event_line_text(l, "segment"))) {
		struct rec_segment *segment = &segments[count++];
		char *rest = NULL, *part = strtok_r(text, ":", &rest);
		uint64_t numbers[3] = {0};
		size_t given = 0;

		for (; part && given < 3 && event_number(part, &numbers[given]); given++)
			part = strtok_r(NULL, ":", &rest);
		if (given < 3)
			event_line_problem(l, "not offset:size:vaddr[:x]:", text);
		segment->file_offset = numbers[0];
		segment->file_size = numbers[1];
		segment->vaddr = numbers[2];
		segment->executable = part && strcmp(part, "x") == 0;
	}
	return count;
}

static void parse_module(struct events *e, struct event_line *l)
{
	struct rec_segment segments[SEGMENTS_MAX] = {0};
	size_t count = parse_segments(l, segments);
	char *path = event_line_text(l, "path");
	size_t path_size = path ? event_text_unescape(path) : 0;
	struct rec_module *rec = add_record(e, l, REC_MODULE,
					    rec_module_size((unsigned int)count, path_size));

	rec->module_id = (uint32_t)event_line_number(l, "id", 0);
	rec->kind = (uint8_t)event_line_word(l, "kind", module_kinds, MODULE_FILE);
	rec->base = event_line_number(l, "base", 0);
	rec->machine = (uint16_t)event_line_number(l, "machine", 62);
	parse_build_id(l, rec);
	rec->segment_count = (uint16_t)count;
	rec->path_size = (uint16_t)path_size;
	memcpy(rec->segments, segments, count * sizeof(*segments));
	memcpy((char *)rec_module_path(rec), path ? path : "", path_size);
}

static void parse_lost(struct events *e, struct event_line *l)
{
	struct rec_lost *rec = add_record(e, l, REC_LOST, sizeof(*rec));

	rec->cause = event_line_word(l, "cause", lost_causes, LOST_RING_FULL);
	rec->event = (uint32_t)event_line_number(l, "event", 0);
	rec->count = event_line_number(l, "count", 0);
}

static void parse_cpu(struct events *e, struct event_line *l)
{
	struct rec_cpu *rec = add_record(e, l, REC_CPU, sizeof(*rec));

	rec->rec.flags = event_line_flags(l, cpu_flags);
}

/* offset:line:file, each with its file's name in the text */
static size_t parse_lines(struct event_line *l, struct rec_code_line *lines, char *names,
			  size_t *size)
{
	size_t count = 0;
	char *text;

	while (count < LINES_MAX && (text = event_line_text(l, "line"))) {
		struct rec_code_line *line = &lines[count++];
		char *rest = NULL, *part = strtok_r(text, ":", &rest);
		uint64_t numbers[2] = {0};
		size_t given = 0;

		for (; part && given < 2 && event_number(part, &numbers[given]); given++)
			part = strtok_r(NULL, ":", &rest);
		if (given < 2 || !part || *size + strlen(part) + 1 > CODE_TEXT_MAX) {
			event_line_problem(l, "not offset:line:file:", text);
			return count;
		}
		*line = (struct rec_code_line){
			.offset = (uint32_t)numbers[0],
			.line = (uint32_t)numbers[1],
			.file = (uint32_t)*size,
		};
		memcpy(names + *size, part, strlen(part) + 1);
		*size += strlen(part) + 1;
	}
	return count;
}

static void parse_code(struct events *e, struct event_line *l)
{
	struct rec_code_line lines[LINES_MAX] = {0};
	char text[CODE_TEXT_MAX] = {0}, *name = event_line_text(l, "name");
	size_t size = name ? event_text_unescape(name) : 0, count;

	if (size >= CODE_TEXT_MAX)
		event_line_problem(l, "too long:", name);
	else
		memcpy(text, name ? name : "", size++);
	count = parse_lines(l, lines, text, &size);

	struct rec_code *rec = add_record(e, l, REC_CODE, rec_code_size((unsigned int)count, size));

	rec->rec.flags = event_line_flags(l, code_flags);
	rec->since = EVENTS_START_NS + event_line_time(l, "since");
	rec->start = event_line_number(l, "start", 0);
	rec->size = event_line_number(l, "size", 0);
	rec->line_count = (uint32_t)count;
	rec->text_size = (uint32_t)size;
	memcpy(rec->lines, lines, count * sizeof(*lines));
	memcpy((char *)rec_code_text(rec), text, size);
}

static void parse_end(struct events *e, struct event_line *l)
{
	e->end_ns = EVENTS_START_NS + event_line_time(l, "time");
}

static char *text_field(struct event_line *l, const char *key)
{
	char *text = event_line_text(l, key);

	if (text)
		event_text_unescape(text);
	return text;
}

static void parse_answer(struct events *e, struct event_line *l)
{
	struct events_answer answer = {
		.module = text_field(l, "module"),
		.offset = event_line_number(l, "offset", 0),
		.symbol = text_field(l, "symbol"),
		.symbol_start = event_line_number(l, "start", 0),
		.symbol_size = event_line_number(l, "size", 0),
	};

	if (answer.module && strcmp(answer.module, module_none[0].name) == 0)
		answer.module = NULL;
	for (char *func; (func = text_field(l, "func")) && answer.depth < EVENTS_CHAIN_MAX;) {
		struct events_name *name = &answer.chain[answer.depth++];

		name->func = func;
		name->file = text_field(l, "file");
		name->line = (uint32_t)event_line_number(l, "line", 0);
	}
	vec_push(&e->answers, answer);
}

static const struct {
	const char *kind;
	void (*parse)(struct events *e, struct event_line *l);
} parsers[] = {
	{"sample", parse_sample},	{"stack", parse_stack}, {"fork", parse_fork},
	{"name", parse_name},		{"exit", parse_exit},	{"map", parse_map},
	{"module", parse_module},	{"lost", parse_lost},	{"cpu", parse_cpu},
	{"code", parse_code},		{"event", parse_event}, {"event-name", parse_event_name},
	{"throttled", parse_throttled}, {"end", parse_end},	{"answer", parse_answer},
	{"home", parse_home},		{"user", parse_user},	{"arguments", parse_arguments},
};

static void parse_line(struct events *e, struct event_line *l)
{
	for (size_t i = 0; i < sizeof(parsers) / sizeof(*parsers); i++) {
		if (strcmp(parsers[i].kind, l->kind) == 0) {
			parsers[i].parse(e, l);
			event_line_finish(l);
			return;
		}
	}
	event_line_problem(l, "unknown kind:", l->kind);
}

int events_parse(struct events *e, const char *text, struct error *err)
{
	char *copy = xstrdup(text), *rest = copy;
	struct event_line line;
	int number = 0;

	/* Answers point into it. */
	vec_push(&e->texts, copy);
	for (char *at; (at = strsep(&rest, "\n"));) {
		number++;
		event_line_split(&line, at);
		if (line.kind && !line.problem[0])
			parse_line(e, &line);
		if (line.problem[0])
			return error_text(err, -EINVAL, "line %d: %s", number, line.problem);
	}
	return 0;
}

void events_release(struct events *e)
{
	vec_for_each(&e->texts, char **, text)
		free(*text);
	vec_release(&e->texts);
	vec_release(&e->words);
	vec_release(&e->answers);
}

const struct rec *events_next(const struct events *e, size_t *word)
{
	const struct rec *rec = (const struct rec *)(e->words.items + *word);

	if (*word >= e->words.count)
		return NULL;
	*word += rec->words;
	return rec;
}
