/* SPDX-License-Identifier: MIT */
#include "lib/live/process/late_reader.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "lib/base/workers.h"

/*
 * Maximum wait for a page: it may be on a file system that does not respond, and an untrusted
 * process chose it.
 */
#define BLOCKED_MAX_NS 50000000
/* On a busy machine, the worker also waits for a CPU, which is not the page's fault. */
#define WAIT_MAX_NS 1000000000
/* Interval of checking whether the worker waits for the page or for a CPU. */
#define POLL_NS 10000000
/* Maximum bytes to read in each second of the recording. */
#define BYTES_MAX ((size_t)64 << 20)
/* The same for waiting: pages that always arrive just in time would block the recorder as well. */
#define BLOCKED_SECOND_MAX_NS 200000000

/* Shorter reads have not been blocked. */
#define BLOCKED_MIN_NS 100000

/*
 * Each read costs a wake-up of the worker, while adjacent data is requested piece by piece, so read
 * pages.
 */
#define PAGE_SIZE 4096
#define READ_PAGES 16 /* maximum to read at once */
#define PAGES 2048 /* cached pages; a power of two */
#define LARGE (64 * PAGE_SIZE) /* reads of this size or more bypass the cache */

struct late_page {
	uint64_t addr, time; /* 0: none */
	pid_t pid;
	bool is_readable;
};

#define LASTING 64 /* number of processes; a power of two */

/* Memory that does not change. */
struct late_lasting {
	pid_t pid; /* 0: none */
	uint64_t since;
	uint64_t start, end;
};

struct late_pages {
	struct late_page rows[PAGES];
	uint8_t bytes[PAGES][PAGE_SIZE];
};

/* A reading thread. If it is stuck, it keeps its memory until prof ends. */
struct late_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t has_work, is_finished;
	bool is_asked, is_ending;
	pid_t tid; /* 0: not started yet */
	/* The read; `data` belongs to the worker while is_asked is set. */
	pid_t pid;
	uint64_t addr;
	uint8_t *data;
	size_t size;
	ssize_t done; /* bytes read before an unreadable page; -1: none */
	uint64_t blocked_ns; /* time neither running nor waiting for a CPU */
};

static ssize_t read_there(const struct late_worker *w)
{
	struct iovec own = {w->data, w->size}, other = {(void *)(uintptr_t)w->addr, w->size};

	return process_vm_readv(w->pid, &own, 1, &other, 1, 0);
}

/* Returns how long this thread has run and waited for a CPU; 0: not reported by the kernel. */
static uint64_t scheduled_ns(int fd)
{
	char text[64];
	ssize_t size = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, 0);
	unsigned long long ran, queued;
	char *end;

	if (size <= 0)
		return 0;
	text[size] = '\0';
	ran = strtoull(text, &end, 10);
	queued = strtoull(end, NULL, 10);
	return ran + queued;
}

/* Reads, and measures how long the pages blocked it. */
static ssize_t read_and_measure(const struct late_worker *w, int schedstat, uint64_t *blocked_ns)
{
	uint64_t scheduled = scheduled_ns(schedstat), start = clock_monotonic_ns(), passed;
	ssize_t done = read_there(w);

	passed = clock_monotonic_ns() - start;
	scheduled = passed < BLOCKED_MIN_NS ? passed : scheduled_ns(schedstat) - scheduled;
	*blocked_ns = passed > scheduled ? passed - scheduled : 0;
	return done;
}

