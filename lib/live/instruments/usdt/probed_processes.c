/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/usdt/probed_processes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/open_regular.h"

/* A new process gets all known files only while so few are attached in all. */
#define FEW_ATTACHED 256

/* Tells what a module has: files of the same build id are one. */
enum module_state {
	MODULE_NEW,
	MODULE_WITHOUT,
	MODULE_WITH_PROBES,
};

void probed_processes_release(struct probed_processes *p)
{
	uprobe_jobs_free(p->jobs);
	usdt_probes_release(&p->probes);
	vec_release(&p->attachments);
	vec_release(&p->modules);
}

void probed_processes_stop(struct probed_processes *p)
{
	if (p->jobs)
		uprobe_jobs_stop(p->jobs);
}

void probed_processes_begin(struct probed_processes *p, int program, uint32_t flags,
			    int layouts_map)
{
	p->jobs = uprobe_jobs_new(program, flags);
	p->layouts_map = layouts_map;
}

/* Gives the kernel the layouts of a new file's probes. */
static void store_layouts(struct probed_processes *p)
{
	for (; p->layouts_map >= 0 && p->stored < p->probes.layouts.count; p->stored++)
		bpf_map_update_elem(p->layouts_map, &p->stored, &p->probes.layouts.items[p->stored],
				    BPF_ANY);
}

static uint32_t find_file(struct probed_processes *p, int fd)
{
	uint32_t file = usdt_probes_find(&p->probes, fd);

	store_layouts(p);
	return file;
}

static bool has_attached(const struct probed_processes *p, uint32_t pid, uint32_t file)
{
	vec_for_each(&p->attachments, const struct probe_attachment *, row) {
		if (row->pid == pid && row->file == file)
			return true;
	}
	return false;
}

static void attach_file(struct probed_processes *p, uint32_t pid, uint32_t number)
{
	const struct usdt_file *file = p->probes.files.items[number];
	struct probe_attachment row = {.pid = pid, .file = number};

	if (file->is_everywhere || has_attached(p, pid, number))
		return;
	row.job = uprobe_jobs_attach(p->jobs, pid, file->fd, file->places.items,
				     file->places.count);
	if (row.job != NO_UPROBE_JOB)
		vec_push(&p->attachments, row);
}

void probed_processes_forget(struct probed_processes *p, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->attachments.count; i++) {
		const struct probe_attachment *row = &p->attachments.items[i];

		if (row->pid == pid)
			uprobe_jobs_detach(p->jobs, row->job);
		else
			p->attachments.items[kept++] = *row;
	}
	p->attachments.count = kept;
}

static void on_expected(void *ctx, int fd)
{
	find_file(ctx, fd);
}

static void on_await(void *ctx, uint32_t pid)
{
	struct probed_processes *p = ctx;

	for (uint32_t i = 0; i < p->probes.files.count; i++)
		attach_file(p, pid, i);
	uprobe_jobs_wait(p->jobs);
}

/* Opens the file that is mapped there, which a module of another process may be a copy of. */
static int open_mapped(const struct rec_map *map, int module_fd)
{
	char name[96];
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, map->rec.pid,
		 (uint64_t)map->start, (uint64_t)map->end);
	fd = open_regular(name);
	return fd < 0 ? fcntl(module_fd, F_DUPFD_CLOEXEC, 0) : fd;
}

static enum module_state module_state(struct probed_processes *p, uint32_t module_id, int fd)
{
	uint8_t *state;

	if (module_id >= p->modules.count)
		vec_add_zeroed(&p->modules, module_id + 1 - p->modules.count);
	state = &p->modules.items[module_id];
	if (*state == MODULE_NEW)
		*state = find_file(p, fd) == NO_USDT_FILE ? MODULE_WITHOUT : MODULE_WITH_PROBES;
	return *state;
}

bool probed_processes_have(const struct probed_processes *p, uint32_t module_id)
{
	return module_id < p->modules.count && p->modules.items[module_id] == MODULE_WITH_PROBES;
}

static void on_map(void *ctx, const struct rec_map *map, int fd)
{
	_cleanup_close_ int own = -1;
	struct probed_processes *p = ctx;
	uint32_t file;

	if (map->module_id == NO_REC_MODULE || fd < 0 ||
	    module_state(p, map->module_id, fd) != MODULE_WITH_PROBES)
		return;
	own = open_mapped(map, fd);
	file = own < 0 ? NO_USDT_FILE : find_file(p, own);
	if (file != NO_USDT_FILE)
		attach_file(p, map->rec.pid, file);
}

static void on_exit_of(void *ctx, struct live_process *process, uint64_t time)
{
	(void)time;
	probed_processes_forget(ctx, process->pid);
}

int probed_processes_attach_all(struct probed_processes *p, int fd,
				const struct uprobe_target *like, struct uprobe_links *links,
				struct error *err)
{
	struct uprobe_target target = *like;
	uint32_t number = find_file(p, fd);
	struct usdt_file *file;
	int attached;

	if (number == NO_USDT_FILE)
		return error_text(err, -ENOENT, "there are no probes in it");
	file = p->probes.files.items[number];
	file->is_everywhere = true;
	target.file = file->fd;
	target.places = file->places.items;
	target.count = file->places.count;
	attached = uprobe_attach(&target, links, err);
	if (attached == (int)target.count)
		return 0;
	return attached < 0 ? attached : err->code;
}

void probed_processes_watch(struct probed_processes *p, struct tracker *tracker)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.exit = on_exit_of,
	};
	const struct mapping_watcher watcher = {
		.expect = on_expected,
		.await = on_await,
		.map = on_map,
		.ctx = p,
	};

	live_processes_listen(tracker_processes(tracker), &listener, p);
	tracker_watch_mappings(tracker, &watcher);
}

void probed_processes_task(struct probed_processes *p, const struct rec_usdt_task *task)
{
	uint32_t pid = task->rec.pid, source = task->parent_pid ? task->parent_pid : pid;
	bool has_room = p->attachments.count < FEW_ATTACHED;
	uint64_t wanted = 0;

	_Static_assert(USDT_FILES_MAX <= 64, "a bit for each file");
	for (uint32_t i = 0; i < p->probes.files.count; i++) {
		if (has_room || has_attached(p, source, i))
			wanted |= 1ull << i;
	}
	probed_processes_forget(p, pid);
	for (uint32_t i = 0; i < p->probes.files.count; i++) {
		if (wanted >> i & 1)
			attach_file(p, pid, i);
	}
}
