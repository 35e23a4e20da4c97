/* SPDX-License-Identifier: MIT */
#include "lib/live/process/filter.h"

#include <pwd.h>

#include "lib/live/process/cgroup_filter.h"
#include "lib/live/process/targets.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/record/records.h"

#define WORD_BITS 64

/* A pattern before its states are placed in the set. */
struct pattern {
	uint64_t loops; /* one bit per state */
	uint64_t accepted[256];
	unsigned int size; /* number of elements, excluding stars */
};

static void accept(struct pattern *p, uint8_t c)
{
	if (c)
		p->accepted[c] |= 1ull << p->size;
}

/* Parses a class from after "[" up to and including "]". NULL if there is no "]". */
static const char *parse_class(struct pattern *p, const char *at)
{
	bool wanted[256] = {0}, negated = *at == '!' || *at == '^';
	const char *first = at += negated;

	while (*at && (*at != ']' || at == first)) {
		uint8_t low = (uint8_t)*at++, high = low;

		if (*at == '-' && at[1] && at[1] != ']') {
			high = (uint8_t)at[1];
			at += 2;
		}
		for (unsigned int c = low; c <= high; c++)
			wanted[c] = true;
	}
	if (!*at)
		return NULL;
	for (unsigned int c = 1; c < 256; c++) {
		if (wanted[c] != negated)
			accept(p, (uint8_t)c);
	}
	return at + 1;
}

static const char *parse_element(struct pattern *p, const char *at)
{
	if (*at == '?') {
		for (unsigned int c = 1; c < 256; c++)
			accept(p, (uint8_t)c);
		return at + 1;
	}
	if (*at == '[')
		return parse_class(p, at + 1);
	if (*at == '\\' && at[1])
		at++;
	accept(p, (uint8_t)*at);
	return at + 1;
}

static int parse(struct pattern *p, const char *text, struct error *err)
{
	bool is_plain = !text[strcspn(text, "*?[\\")];
	const char *at = text;

	while (*at) {
		if (*at == '*') {
			p->loops |= 1ull << p->size;
			at++;
			continue;
		}
		if (is_plain && p->size == NAME_LENGTH_MAX)
			break;
		if (p->size == WORD_BITS - 1)
			return error_text(err, -E2BIG, "%s: the name is too long", text);
		at = parse_element(p, at);
		if (!at)
			return error_text(err, -EINVAL, "%s: unterminated [", text);
		p->size++;
	}
	return 0;
}

/* Returns the number of used states in the word; stores each pattern's last state in `ends`. */
static unsigned int used(const struct name_set *set, unsigned int word)
{
	return set->ends[word] ? WORD_BITS - (unsigned int)__builtin_clzll(set->ends[word]) : 0;
}

int name_set_add(struct name_set *set, const char *pattern, struct error *err)
{
	struct pattern p = {0};
	unsigned int word = 0, first;
	int ret = *pattern ? parse(&p, pattern, err)
			   : error_text(err, -EINVAL, "a name must not be empty");

	if (ret)
		return ret;
	while (word < NAME_WORDS && used(set, word) + p.size + 1 > WORD_BITS)
		word++;
	if (word == NAME_WORDS)
		return error_text(err, -E2BIG, "%s: too many names", pattern);
	first = used(set, word);
	set->starts[word] |= 1ull << first;
	set->loops[word] |= p.loops << first;
	set->ends[word] |= 1ull << (first + p.size);
	for (unsigned int c = 1; c < 256; c++)
		set->accepted[c][word] |= p.accepted[c] << first;
	return 0;
}

void filter_release(struct filter *f)
{
	vec_release(&f->pids);
	vec_release(&f->tids);
	vec_release(&f->uids);
	vec_release(&f->cgroups);
	vec_release(&f->containers);
	cpu_list_release(&f->cpus);
}

