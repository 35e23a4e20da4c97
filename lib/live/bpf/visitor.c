/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/visitor.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <time.h>

#include "lib/base/workers.h"

#define ROOM_WORDS 512

/* Returns a descriptor to read, or a negative errno. */
static int open_iterator(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_link_create_opts, options);
	_cleanup_close_ int link = bpf_link_create(bpf_program__fd(program), 0, BPF_TRACE_ITER,
						   &options);
	int fd;

	if (link < 0)
		return -errno;
	fd = bpf_iter_create(link);
	return fd < 0 ? -errno : fd;
}

int task_iterator_read(const struct bpf_program *program, size_t row_size, task_row_fn *fn,
		       void *ctx)
{
	_cleanup_close_ int fd = open_iterator(program);
	uint64_t words[ROOM_WORDS];
	char *room = (char *)words;
	size_t filled = 0, whole;

	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t size = read(fd, room + filled, sizeof(words) - filled);

		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (size <= 0)
			return size ? -errno : 0;
		filled += (size_t)size;
		whole = filled / row_size;
		for (size_t i = 0; i < whole; i++)
			fn(ctx, room + i * row_size);
		filled -= whole * row_size;
		memmove(room, room + whole * row_size, filled);
	}
}

/* Ratio of a pause to the preceding pass. */
#define SEARCH_PAUSES 500
#define VISIT_PAUSES 50
#define VISIT_PAUSE_MAX_NS 1000000000ull

struct visitor {
	visitor_pass_fn *pass;
	void *ctx;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	bool is_finishing, is_done;
	bool is_abandoned; /* the thread frees the structure */
	uint32_t pids[VISITOR_PROCESSES_MAX];
	size_t count;
};

uint64_t visitor_pause(const struct pass_cost *cost)
{
	uint64_t visits = cost->visit_ns * VISIT_PAUSES;
	uint64_t pause = cost->search_ns * SEARCH_PAUSES;

	pause += visits < VISIT_PAUSE_MAX_NS ? visits : VISIT_PAUSE_MAX_NS;
	return pause > VISITOR_PAUSE_NS ? pause : VISITOR_PAUSE_NS;
}

static struct timespec time_in(uint64_t ns)
{
	uint64_t time = clock_monotonic_ns() + ns;

	return (struct timespec){(time_t)(time / 1000000000), (long)(time % 1000000000)};
}

/* Waits for a condition, or for max_ns, whichever comes first. Call with the lock held. */
static void wait_for(struct visitor *v, pthread_cond_t *cond, const bool *condition,
		     uint64_t max_ns)
{
	struct timespec end = time_in(max_ns);

	while (!*condition && pthread_cond_timedwait(cond, &v->lock, &end) != ETIMEDOUT)
		;
}

static void release(struct visitor *v)
{
	pthread_cond_destroy(&v->wake);
	pthread_cond_destroy(&v->done);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

static void *work(void *ctx)
{
	struct pass_cost cost = {0};
	struct visitor *v = ctx;
	bool is_last, is_abandoned;

	pthread_mutex_lock(&v->lock);
	do {
		uint32_t pids[VISITOR_PROCESSES_MAX];
		size_t count;

		wait_for(v, &v->wake, &v->is_finishing, visitor_pause(&cost));
		is_last = v->is_finishing;
		count = v->count;
		memcpy(pids, v->pids, count * sizeof(*pids));
		pthread_mutex_unlock(&v->lock);
		cost = v->pass(v->ctx, pids, count, is_last);
		pthread_mutex_lock(&v->lock);
	} while (!is_last);
	v->is_done = true;
	is_abandoned = v->is_abandoned;
	pthread_cond_signal(&v->done);
	pthread_mutex_unlock(&v->lock);
	if (is_abandoned)
		release(v);
	return NULL;
}

struct visitor *visitor_start(visitor_pass_fn *pass, void *ctx)
{
	struct visitor *v = xcalloc(1, sizeof(*v));
	int code;

	v->pass = pass;
	v->ctx = ctx;
	pthread_mutex_init(&v->lock, NULL);
	thread_cond_init(&v->wake);
	thread_cond_init(&v->done);
	code = thread_start(&v->thread, "prof-visitor", work, v);
	if (!code)
		return v;
	release(v);
	errno = code;
	return NULL;
}

void visitor_set_processes(struct visitor *v, const uint32_t *pids, size_t count)
{
	pthread_mutex_lock(&v->lock);
	memcpy(v->pids, pids, count * sizeof(*pids));
	v->count = count;
	pthread_mutex_unlock(&v->lock);
}

void visitor_finish(struct visitor *v)
{
	pthread_mutex_lock(&v->lock);
	v->is_finishing = true;
	pthread_cond_signal(&v->wake);
	pthread_mutex_unlock(&v->lock);
}

bool visitor_wait(struct visitor *v, uint64_t max_ns)
{
	bool is_done;

	pthread_mutex_lock(&v->lock);
	wait_for(v, &v->done, &v->is_done, max_ns);
	is_done = v->is_done;
	pthread_mutex_unlock(&v->lock);
	return is_done;
}

bool visitor_free(struct visitor *v, uint64_t max_ns)
{
	pthread_t thread;
	bool is_done;

	if (!v)
		return true;
	thread = v->thread;
	visitor_finish(v);
	pthread_mutex_lock(&v->lock);
	wait_for(v, &v->done, &v->is_done, max_ns);
	is_done = v->is_done;
	v->is_abandoned = !is_done;
	pthread_mutex_unlock(&v->lock);
	if (!is_done) {
		pthread_detach(thread);
		return false;
	}
	pthread_join(thread, NULL);
	release(v);
	return true;
}
