/* SPDX-License-Identifier: MIT */
#include "cmd/options/filter_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define PID_MAX 0x7fffffff

void filter_options_release(struct filter_options *o)
{
	filter_release(&o->filter);
	vec_release(&o->choices);
	free(o->names_text);
	o->names_text = NULL;
}

typedef int word_fn(void *ctx, const char *word, struct error *err);

/* Calls fn for each word of a comma-separated list. */
static int for_each_word(const char *list, word_fn *fn, void *ctx, struct error *err)
{
	_cleanup_free_ char *copy = xstrdup(list);
	char *rest = copy, *word;
	int ret = 0;

	while (!ret && (word = strsep(&rest, ",")))
		ret = fn(ctx, word, err);
	return ret;
}

static bool parse_pid(const char *word, uint32_t *pid)
{
	uint64_t number;

	if (!text_to_u64(word, 10, &number) || !number || number > PID_MAX)
		return false;
	*pid = (uint32_t)number;
	return true;
}

static int check_pid(void *ctx, const char *word, struct error *err)
{
	const char *const *option = ctx;
	uint32_t pid;

	if (parse_pid(word, &pid))
		return 0;
	return error_text(err, -EINVAL, "%s: '%s' is not a pid or tid", *option, word);
}

static int check_word(void *ctx, const char *word, struct error *err)
{
	const char *const *option = ctx;

	return *word ? 0 : error_text(err, -EINVAL, "%s: a name must not be empty", *option);
}

static int add_name(void *ctx, const char *word, struct error *err)
{
	return name_set_add(ctx, word, err);
}

static int add_names(const char *option, const char *value, struct name_set *set, struct error *err)
{
	return for_each_word(value, add_name, set, err) ? error_wrap(err, "%s", option) : 0;
}

static int choose(struct filter_options *o, enum filter_kind kind, const char *value)
{
	vec_push(&o->choices, (struct filter_choice){kind, value});
	o->is_limited |= kind != FILTER_BY_CPU && kind != FILTER_BY_THREAD;
	return 0;
}

static int set_pids(void *o, const char *value, struct error *err)
{
	const char *option = "--pid";
	int ret = for_each_word(value, check_pid, &option, err);

	return ret ? ret : choose(o, FILTER_BY_PID, value);
}

static int set_tids(void *o, const char *value, struct error *err)
{
	const char *option = "--tid";
	int ret = for_each_word(value, check_pid, &option, err);

	return ret ? ret : choose(o, FILTER_BY_TID, value);
}

static int set_uids(void *o, const char *value, struct error *err)
{
	const char *option = "--uid";
	int ret = for_each_word(value, check_word, &option, err);

	return ret ? ret : choose(o, FILTER_BY_UID, value);
}

static int set_cgroup(void *o, const char *value, struct error *err)
{
	const char *option = "--cgroup";
	int ret = check_word(&option, value, err);

	return ret ? ret : choose(o, FILTER_BY_CGROUP, value);
}

static int set_pidfile(void *o, const char *value, struct error *err)
{
	const char *option = "--pidfile";
	int ret = check_word(&option, value, err);

	return ret ? ret : choose(o, FILTER_BY_PIDFILE, value);
}

static int set_comm(void *at, const char *value, struct error *err)
{
	struct filter_options *o = at;
	char *text = o->names_text;
	int ret;

	o->names_text = text ? xasprintf("%s,%s", text, value) : xstrdup(value);
	free(text);
	ret = add_names("--comm", value, &o->names, err);
	return ret ? ret : choose(o, FILTER_BY_COMM, value);
}

static int set_threads(void *at, const char *value, struct error *err)
{
	struct filter_options *o = at;

	choose(o, FILTER_BY_THREAD, value);
	o->filter.criteria |= FILTER_THREAD;
	return add_names("--thread", value, &o->filter.thread_names, err);
}

static int set_cpus(void *at, const char *value, struct error *err)
{
	struct filter_options *o = at;

	choose(o, FILTER_BY_CPU, value);
	return filter_set_cpus(&o->filter, value, err);
}

static int set_exclude_self(void *at, const char *value, struct error *err)
{
	struct filter_options *o = at;

	(void)value;
	(void)err;
	o->filter.include_self = false;
	o->is_limited = true;
	return 0;
}

#define AT(member) OPTION_AT(filter_options, member)
#define GIVEN(member) OPTION_GIVEN(filter_options, member)

