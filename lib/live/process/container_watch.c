/* SPDX-License-Identifier: MIT */
#include "lib/live/process/container_watch.h"

#include "lib/live/bpf/task_filter.h"
#include "lib/live/machine/host.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/record/records.h"

#define CGROUP_MAX (64u << 10)
#define PATH_SIZE_MAX 4096
#define NAME_SIZE_MAX 256

static char *read_cgroup(const char *pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/cgroup", pid);
	return text_read_file(path, CGROUP_MAX, NULL);
}

/* Ranks control group paths: if only one version is in use, all paths of the other are "/". */
static int rank_of(const char *line, const char *path, size_t size)
{
	if (cgroup_container_id(path, size))
		return 3;
	if (size <= 1)
		return 0;
	return line[0] == '0' ? 2 : 1;
}

const char *container_cgroup(const char *text, size_t *size)
{
	const char *best = NULL;
	int best_rank = -1;

	*size = 0;
	while (*text) {
		const char *end = strchrnul(text, '\n');
		const char *colon = memchr(text, ':', (size_t)(end - text));
		const char *path = colon ? memchr(colon + 1, ':', (size_t)(end - colon - 1)) : NULL;

		if (path++) {
			size_t path_size = (size_t)(end - path);
			int rank = rank_of(text, path, path_size);

			if (rank > best_rank) {
				best = path;
				*size = path_size;
				best_rank = rank;
			}
		}
		text = *end ? end + 1 : end;
	}
	return best ? best : "";
}

uint32_t container_ns_pid(const char *text)
{
	uint32_t pids[PROC_STATUS_NUMBERS_MAX];
	size_t count = proc_status_numbers(text, "NSpid", pids);

	return count > 1 ? pids[count - 1] : 0;
}

void container_watch_init(struct container_watch *h, const struct filter *filter)
{
	_cleanup_free_ char *text = read_cgroup("self");
	size_t size = 0;
	const char *path = text ? container_cgroup(text, &size) : "";

	*h = (struct container_watch){
		.filter = filter,
		.own_cgroup = xstrndup(path, size),
	};
}

void container_watch_release(struct container_watch *h)
{
	free(h->own_cgroup);
	cpu_limits_release(&h->limits);
}

/* Returns the name of the group's container; NULL if unknown. */
static const char *find_name(const struct container_watch *h, const char *path, size_t size)
{
	const char *id = h->filter ? cgroup_container_id(path, size) : NULL;

	if (!id)
		return NULL;
	vec_for_each(&h->filter->containers, const struct container_name *, row) {
		if (strncmp(id, row->id, sizeof(row->id)) == 0)
			return row->name;
	}
	return NULL;
}

void container_watch_send(struct container_watch *h, uint32_t pid, bool is_running, uint64_t time,
			  record_sink_fn *sink, void *ctx)
{
	char number[16];
	size_t size = 0, name_size;
	const char *path = "", *name;
	uint32_t ns_pid = 0;

	snprintf(number, sizeof(number), "%u", pid);
	_cleanup_free_ char *cgroup = read_cgroup(number);
	_cleanup_free_ char *status = is_running ? proc_status_read(pid) : NULL;

	if (!cgroup)
		return;
	cpu_limits_add(&h->limits, cgroup, time);
	path = container_cgroup(cgroup, &size);
	if (strlen(h->own_cgroup) == size && !memcmp(path, h->own_cgroup, size))
		size = 0;
	size = MIN(size, PATH_SIZE_MAX);
	if (status)
		ns_pid = container_ns_pid(status);
	h->is_any_told |= size || ns_pid;
	if (!h->is_any_told)
		return;
	name = find_name(h, path, size);
	name_size = name ? 1 + strnlen(name, NAME_SIZE_MAX) : 0;

	_cleanup_free_ struct rec_container *rec = xcalloc(1, rec_container_size(size + name_size));

	record_init(&rec->rec, REC_CONTAINER, rec_container_size(size + name_size), time, pid, pid);
	rec->ns_pid = ns_pid;
	rec->cgroup_size = (uint32_t)(size + name_size);
	memcpy(rec->cgroup, path, size);
	if (name)
		memcpy(rec->cgroup + size + 1, name, name_size - 1);
	sink(ctx, &rec->rec);
}
