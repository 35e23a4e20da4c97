/* SPDX-License-Identifier: MIT */
#include "tests/golden/record_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/model/facts/facts.h"
#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/golden/events.h"

static const struct event_word sample_flags[] = {
	{"leaf-kernel", SAMPLE_LEAF_KERNEL},
	{"no-stack", SAMPLE_NO_STACK},
	{"kernel-thread", SAMPLE_KERNEL_THREAD},
	{"exiting", SAMPLE_EXITING},
	{"no-leaf", SAMPLE_NO_LEAF},
	{"leaf-managed", SAMPLE_LEAF_MANAGED},
	{NULL, 0},
};
static const struct event_word stack_flags[] = {
	{"truncated", STACK_TRUNCATED},
	{"user-pc", STACK_USER_PC},
	{"whole", STACK_WHOLE},
	{"broken", STACK_BROKEN},
	{"unknown", STACK_UNKNOWN},
	{"guessed", STACK_GUESSED},
	{"later", STACK_LATER},
	{"leaf-replaced", STACK_LEAF_REPLACED},
	{NULL, 0},
};
static const struct event_word counter_flags[] = {
	{"total", COUNTER_TOTAL},
	{NULL, 0},
};
static const struct event_word fork_flags[] = {
	{"running", FORK_RUNNING},
	{"outside", REC_OUTSIDE},
	{"unsampled", REC_UNSAMPLED},
	{NULL, 0},
};
static const struct event_word name_flags[] = {
	{"new-space", NAME_NEW_SPACE},
	{"exec", NAME_EXEC},
	{"scan", NAME_SCAN},
	{"kernel-thread", NAME_KERNEL_THREAD},
	{"moved", NAME_MOVED},
	{"process", NAME_PROCESS},
	{"outside", REC_OUTSIDE},
	{"unsampled", REC_UNSAMPLED},
	{NULL, 0},
};
static const struct event_word exit_flags[] = {
	{"process", EXIT_PROCESS},
	{"oom-killed", EXIT_OOM_KILLED},
	{"status-unknown", EXIT_STATUS_UNKNOWN},
	{"outside", REC_OUTSIDE},
	{"unsampled", REC_UNSAMPLED},
	{NULL, 0},
};
static const struct event_word run_flags[] = {
	{"sampled", RUN_SAMPLED}, {"queue-unknown", RUN_QUEUE_UNKNOWN},
	{"woken", RUN_WOKEN},	  {"by-interrupt", RUN_BY_INTERRUPT},
	{"short", RUN_SHORT},	  {NULL, 0},
};
static const struct event_word arguments_flags[] = {
	{"cut", ARGUMENTS_CUT},
	{"folder-cut", FOLDER_CUT},
	{"scan", ARGUMENTS_SCAN},
	{NULL, 0},
};
static const struct event_word module_flags[] = {{"named-deleted", MODULE_NAMED_DELETED},
						 {"unopened", MODULE_UNOPENED},
						 {"ended", MODULE_ENDED},
						 {"silent", MODULE_SILENT},
						 {"completed", MODULE_COMPLETED},
						 {NULL, 0}};
static const struct event_word setting_kinds[] = {
	{"slow", SETTING_SLOW_NS},	  {"paused", SETTING_PAUSED},
	{"held-only", SETTING_HELD_ONLY}, {"critical-path", SETTING_CRITICAL_PATH},
	{"unheard-of", UINT8_MAX},	  {NULL, 0}};
static const struct event_word marker_flags[] = {{"cause", MARKER_CAUSE},
						 {"told", MARKER_TOLD},
						 {"frame", MARKER_FRAME},
						 {"row", MARKER_ROW},
						 {NULL, 0}};