static void *work(void *ctx)
{
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	struct late_worker *w = ctx;
	uint64_t blocked_ns;
	ssize_t done;

	pthread_mutex_lock(&w->lock);
	w->tid = (pid_t)syscall(SYS_gettid);
	while (!w->is_ending) {
		if (!w->is_asked) {
			pthread_cond_wait(&w->has_work, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		done = read_and_measure(w, schedstat, &blocked_ns);
		pthread_mutex_lock(&w->lock);
		w->done = done;
		w->blocked_ns = blocked_ns;
		w->is_asked = false;
		pthread_cond_signal(&w->is_finished);
	}
	pthread_mutex_unlock(&w->lock);
	fd_close(schedstat);
	return NULL;
}

static struct late_worker *start(void)
{
	struct late_worker *w = xcalloc(1, sizeof(*w));

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->has_work, NULL);
	thread_cond_init(&w->is_finished);
	if (thread_start(&w->thread, "prof-late", work, w) == 0)
		return w;
	free(w);
	return NULL;
}

void late_reader_release(struct late_reader *r)
{
	struct late_worker *w = r->worker;

	free(r->pages);
	r->pages = NULL;
	free(r->lasting);
	r->lasting = NULL;
	if (!w)
		return;
	r->worker = NULL;
	if (r->is_stuck) {
		pthread_detach(w->thread);
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->is_ending = true;
	pthread_cond_signal(&w->has_work);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	free(w);
}

static struct late_lasting *find_lasting(const struct late_reader *r, pid_t pid)
{
	return r->lasting ? items_find(r->lasting, LASTING, it, it->pid == pid) : NULL;
}

void late_reader_keep(struct late_reader *r, pid_t pid, uint64_t start, uint64_t end)
{
	struct late_lasting *row = find_lasting(r, pid);

	if (!r->lasting)
		r->lasting = xcalloc(LASTING, sizeof(*r->lasting));
	if (!row)
		row = &r->lasting[r->next_lasting++ & (LASTING - 1)];
	*row = (struct late_lasting){pid, clock_monotonic_ns(), start, end};
}

/* Returns the earliest time of a read that is still good enough. */
static uint64_t oldest_good(const struct late_reader *r, uint64_t addr)
{
	const struct late_lasting *row = r->own_lasting;

	return row && row->pid == r->pid && addr >= row->start && addr < row->end &&
			       row->since < r->time
		       ? row->since
		       : r->time;
}

void late_reader_begin(struct late_reader *r, pid_t pid, uint64_t time)
{
	r->pid = pid;
	r->time = time;
	r->own_lasting = find_lasting(r, pid);
	if (time / 1000000000 == r->second)
		return;
	r->second = time / 1000000000;
	r->left = BYTES_MAX;
	r->blocked_ns = 0;
}

/* Returns whether the worker runs or waits for a CPU. */
static bool is_runnable(const struct late_worker *w)
{
	char path[64], text[128];
	ssize_t size = 0;
	const char *state;
	int fd;

	if (!w->tid)
		return true;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", w->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		size = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[size > 0 ? size : 0] = '\0';
	/* The name before it may contain anything, but it is this program's own. */
	state = strrchr(text, ')');
	return state && state[1] && state[2] == 'R';
}

/* Waits for the worker. Returns false if the page does not arrive. */
static bool wait_for(struct late_reader *r, struct late_worker *w)
{
	uint64_t start = clock_monotonic_ns(), now = start, blocked_ns = 0;

	while (w->is_asked && blocked_ns < BLOCKED_MAX_NS && now - start < WAIT_MAX_NS) {
		uint64_t poll_end = clock_monotonic_ns() + POLL_NS;
		const struct timespec until = {
			.tv_sec = (time_t)(poll_end / 1000000000),
			.tv_nsec = (long)(poll_end % 1000000000),
		};

		if (pthread_cond_timedwait(&w->is_finished, &w->lock, &until) == 0)
			continue;
		if (!is_runnable(w))
			blocked_ns += POLL_NS;
		now = clock_monotonic_ns();
	}
	r->blocked_ns += w->is_asked ? blocked_ns : w->blocked_ns;
	return !w->is_asked;
}

/* Returns whether a page that took too long has finally arrived. */
static bool is_ready(struct late_reader *r)
{
	struct late_worker *w;

	if (!r->worker)
		r->worker = start();
	w = r->worker;
	if (w && r->is_stuck) {
		pthread_mutex_lock(&w->lock);
		r->is_stuck = w->is_asked;
		if (!r->is_stuck)
			free(w->data);
		pthread_mutex_unlock(&w->lock);
	}
	return w && !r->is_stuck;
}

/*
 * Makes the worker read up to the first unreadable page. Returns the bytes read, or -1: not now.
 */
static ssize_t submit_read(struct late_reader *r, uint64_t addr, void *to, size_t size)
{
	struct late_worker *w;
	ssize_t done;

	if (size > r->left || r->blocked_ns >= BLOCKED_SECOND_MAX_NS || !is_ready(r)) {
		r->refused++;
		return -1;
	}
	w = r->worker;
	r->left -= size;
	pthread_mutex_lock(&w->lock);
	w->data = xmalloc(size + 1);
	w->pid = r->pid;
	w->addr = addr;
	w->size = size;
	w->is_asked = true;
	pthread_cond_signal(&w->has_work);
	r->is_stuck = !wait_for(r, w);
	done = r->is_stuck || w->done < 0 ? 0 : w->done;
	memcpy(to, w->data, (size_t)done);
	if (!r->is_stuck)
		free(w->data);
	pthread_mutex_unlock(&w->lock);
	r->refused += r->is_stuck;
	return r->is_stuck ? -1 : done;
}

/* Reads a page and those after it into their slots. Returns false if that is impossible now. */
static bool read_pages(struct late_reader *r, uint64_t addr, size_t slot, size_t count)
{
	uint64_t now = clock_monotonic_ns();
	ssize_t done;

	count = MIN(count, READ_PAGES);
	count = MIN(count, PAGES - slot);
	for (size_t i = 0; i < count; i++)
		r->pages->rows[slot + i] = (struct late_page){0};
	done = submit_read(r, addr, r->pages->bytes[slot], count * PAGE_SIZE);
	if (done < 0)
		return false;
	r->pages->rows[slot] = (struct late_page){addr, now, r->pid, done >= PAGE_SIZE};
	for (size_t i = 1; i < (size_t)done / PAGE_SIZE; i++)
		r->pages->rows[slot + i] = (struct late_page){addr + i * PAGE_SIZE, now, r->pid,
							      true};
	return true;
}

/* Returns the page at an address, the first of `count` to read unless cached; NULL: unreadable. */
static const uint8_t *find_page(struct late_reader *r, uint64_t addr, size_t count)
{
	size_t slot = (size_t)(addr / PAGE_SIZE) & (PAGES - 1);
	const struct late_page *page;
	uint64_t oldest;

	if (!addr)
		return NULL;
	if (!r->pages)
		r->pages = xcalloc(1, sizeof(*r->pages));
	page = &r->pages->rows[slot];
	oldest = page->is_readable ? oldest_good(r, addr) : r->time;
	if ((page->addr != addr || page->pid != r->pid || page->time < oldest) &&
	    !read_pages(r, addr, slot, count))
		return NULL;
	return page->is_readable ? r->pages->bytes[slot] : NULL;
}

bool late_reader_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	struct late_reader *r = ctx;
	uint8_t *out = to;

	if (size >= LARGE)
		return submit_read(r, addr, to, size) == (ssize_t)size;
	while (size) {
		size_t at = (size_t)(addr % PAGE_SIZE), count = PAGE_SIZE - at;
		const uint8_t *page = find_page(r, addr - at, (at + size - 1) / PAGE_SIZE + 1);

		if (!page)
			return false;
		count = MIN(count, size);
		memcpy(out, page + at, count);
		out += count;
		addr += count;
		size -= count;
	}
	return true;
}