const struct option_row filter_options[] = {
	{0, "thread", "GLOB[,...]", "sample only threads whose current name is one of these",
	 OPTION_CALL, .set = set_threads},
	{0, "cpu", "LIST", "sample only these CPUs, such as 0-3,8", OPTION_CALL, .set = set_cpus},
	{0},
};

const struct option_row system_options[] = {
	{.help = "\nWith -a, record only what matches all of these:"},
	{'p', "pid", "LIST", "only processes with these pids", OPTION_CALL, .set = set_pids},
	{0, "tid", "LIST", "only threads with these tids", OPTION_CALL, .set = set_tids},
	{0, "comm", "GLOB[,...]", "only processes with one of these names", OPTION_CALL,
	 .set = set_comm},
	{0, "cgroup", "PATH", "only processes in this control group or below; may be repeated",
	 OPTION_CALL, .set = set_cgroup},
	{0, "uid", "LIST", "only processes of these users, by number or name", OPTION_CALL,
	 .set = set_uids},
	{0, "exclude-self", NULL, "leave prof itself out (default)", OPTION_CALL,
	 .set = set_exclude_self},
	{0, "include-self", NULL, "record prof itself, too", OPTION_FLAG, AT(filter.include_self),
	 GIVEN(is_limited)},
	{0},
};

const struct option_row target_options[] = {
	{'p', "pid", "LIST", "those with these pids; may be repeated", OPTION_CALL,
	 .set = set_pids},
	{0, "comm", "GLOB[,...]", "those with one of these names; may be repeated", OPTION_CALL,
	 .set = set_comm},
	{0, "pidfile", "FILE", "the one whose pid is in FILE; may be repeated", OPTION_CALL,
	 .set = set_pidfile},
	{0, "no-children", NULL, "not their descendants", OPTION_FLAG, AT(filter.skip_children)},
	{0},
};

struct resolution {
	struct filter *filter;
	struct targets *targets;
};

static int resolve_pid(void *ctx, const char *word, struct error *err)
{
	struct resolution *r = ctx;
	uint32_t pid;

	if (!parse_pid(word, &pid))
		return 0;
	return r->targets ? targets_add(r->targets, (pid_t)pid, err)
			  : filter_add_pid(r->filter, pid, err);
}

static int resolve_tid(void *ctx, const char *word, struct error *err)
{
	struct resolution *r = ctx;
	uint32_t tid;

	return parse_pid(word, &tid) ? filter_add_tid(r->filter, tid, err) : 0;
}

static int resolve_uid(void *ctx, const char *word, struct error *err)
{
	struct resolution *r = ctx;

	return filter_add_uid(r->filter, word, err);
}

static int resolve(struct resolution *r, const struct filter_choice *choice, struct error *err)
{
	switch (choice->kind) {
	case FILTER_BY_PID:
		return for_each_word(choice->value, resolve_pid, r, err);
	case FILTER_BY_TID:
		return for_each_word(choice->value, resolve_tid, r, err);
	case FILTER_BY_UID:
		return for_each_word(choice->value, resolve_uid, r, err);
	case FILTER_BY_CGROUP:
		return filter_add_cgroup(r->filter, choice->value, err);
	case FILTER_BY_PIDFILE:
		return targets_add_pidfile(r->targets, choice->value, err);
	default:
		return 0;
	}
}

int filter_options_resolve(struct filter_options *o, struct targets *targets, struct error *err)
{
	struct resolution r = {.filter = &o->filter, .targets = targets};
	int ret = filter_check_cpus(&o->filter, err);

	vec_for_each(&o->choices, const struct filter_choice *, choice) {
		if (!ret)
			ret = resolve(&r, choice, err);
	}
	if (ret || !o->names_text)
		return ret;
	if (targets)
		return targets_add_names(targets, &o->names, o->names_text, err);
	o->filter.criteria |= FILTER_COMM;
	o->filter.process_names = o->names;
	return 0;
}

char *filter_options_describe(const struct filter_options *o)
{
	static const char *const names[] = {
		[FILTER_BY_PID] = "pid",       [FILTER_BY_TID] = "tid", [FILTER_BY_COMM] = "comm",
		[FILTER_BY_CGROUP] = "cgroup", [FILTER_BY_UID] = "uid", [FILTER_BY_CPU] = "cpu",
		[FILTER_BY_THREAD] = "thread",
	};
	struct strbuf text = {0};

	strbuf_adds(&text, "all processes");
	vec_for_each(&o->choices, const struct filter_choice *, choice) {
		strbuf_addf(&text, "%s --%s %s", text.size > sizeof("all processes") ? "" : " with",
			    names[choice->kind], choice->value);
	}
	return strbuf_take(&text);
}
