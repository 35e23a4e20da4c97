/* SPDX-License-Identifier: MIT */
#include "cmd/options/filter_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define PID_MAX 0x7fffffff

const char filter_options_help[] =
	"  --thread GLOB[,...]    sample only threads whose name, as it is then, is one of these\n"
	"  --cpu LIST             sample only these CPUs, as in 0-3,8\n";

const char system_options_help[] =
	"  -p, --pid LIST         only processes with these pids\n"
	"  --tid LIST             only threads with these tids\n"
	"  --comm GLOB[,...]      only processes with one of these names\n"
	"  --cgroup PATH          only processes in this control group or below; may be repeated\n"
	"  --uid LIST             only processes of these users, by number or name\n"
	"  --exclude-self         not prof itself (default)\n"
	"  --include-self         prof itself, too\n";

const char target_options_help[] =
	"  -p, --pid LIST         those with these pids; may be repeated\n"
	"  --comm GLOB[,...]      those with one of these names; may be repeated\n"
	"  --pidfile FILE         the one whose pid is in FILE; may be repeated\n"
	"  --no-children          not their descendants\n";

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
	return error_text(err, -EINVAL, "%s: '%s' is not a number of a task", *option, word);
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

static int set_comm(struct filter_options *o, const char *value, struct error *err)
{
	char *text = o->names_text;

	o->names_text = text ? xasprintf("%s,%s", text, value) : xstrdup(value);
	free(text);
	return add_names("--comm", value, &o->names, err);
}

static int choose(struct filter_options *o, int opt, const char *value)
{
	vec_push(&o->choices, (struct filter_choice){opt, value});
	return 0;
}

/* Sets filters other than lists of processes, users and cgroups. */
static int set_plain(struct filter_options *o, int opt, const char *value, struct error *err)
{
	switch (opt) {
	case OPT_THREAD:
		choose(o, opt, value);
		o->filter.criteria |= FILTER_THREAD;
		return add_names("--thread", value, &o->filter.thread_names, err);
	case OPT_CPU:
		choose(o, opt, value);
		return filter_set_cpus(&o->filter, value, err);
	case OPT_NO_CHILDREN:
		o->filter.skip_children = true;
		return 0;
	case OPT_INCLUDE_SELF:
	case OPT_EXCLUDE_SELF:
		o->filter.include_self = opt == OPT_INCLUDE_SELF;
		o->is_limited = true;
		return 0;
	default:
		return -ENOENT;
	}
}

int filter_options_set(struct filter_options *o, int opt, const char *value, struct error *err)
{
	const char *option;
	int ret;

	switch (opt) {
	case 'p':
	case OPT_TID:
		option = opt == 'p' ? "--pid" : "--tid";
		ret = for_each_word(value, check_pid, &option, err);
		break;
	case OPT_UID:
		option = "--uid";
		ret = for_each_word(value, check_word, &option, err);
		break;
	case OPT_CGROUP:
	case OPT_PIDFILE:
		option = opt == OPT_CGROUP ? "--cgroup" : "--pidfile";
		ret = check_word(&option, value, err);
		break;
	case OPT_COMM:
		ret = set_comm(o, value, err);
		break;
	default:
		return set_plain(o, opt, value, err);
	}
	o->is_limited = true;
	return ret ? ret : choose(o, opt, value);
}

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
	switch (choice->opt) {
	case 'p':
		return for_each_word(choice->value, resolve_pid, r, err);
	case OPT_TID:
		return for_each_word(choice->value, resolve_tid, r, err);
	case OPT_UID:
		return for_each_word(choice->value, resolve_uid, r, err);
	case OPT_CGROUP:
		return filter_add_cgroup(r->filter, choice->value, err);
	case OPT_PIDFILE:
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
	static const struct {
		int opt;
		const char *name;
	} names[] = {
		{'p', "pid"},	  {OPT_TID, "tid"}, {OPT_COMM, "comm"},	    {OPT_CGROUP, "cgroup"},
		{OPT_UID, "uid"}, {OPT_CPU, "cpu"}, {OPT_THREAD, "thread"},
	};
	struct strbuf text = {0};

	strbuf_adds(&text, "all processes");
	vec_for_each(&o->choices, const struct filter_choice *, choice) {
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			if (names[i].opt == choice->opt)
				strbuf_addf(&text, "%s --%s %s",
					    text.size > sizeof("all processes") ? "" : " with",
					    names[i].name, choice->value);
		}
	}
	return strbuf_take(&text);
}
