/* SPDX-License-Identifier: MIT */
#include "lib/live/process/process_root.h"

void path_names_join(struct strbuf *path, const char *names, size_t size, bool is_cut)
{
	if (is_cut)
		strbuf_adds(path, "\xe2\x80\xa6");
	while (size) {
		size_t end = size - 1, start = end;

		while (start && names[start - 1])
			start--;
		strbuf_addch(path, '/');
		strbuf_add(path, names + start, end - start);
		size = start;
	}
	if (!path->size)
		strbuf_addch(path, '/');
}

/* Returns -1 for the recorder's own root, or if the process has ended. */
static int open_root(uint32_t pid)
{
	_cleanup_close_ int fd = -1;
	struct statx own, other;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%u/root", pid);
	fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &other) != 0 ||
	    statx(AT_FDCWD, "/", 0, STATX_INO | STATX_MNT_ID, &own) != 0)
		return -1;
	if (own.stx_mnt_id == other.stx_mnt_id && own.stx_ino == other.stx_ino)
		return -1;
	return steal_fd(&fd);
}

static void keep_mounts(struct file_set *files, uint32_t pid)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/ns/mnt", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		file_set_hold(files, fd);
}

void process_root_keep_for_module(struct file_set *files, uint32_t id, uint32_t pid,
				  bool has_mounts)
{
	int fd = open_root(pid);

	if (fd >= 0 && file_set_add_root(files, id, fd) && has_mounts)
		keep_mounts(files, pid);
}

/* The state of a process. */
struct kept_root {
	int fd; /* descriptor in the set; 0: none */
	bool is_looked_up;
};

static struct kept_root *root_of(const struct process_roots *r, struct live_process *process)
{
	return live_process_state(process, r->state);
}

static void inherit(void *ctx, struct live_process *child, struct live_process *parent)
{
	const struct process_roots *r = ctx;
	int kept = parent ? root_of(r, parent)->fd : 0;
	int fd = kept ? fcntl(kept, F_DUPFD_CLOEXEC, 0) : -1;

	if (fd < 0)
		return;
	file_set_add_process_root(r->files, child->pid, fd);
	root_of(r, child)->fd = file_set_find_process_root(r->files, child->pid);
}

void process_roots_init(struct process_roots *r, struct live_processes *processes,
			struct file_set *files, bool has_mounts)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct kept_root),
		.fork = inherit,
	};

	*r = (struct process_roots){.files = files, .has_mounts = has_mounts};
	r->state = live_processes_listen(processes, &listener, r);
}

void process_roots_keep(const struct process_roots *r, struct live_process *process)
{
	int fd = open_root(process->pid);

	root_of(r, process)->is_looked_up = true;
	if (fd < 0)
		return;
	if (file_set_add_process_root(r->files, process->pid, fd) && r->has_mounts)
		keep_mounts(r->files, process->pid);
	root_of(r, process)->fd = file_set_find_process_root(r->files, process->pid);
}

void process_roots_keep_once(const struct process_roots *r, struct live_process *process)
{
	if (!root_of(r, process)->is_looked_up)
		process_roots_keep(r, process);
}