static const struct event_word counter_graphs[] = {
	{"level", COUNTER_LEVEL},
	{"rate", COUNTER_RATE},
	{NULL, 0},
};
static const struct event_word map_flags[] = {{"kernel", MAP_KERNEL_SPACE}, {NULL, 0}};
static const struct event_word code_flags[] = {
	{"exact", CODE_EXACT},
	{"managed", CODE_MANAGED},
	{"dumped", CODE_DUMPED},
	{NULL, 0},
};
static const struct event_word cpu_flags[] = {{"online", CPU_ONLINE}, {NULL, 0}};
static const struct event_word module_kinds[] = {
	{"file", MODULE_FILE},
	{"vdso", MODULE_VDSO},
	{"kernel", MODULE_KERNEL},
	{"kernel-module", MODULE_KERNEL_MODULE},
	{"kernel-dynamic", MODULE_KERNEL_DYNAMIC},
	{"anon", MODULE_ANON},
	{NULL, 0},
};
static const struct event_word lost_causes[] = {
	{"ring-full", LOST_RING_FULL}, {"stack", LOST_STACK},
	{"event", LOST_EVENT},	       {"mapping", LOST_MAPPING},
	{"tracking", LOST_TRACKING},   {"no-ring", LOST_NO_RING},
	{"capture", LOST_CAPTURE},     {NULL, 0},
};

void text_print(struct record_text *t, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	strbuf_adds(&t->out, text ? text : "?");
}

void text_print_item(struct record_text *t, const char *before, const char *bytes, size_t size)
{
	strbuf_adds(&t->out, before);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)bytes[i];

		if (c <= ' ' || c >= 0x7f || c == '\\' || c == ',' || c == ':')
			text_print(t, "\\x%02x", c);
		else
			strbuf_addch(&t->out, (char)c);
	}
}

void text_print_bytes(struct record_text *t, const char *key, const char *bytes, size_t size)
{
	text_print(t, " %s", key);
	text_print_item(t, "=", bytes, size);
}

void *text_add(struct record_text *t, const void *bytes, size_t size)
{
	uint8_t *at = t->record + t->size;

	if (t->line && size > RECORD_TEXT_SIZE_MAX - t->size) {
		event_line_problem(t->line, "too long:", t->line->kind);
		return NULL;
	}
	if (t->line && size)
		memcpy(at, bytes, size);
	t->size += size;
	return at;
}

static uint64_t get_number(const void *member, size_t size)
{
	uint64_t value = 0;

	memcpy((char *)&value, member, size);
	return value;
}

static void set_number(struct record_text *t, const char *key, void *member, size_t size,
		       uint64_t value)
{
	memcpy(member, &value, size);
	if (size < 8 && value >> (8 * size))
		event_line_problem(t->line, "too large:", key);
}

void text_number(struct record_text *t, const char *key, void *member, size_t size,
		 uint64_t otherwise)
{
	uint64_t value;

	if (t->line) {
		set_number(t, key, member, size, event_line_number(t->line, key, otherwise));
		return;
	}
	value = get_number(member, size);
	if (value != otherwise)
		text_print(t, value >= 0x10000 ? " %s=0x%" PRIx64 : " %s=%" PRIu64, key, value);
}

void text_signed(struct record_text *t, const char *key, int64_t *member)
{
	char *text = t->line ? event_line_text(t->line, key) : NULL;
	bool is_negative = text && *text == '-';
	uint64_t number = 0;

	if (text && !event_number(text + is_negative, &number))
		event_line_problem(t->line, "not a number:", text);
	if (text)
		*member = (int64_t)(is_negative ? -number : number);
	else if (!t->line)
		text_print(t, " %s=%" PRId64, key, *member);
}

void text_word(struct record_text *t, const char *key, void *member, size_t size,
	       const struct event_word *words, uint32_t otherwise)
{
	uint64_t value;

	if (t->line) {
		set_number(t, key, member, size, event_line_word(t->line, key, words, otherwise));
		return;
	}
	value = get_number(member, size);
	while (words->name && words->value != value)
		words++;
	text_print(t, " %s=%s", key, words->name ? words->name : "?");
}

void text_flags(struct record_text *t, const struct event_word *words)
{
	struct rec *rec = (struct rec *)t->record;
	const char *before = " flags=";

	if (t->line) {
		rec->flags = event_line_flags(t->line, words);
		return;
	}
	for (; words->name; words++) {
		if (rec->flags & words->value) {
			text_print(t, "%s%s", before, words->name);
			before = ",";
		}
	}
}