int filter_add_pid(struct filter *f, uint32_t pid, struct error *err)
{
	if (process_of_thread((pid_t)pid) != (pid_t)pid)
		return error_text(err, -ESRCH, "no process with pid %u", pid);
	f->criteria |= FILTER_PID;
	vec_push(&f->pids, pid);
	return 0;
}

int filter_add_tid(struct filter *f, uint32_t tid, struct error *err)
{
	pid_t pid = process_of_thread((pid_t)tid);

	if (!pid)
		return error_text(err, -ESRCH, "no thread with tid %u", tid);
	/* If pids are also given, the thread's process must be one of them. */
	if (!(f->criteria & FILTER_PID) || f->criteria & FILTER_TID) {
		f->criteria |= FILTER_PID;
		vec_push(&f->pids, (uint32_t)pid);
	}
	f->criteria |= FILTER_TID;
	vec_push(&f->tids, tid);
	return 0;
}

int filter_add_uid(struct filter *f, const char *user, struct error *err)
{
	const struct passwd *entry;
	uint64_t uid;

	if (!text_to_u64(user, 10, &uid)) {
		entry = getpwnam(user);
		if (!entry)
			return error_text(err, -ENOENT, "no such user: %s", user);
		uid = entry->pw_uid;
	}
	if (uid >= UINT32_MAX)
		return error_text(err, -EINVAL, "--uid %s: not a user", user);
	if (f->uids.count == UIDS_MAX)
		return error_text(err, -E2BIG, "--uid: more than %d users", UIDS_MAX);
	f->criteria |= FILTER_UID;
	vec_push(&f->uids, (uint32_t)uid);
	return 0;
}

int filter_add_cgroup(struct filter *f, const char *path, struct error *err)
{
	struct cgroup_id cgroup;
	int ret = cgroup_find(path, &cgroup, err);

	if (ret)
		return ret;
	if (f->cgroups.count && f->cgroup_hierarchy != cgroup.hierarchy)
		return error_text(err, -EINVAL,
				  "--cgroup %s: all control groups must be in one hierarchy", path);
	if (f->cgroups.count == CGROUPS_MAX)
		return error_text(err, -E2BIG, "--cgroup: more than %d groups", CGROUPS_MAX);
	f->criteria |= FILTER_CGROUP;
	f->cgroup_hierarchy = cgroup.hierarchy;
	vec_push(&f->cgroups, cgroup.id);
	return 0;
}

void filter_name_container(struct filter *f, const char *cgroup, const char *name)
{
	const char *id = cgroup_container_id(cgroup, strlen(cgroup));
	struct container_name row = {.name = name};

	if (!id || strncmp(id, name, strlen(name)) == 0)
		return;
	_Static_assert(sizeof(row.id) == CONTAINER_ID_SIZE, "all digits have room");
	memcpy(row.id, id, sizeof(row.id));
	vec_push(&f->containers, row);
}

int filter_set_cpus(struct filter *f, const char *list, struct error *err)
{
	cpu_list_release(&f->cpus);
	if (cpu_list_parse(list, &f->cpus))
		return error_text(err, -EINVAL, "--cpu %s: must be an ascending list such as 0-3,8",
				  list);
	return 0;
}

int filter_check_cpus(const struct filter *f, struct error *err)
{
	struct cpu_list online;
	int ret;

	if (!f->cpus.count)
		return 0;
	ret = cpu_list_read("online", &online);
	if (ret)
		return error_set(err, ret, "cannot read the list of online CPUs");
	for (uint32_t i = 0; i < f->cpus.count && !ret; i++) {
		if (!cpu_list_has(&online, f->cpus.cpus[i]))
			ret = error_text(err, -ENODEV, "--cpu: CPU %u is not online",
					 f->cpus.cpus[i]);
	}
	cpu_list_release(&online);
	return ret;
}

uint8_t filter_pending_flags(const struct filter *f)
{
	uint8_t flags = f->criteria ? REC_UNSAMPLED : 0;

	return f->criteria & ~FILTER_THREAD ? flags | REC_OUTSIDE : flags;
}
