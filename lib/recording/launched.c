/* SPDX-License-Identifier: MIT */
#include "lib/recording/launched.h"

#include "lib/query/keys.h"

static const char *const launchers[] = {
	"apptainer", "buildah", "bwrap", "crun",	"docker",	  "firejail", "flatpak",
	"nerdctl",   "podman",	"runc",	 "singularity", "systemd-nspawn", "unshare",
};

/* True for a thread in a pid namespace below the recorder's. */
static bool is_inside(const struct profile *p, const struct profile_thread *thread)
{
	return thread->process_label != NO_STRING &&
	       text_starts_with(strings_get(&p->strings, thread->process_label), "pid ");
}

static uint64_t cpu_time_of(const struct profile_thread *thread)
{
	uint64_t ns = 0;

	samples_for_each(&thread->samples, sample)
		ns += sample->cpu_delta;
	return ns;
}

/*
 * Returns the thread after which the profile is named, or NULL. `firsts`: see
 * query_process_firsts().
 */
static const struct profile_thread *find_launched(const struct profile *p, const thread_id *firsts)
{
	size_t count = p->threads.rows.count;
	_cleanup_free_ uint64_t *used = xcalloc(count + 1, sizeof(*used));
	const struct profile_thread *first = NULL, *heaviest = NULL;
	uint64_t all = 0, inside = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		const struct profile_thread *row = &p->threads.rows.items[i];
		uint64_t ns = cpu_time_of(row);

		all += ns;
		if (!is_inside(p, row))
			continue;
		inside += ns;
		used[firsts[i]] += ns;
		if (used[firsts[i]] > most) {
			most = used[firsts[i]];
			heaviest = row;
		}
		if (!first || row->process_start < first->process_start)
			first = row;
	}
	if (inside <= all / 2)
		return NULL;
	return most > all / 2 ? heaviest : first;
}

void launched_name_profile(struct profile *p)
{
	const struct profile_thread *launched;
	_cleanup_free_ thread_id *firsts = NULL;

	if (!array_find(launchers, it, strcmp(p->meta.product, *it) == 0))
		return;
	firsts = query_process_firsts(p);
	launched = find_launched(p, firsts);
	if (!launched)
		return;
	free(p->meta.product);
	p->meta.product = xstrdup(strings_get(&p->strings, launched->process_name));
}