void text_time(struct record_text *t, const char *key, uint64_t base, uint64_t *member)
{
	if (t->line)
		*member = base + event_line_time(t->line, key);
	else if (*member != base)
		text_print(t, " %s=%" PRIu64 "ns", key, *member - base);
}

void text_cpu_time(struct record_text *t, const char *key, uint32_t *member)
{
	uint64_t ns = (uint64_t)*member << 4;

	text_time(t, key, 0, &ns);
	if (t->line)
		*member = (uint32_t)(ns >> 4);
}

void text_name(struct record_text *t, const char *key, char *name, size_t size)
{
	char *text = t->line ? event_line_text(t->line, key) : NULL;
	size_t text_size = text ? event_text_unescape(text) : 0;

	if (text)
		memcpy(name, text, text_size < size ? text_size : size);
	else if (!t->line && name[0])
		text_print_bytes(t, key, name, strnlen(name, size));
}

void text_tail(struct record_text *t, const char *key, void *member, size_t size)
{
	char *text = t->line ? event_line_text(t->line, key) : NULL;
	size_t text_size = text ? event_text_unescape(text) : 0;

	if (!t->line)
		text_size = (size_t)get_number(member, size);
	else
		set_number(t, key, member, size, text_size);
	if (!t->line && text_size)
		text_print_bytes(t, key, (char *)t->record + t->size, text_size);
	text_add(t, text, text_size);
}

#define FLAGS(words) text_flags(t, words);
#define NUMBER(key, member, otherwise) \
	text_number(t, key, &r->member, sizeof(r->member), otherwise);
#define SIGNED(key, member) text_signed(t, key, (int64_t *)&r->member);
#define WORD(key, member, words, otherwise) \
	text_word(t, key, &r->member, sizeof(r->member), words, otherwise);
#define TIME(key, member) text_time(t, key, EVENTS_START_NS, (uint64_t *)&r->member);
#define DURATION(key, member) text_time(t, key, 0, (uint64_t *)&r->member);
#define CPU_TIME(key, member) text_cpu_time(t, key, &r->member);
#define NAME(key, member) text_name(t, key, r->member, sizeof(r->member));
#define TAIL(key, member) text_tail(t, key, &r->member, sizeof(r->member));
#define SPECIAL(name) text_##name(t, r);

#define RECORD(kind, name, type, fixed_size, epoch, needed, holds, text) \
	static void text_of_##kind(struct record_text *t) \
	{ \
		struct type *r = (struct type *)t->record; \
\
		(void)r; \
		t->size = (fixed_size); \
		text \
	}
#include "bpf/record.def"
#undef RECORD

static const struct {
	const char *name;
	void (*fields)(struct record_text *t);
} kinds[REC_KIND_COUNT] = {
#define RECORD(kind, name, ...) [REC_##kind] = {name, text_of_##kind},
#include "bpf/record.def"
#undef RECORD
};

unsigned int record_text_kind(const char *name)
{
	unsigned int kind = REC_KIND_COUNT;

	while (kind-- > 1) {
		if (strcmp(kinds[kind].name, name) == 0)
			break;
	}
	return kind;
}

static void head_fields(struct record_text *t)
{
	struct rec *rec = (struct rec *)t->record;

	text_time(t, "time", EVENTS_START_NS, (uint64_t *)&rec->time);
	text_number(t, "pid", &rec->pid, sizeof(rec->pid), 0);
	text_number(t, "tid", &rec->tid, sizeof(rec->tid), rec->pid);
	text_number(t, "cpu", &rec->cpu, sizeof(rec->cpu), 0);
}

void record_text_read(struct record_text *t, unsigned int kind)
{
	struct rec *rec = (struct rec *)t->record;

	rec->kind = (uint8_t)kind;
	head_fields(t);
	kinds[kind].fields(t);
	t->size = (t->size + 7) & ~(size_t)7;
	rec->words = (uint16_t)(t->size / 8);
}

void record_text_print(struct strbuf *out, const struct rec *rec)
{
	struct record_text t = {.out = *out, .record = (uint8_t *)rec};

	strbuf_adds(&t.out, kinds[rec->kind].name);
	head_fields(&t);
	kinds[rec->kind].fields(&t);
	*out = t.out;
}
