/* SPDX-License-Identifier: MIT */
#include "lib/live/code/line_file.h"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <time.h>

#include "lib/live/machine/host.h"

#define CHUNK_SIZE ((size_t)256 << 10)

static void take_line(struct line_file *f, const char *line, size_t size, line_file_fn *fn,
		      void *ctx)
{
	fn(ctx, f->is_inside_line ? NULL : line, size);
	f->is_inside_line = false;
}

/* Passes on all complete lines. Returns their bytes. */
static size_t take_lines(struct line_file *f, const char *text, size_t size, line_file_fn *fn,
			 void *ctx)
{
	size_t at = 0;

	while (at < size) {
		const char *end = memchr(text + at, '\n', size - at);

		if (!end)
			break;
		take_line(f, text + at, (size_t)(end - text) - at, fn, ctx);
		at = (size_t)(end - text) + 1;
	}
	return at;
}

/* Returns whether the last bytes read are still in place. If not, the file was replaced. */
static bool is_same_file(const struct line_file *f, int fd)
{
	char tail[LINE_FILE_TAIL];

	return pread(fd, tail, f->tail_size, (off_t)(f->offset - f->tail_size)) ==
		       (ssize_t)f->tail_size &&
	       memcmp(tail, f->tail, f->tail_size) == 0;
}

static void advance(struct line_file *f, const char *text, size_t size)
{
	f->offset += size;
	f->bytes += size;
	if (!size)
		return;
	f->tail_size = size < LINE_FILE_TAIL ? size : LINE_FILE_TAIL;
	memcpy(f->tail, text + size - f->tail_size, f->tail_size);
}

bool line_file_read(struct line_file *f, int fd, uint64_t budget, bool is_last, line_file_fn *fn,
		    void *ctx)
{
	_cleanup_free_ char *chunk = NULL;

	if (!is_same_file(f, fd)) {
		f->offset = f->tail_size = 0;
		f->is_inside_line = false;
	}
	chunk = xmalloc(CHUNK_SIZE);
	for (uint64_t done = 0; done < budget;) {
		ssize_t size = pread(fd, chunk, CHUNK_SIZE, (off_t)f->offset);
		size_t taken;

		if (size <= 0)
			return false;
		taken = take_lines(f, chunk, (size_t)size, fn, ctx);
		if (!taken && size == CHUNK_SIZE) {
			f->is_inside_line = true;
			taken = CHUNK_SIZE;
		} else if (!taken && is_last) {
			take_line(f, chunk, (size_t)size, fn, ctx);
			taken = (size_t)size;
		}
		advance(f, chunk, taken);
		if (!taken)
			return false;
		done += taken;
	}
	return true;
}

/* Index in the "Uid" line: real, effective, … */
#define EFFECTIVE 1
#define STAT_MAX 1024
/* Tolerance of the start time, in seconds: it is counted in ticks, by another clock. */
#define START_TOLERANCE 2

/* Returns the process's start in seconds since 1970; 0: unknown. */
static int64_t read_start(uint32_t pid)
{
	char path[32];
	unsigned long long ticks;
	struct timespec up;
	const char *after_name;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	_cleanup_free_ char *text = text_read_file(path, STAT_MAX, NULL);

	after_name = text ? strrchr(text, ')') : NULL;
	if (!after_name || clock_gettime(CLOCK_BOOTTIME, &up) != 0 ||
	    sscanf(after_name,
		   ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &ticks) != 1)
		return 0;
	return (int64_t)(clock_realtime_ns() / 1000000000) - up.tv_sec +
	       (int64_t)(ticks / (unsigned long long)sysconf(_SC_CLK_TCK));
}

int jit_process_read(struct jit_process *p, uint32_t pid)
{
	_cleanup_free_ char *status = proc_status_read(pid);
	uint32_t pids[PROC_STATUS_NUMBERS_MAX], uids[PROC_STATUS_NUMBERS_MAX];
	size_t count = status ? proc_status_numbers(status, "NSpid", pids) : 0;

	if (!count || proc_status_numbers(status, "Uid", uids) <= EFFECTIVE)
		return -ESRCH;
	/* A process has a pid in each namespace; the last is its own. */
	*p = (struct jit_process){
		.pid = pid,
		.own_pid = pids[count - 1],
		.uid = uids[EFFECTIVE],
		.start_s = read_start(pid),
	};
	return 0;
}

int jit_process_open_root(const struct jit_process *p)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/root", p->pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int jit_process_open_file(const struct jit_process *p, int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int place = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	struct stat st;
	char name[32];
	int fd;

	if (place < 0 || fstat(place, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	/* Any user can put files into /tmp and, by mounting, any of root's files. */
	if (st.st_uid != p->uid && (st.st_uid != 0 || !(st.st_mode & S_IROTH)))
		return -EPERM;
	/* Programs leave such files behind, and another process gets the pid. */
	if (st.st_ctim.tv_sec + START_TOLERANCE < p->start_s)
		return -ESTALE;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}
