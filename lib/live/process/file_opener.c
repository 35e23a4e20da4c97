/* SPDX-License-Identifier: MIT */
#include "lib/live/process/file_opener.h"

#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "lib/base/workers.h"

/* A file that may be the mapped one. */
struct candidate {
	int fd; /* descriptor from O_PATH */
	bool is_mapped; /* found through map_files, not by path */
};

static int open_in_map_files(const struct mapped_file *file)
{
	char name[96];

	snprintf(name, sizeof(name), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, file->pid,
		 file->start, file->end);
	return open(name, O_PATH | O_CLOEXEC);
}

int mapped_file_find(const struct mapped_file *file, dev_t *device)
{
	int fd = open_in_map_files(file);
	struct statx st;

	*device = 0;
	/* The kernel reports the device even if no fields are requested. */
	if (fd >= 0 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) == 0)
		*device = makedev(st.stx_dev_major, st.stx_dev_minor);
	return fd;
}

/*
 * Refuses links: the kernel reports paths without any, so a link was created later and leads to
 * another file.
 */
static int open_by_path(int root, const char *path, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static int open_in_process_root(const struct mapped_file *file)
{
	_cleanup_close_ int root = -1;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%u/root", file->pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	return open_by_path(root, file->path, RESOLVE_IN_ROOT);
}

static int open_in_own_root(const struct mapped_file *file)
{
	return open_by_path(AT_FDCWD, file->path, 0);
}

/* Compares the link in map_files, which may be another file's by now. */
static bool same_link(const struct mapped_file *file, int path_fd)
{
	char name[32], target[PATH_MAX];
	ssize_t size;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	size = readlink(name, target, sizeof(target) - 1);
	if (size < 0)
		return false;
	target[size] = 0;
	return strcmp(target, file->path) == 0;
}

/*
 * Returns true on overlays, where stat reports a different device than that of the mapping and,
 * with several layers, a different inode.
 */
static bool has_layers(int path_fd)
{
	struct statfs fs;

	return !fstatfs(path_fd, &fs) &&
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

static bool is_the_file(const struct mapped_file *file, const struct candidate *candidate,
			const struct stat *st, const struct binary_summary *summary)
{
	bool same_inode = file->inode && st->st_ino == file->inode;

	if (file->build_id_size)
		return summary->build_id_size == file->build_id_size &&
		       memcmp(summary->build_id, file->build_id, file->build_id_size) == 0;
	/* map_files leads to the file mapped there now or a moment ago. */
	if (candidate->is_mapped)
		return same_inode || same_link(file, candidate->fd);
	/* An inode number alone proves nothing: users can choose it in their own file systems. */
	return same_inode && (st->st_dev == file->device || has_layers(candidate->fd));
}

static int open_candidate(const struct mapped_file *file, const struct candidate *candidate,
			  struct file_identity *identity, struct binary_summary *summary)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	char name[32];

	if (fstat(candidate->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", candidate->fd);
	/* O_NONBLOCK: a lease held by the file's owner would block open() for up to a minute. */
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	memset(summary, 0, sizeof(*summary));
	if (binary_summarize(fd, summary, NULL))
		memset(summary, 0, sizeof(*summary));
	if (!is_the_file(file, candidate, &st, summary)) {
		binary_summary_release(summary);
		return -ESTALE;
	}
	identity->device = st.st_dev;
	identity->inode = st.st_ino;
	identity->size = st.st_size;
	identity->modified_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	return steal_fd(&fd);
}

static int (*const ways_by_path[])(const struct mapped_file *) = {
	open_in_process_root,
	open_in_own_root,
};

#define WAYS_BY_PATH (sizeof(ways_by_path) / sizeof(ways_by_path[0]))

int mapped_file_open(const struct mapped_file *file, int found, struct file_identity *identity,
		     struct binary_summary *summary)
{
	struct candidate candidate = {.fd = found, .is_mapped = true};
	int fd = -ENOENT;

	for (size_t next = 0;; next++) {
		if (candidate.fd >= 0) {
			fd = open_candidate(file, &candidate, identity, summary);
			close(candidate.fd);
		}
		if (fd >= 0 || next == WAYS_BY_PATH)
			return fd;
		candidate = (struct candidate){.fd = ways_by_path[next](file)};
		if (candidate.fd < 0)
			fd = -errno;
	}
}

/*
 * Returns true if the opened file can still be found by its path, in the process's root or in the
 * recorder's. The kernel appends " (deleted)" for an unlinked file, but real names may end so as
 * well.
 */
static bool mapped_file_has_path(const struct mapped_file *file,
				 const struct file_identity *identity)
{
	bool found = false;

	for (size_t i = 0; i < WAYS_BY_PATH && !found; i++) {
		_cleanup_close_ int fd = ways_by_path[i](file);
		struct stat st;

		found = fd >= 0 && !fstat(fd, &st) && st.st_dev == identity->device &&
			st.st_ino == identity->inode;
	}
	return found;
}

/* Time limit; meanwhile, events accumulate in the rings. */
#define LIMIT_NS 500000000ull
#define ABANDONED_MAX 4

/* An attempt to open a file that may outlive its caller. */
struct opening {
	struct mapped_file file; /* owns its path and build id */
	int found; /* descriptor found; owned by the attempt */
	uint8_t build_id[BUILD_ID_MAX];
	struct opened_file opened;
};

static void reap(struct file_opener *o)
{
	size_t left = 0;

	vec_for_each(&o->children, const pid_t *, pid) {
		if (waitpid(*pid, NULL, WNOHANG) == 0)
			o->children.items[left++] = *pid;
	}
	o->children.count = left;
}

void file_opener_release(struct file_opener *o)
{
	reap(o);
	vec_release(&o->silent);
	vec_release(&o->devices);
	vec_release(&o->children);
}

static void open_file(const struct mapped_file *file, int found, struct opened_file *opened)
{
	opened->fd = mapped_file_open(file, found, &opened->identity, &opened->summary);
	opened->has_path = opened->fd >= 0 && text_ends_with(file->path, PATH_DELETED) &&
			   mapped_file_has_path(file, &opened->identity);
}

static void run(void *ctx)
{
	struct opening *o = ctx;

	open_file(&o->file, o->found, &o->opened);
}

static void free_opening(struct opening *o)
{
	free((char *)o->file.path);
	free(o);
}

static void release(void *ctx)
{
	struct opening *o = ctx;

	if (o->opened.fd >= 0) {
		close(o->opened.fd);
		binary_summary_release(&o->opened.summary);
	}
	free_opening(o);
}

static struct opening *new_opening(const struct mapped_file *file, int found)
{
	struct opening *o = xcalloc(1, sizeof(*o));

	o->file = *file;
	o->found = found;
	o->file.path = xstrdup(file->path);
	if (file->build_id_size)
		memcpy(o->build_id, file->build_id, file->build_id_size);
	o->file.build_id = o->build_id;
	return o;
}

static bool is_silent(const struct file_opener *o, dev_t device)
{
	if (!device)
		return o->abandoned >= ABANDONED_MAX;
	return vec_find(&o->silent, known, *known == device);
}

static int abandon(struct file_opener *o, const struct mapped_file *file, dev_t device)
{
	log_warn("the file system of %s does not answer: its code cannot be named", file->path);
	if (device)
		vec_push(&o->silent, device);
	else
		o->abandoned++;
	return -ETIMEDOUT;
}

/*
 * Files of servers in user space (FUSE). The kernel asks the server even in close(), and holds the
 * thread until it answers, even if its process is killed. Therefore a child opens and reads such a
 * file; it may be left behind, and this process has only a copy of it.
 */

#define COPY_BYTES_MAX ((off_t)256 << 20)
/* Time limit for a copy that makes progress. */
#define COPY_NS 3000000000ull
#define MOUNTS_MAX ((size_t)4 << 20)
#define KIND_NS 1000000000ull
#define PART 65536

/* Report of the child. */
struct copied {
	int code;
	struct file_identity identity;
	bool has_path;
};

/* True if a line of mountinfo has the device, in its third field; sets whether it is FUSE. */
static bool judge_mount(const char *line, const char *device, bool *is_fuse)
{
	const char *field = strchr(line, ' '), *type;

	field = field ? strchr(field + 1, ' ') : NULL;
	type = field ? strstr(field, " - ") : NULL;
	if (!type || !text_starts_with(field + 1, device))
		return false;
	*is_fuse = text_starts_with(type, " - fuse");
	return true;
}

static bool find_mount(const char *path, dev_t device, bool *is_fuse)
{
	_cleanup_free_ char *text = text_read_file(path, MOUNTS_MAX, NULL);
	char *line, *rest = text, name[32];

	snprintf(name, sizeof(name), "%u:%u ", major(device), minor(device));
	while ((line = strsep(&rest, "\n"))) {
		if (judge_mount(line, name, is_fuse))
			return true;
	}
	return false;
}

static bool is_fuse(struct file_opener *o, uint32_t pid, dev_t device)
{
	uint64_t now = clock_monotonic_ns();
	struct device_kind *kind = NULL;
	char path[32];

	vec_for_each(&o->devices, struct device_kind *, known) {
		if (known->device == device)
			kind = known;
	}
	if (kind && now - kind->time < KIND_NS)
		return kind->is_fuse;
	if (!kind) {
		vec_push(&o->devices, (struct device_kind){.device = device});
		kind = &vec_last(&o->devices);
	}
	kind->time = now;
	snprintf(path, sizeof(path), "/proc/%u/mountinfo", pid);
	if (!find_mount(path, device, &kind->is_fuse))
		find_mount("/proc/self/mountinfo", device, &kind->is_fuse);
	return kind->is_fuse;
}

static int copy_contents(int from, int to)
{
	char part[PART];
	off_t at = 0;
	ssize_t size;

	while ((size = pread(from, part, sizeof(part), at)) > 0) {
		if (pwrite(to, part, (size_t)size, at) != size)
			return -ENOSPC;
		at += size;
		if (at > COPY_BYTES_MAX)
			return -EFBIG;
	}
	return size ? -errno : 0;
}

/* Keeps nothing else open: whoever waits for the end of a pipe must not wait for the server. */
static void leave_files(int *found, int *memory, int *report)
{
	enum { FOUND = 3, MEMORY, REPORT, END };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int kept[] = {fcntl(*found, F_DUPFD_CLOEXEC, END), fcntl(*memory, F_DUPFD_CLOEXEC, END),
		      fcntl(*report, F_DUPFD_CLOEXEC, END)};

	for (int i = 0; i < FOUND; i++)
		dup2(null, i);
	for (int i = 0; i < END - FOUND; i++)
		dup2(kept[i], FOUND + i);
	close_range(END, UINT_MAX, 0);
	*found = *found < 0 ? -1 : FOUND;
	*memory = MEMORY;
	*report = REPORT;
}

static void run_child(const struct mapped_file *file, int found, int memory, int report)
{
	struct copied copied = {0};
	struct opened_file opened;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	leave_files(&found, &memory, &report);
	open_file(file, found, &opened);
	copied.code = opened.fd < 0 ? opened.fd : copy_contents(opened.fd, memory);
	copied.identity = opened.identity;
	copied.has_path = opened.has_path;
	if (write(report, &copied, sizeof(copied)) < 0)
		_exit(1);
	_exit(0);
}

/* Waits for the child's report as long as the copy grows. Returns 0, or -ETIMEDOUT. */
static int await_copy(int report, int memory, struct copied *copied)
{
	uint64_t end = clock_monotonic_ns() + COPY_NS;
	struct pollfd fd = {.fd = report, .events = POLLIN};
	off_t before = -1;
	struct stat st;

	while (poll(&fd, 1, LIMIT_NS / 1000000) <= 0) {
		if (fstat(memory, &st) || st.st_size == before || clock_monotonic_ns() > end)
			return -ETIMEDOUT;
		before = st.st_size;
	}
	return read(report, copied, sizeof(*copied)) == sizeof(*copied) ? 0 : -EIO;
}

static int copy_file(struct file_opener *o, const struct mapped_file *file, int found,
		     struct opened_file *opened)
{
	_cleanup_close_ int memory = memfd_create("prof-copy", MFD_CLOEXEC), taken = found;
	_cleanup_close_ int report = -1, reporter = -1;
	struct copied copied = {0};
	int ends[2], ret;
	pid_t pid;

	if (memory < 0 || pipe2(ends, O_CLOEXEC))
		return -errno;
	report = ends[0];
	reporter = ends[1];
	reap(o);
	pid = fork();
	if (pid == 0)
		run_child(file, found, memory, reporter);
	if (pid < 0)
		return -errno;
	vec_push(&o->children, pid);
	ret = await_copy(report, memory, &copied);
	if (ret) {
		kill(pid, SIGKILL);
		return ret;
	}
	if (copied.code)
		return copied.code;
	if (binary_summarize(memory, &opened->summary, NULL))
		memset(&opened->summary, 0, sizeof(opened->summary));
	opened->identity = copied.identity;
	opened->has_path = copied.has_path;
	return opened->fd = steal_fd(&memory);
}

int file_opener_open(struct file_opener *o, const struct mapped_file *file,
		     struct opened_file *opened)
{
	struct opening *opening;
	dev_t device;
	int found = mapped_file_find(file, &device);

	/* Other file systems have no block device: they are on a network, in memory, or layered. */
	if (major(device)) {
		open_file(file, found, opened);
		return opened->fd;
	}
	if (is_silent(o, device)) {
		fd_close(found);
		return -ETIMEDOUT;
	}
	if (is_fuse(o, file->pid, device ? device : file->device)) {
		int fd = copy_file(o, file, found, opened);

		return fd == -ETIMEDOUT ? abandon(o, file, device) : fd;
	}
	opening = new_opening(file, found);
	if (!bounded_call(run, release, opening, LIMIT_NS))
		return abandon(o, file, device);
	*opened = opening->opened;
	free_opening(opening);
	return opened->fd;
}
