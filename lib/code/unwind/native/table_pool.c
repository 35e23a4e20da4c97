/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/table_pool.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include "bpf/unwind.h"
#include "lib/base/workers.h"
#include "lib/code/unwind/native/table_cache.h"

#define ALIGN_WORDS 16u

static uint32_t *make_own(void *ctx, uint32_t id)
{
	void *memory = mmap(NULL, UNWIND_SHARD_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void drop_own(void *ctx, uint32_t id, uint32_t *words)
{
	munmap(words, UNWIND_SHARD_BYTES);
}

void table_arena_init(struct table_arena *s, const struct shard_source *source, uint64_t max_bytes)
{
	static const struct shard_source own = {make_own, drop_own, NULL};

	*s = (struct table_arena){.source = source ? *source : own, .max_bytes = max_bytes};
}

void table_arena_release(struct table_arena *s)
{
	for (uint32_t id = 0; id < s->rows.count; id++) {
		s->source.drop(s->source.ctx, id, s->rows.items[id].words);
		vec_release(&s->rows.items[id].holes);
	}
	vec_release(&s->rows);
}

static bool add_shard(struct table_arena *s)
{
	uint32_t id = (uint32_t)s->rows.count;
	struct shard shard = {0};

	if (id >= UNWIND_SHARDS_MAX || (id + 1ull) * UNWIND_SHARD_BYTES > s->max_bytes)
		return false;
	shard.words = s->source.make(s->source.ctx, id);
	if (!shard.words) {
		log_debug("no more memory for unwind tables: %s", strerror(errno));
		return false;
	}
	vec_push(&shard.holes, (struct shard_piece){.shard = id, .words = UNWIND_SHARD_WORDS});
	vec_push(&s->rows, shard);
	return true;
}

static bool take_from(struct shard *shard, uint32_t words, struct shard_piece *piece)
{
	for (size_t i = 0; i < shard->holes.count; i++) {
		struct shard_piece *hole = &shard->holes.items[i];

		if (hole->words < words)
			continue;
		*piece = (struct shard_piece){hole->shard, hole->at, words};
		hole->at += words;
		hole->words -= words;
		if (!hole->words) {
			shard->holes.count--;
			memmove(hole, hole + 1, (shard->holes.count - i) * sizeof(*hole));
		}
		return true;
	}
	return false;
}

bool table_arena_alloc(struct table_arena *s, uint32_t words, struct shard_piece *piece)
{
	words = (words + ALIGN_WORDS - 1) & ~(ALIGN_WORDS - 1);
	if (!words || words > UNWIND_SHARD_WORDS)
		return false;
	vec_for_each(&s->rows, struct shard *, shard) {
		if (take_from(shard, words, piece))
			return true;
	}
	return add_shard(s) && take_from(&vec_last(&s->rows), words, piece);
}

/* Returns the index of the first hole after the piece. */
static size_t hole_after(const struct shard *shard, uint32_t at)
{
	return vec_count_front(&shard->holes, it, it->at < at);
}

void table_arena_free(struct table_arena *s, const struct shard_piece *piece)
{
	struct shard *shard = &s->rows.items[piece->shard];
	size_t at = hole_after(shard, piece->at);
	struct shard_piece *holes = shard->holes.items;
	bool joins_last = at && holes[at - 1].at + holes[at - 1].words == piece->at;
	bool joins_next = at < shard->holes.count && piece->at + piece->words == holes[at].at;

	if (joins_last && joins_next) {
		holes[at - 1].words += piece->words + holes[at].words;
		shard->holes.count--;
		memmove(holes + at, holes + at + 1, (shard->holes.count - at) * sizeof(*holes));
	} else if (joins_last) {
		holes[at - 1].words += piece->words;
	} else if (joins_next) {
		holes[at].at = piece->at;
		holes[at].words += piece->words;
	} else {
		vec_push(&shard->holes, *piece);
		holes = shard->holes.items;
		memmove(holes + at + 1, holes + at, (shard->holes.count - 1 - at) * sizeof(*holes));
		holes[at] = *piece;
	}
}

uint32_t *table_arena_words(const struct table_arena *s, const struct shard_piece *piece)
{
	return s->rows.items[piece->shard].words + piece->at;
}

/* More threads would only use more memory. */
#define THREADS_MAX 8
/* Number of threads reserved for small files. */
#define THREADS_MIN 2
#define LARGE_FILE (4u << 20)

struct job {
	uint32_t module_id;
	int fd;
	bool is_large, is_too_large;
};

/* A FIFO queue. */
struct jobs {
	size_t next; /* jobs before this index are taken */
	VEC(struct job) rows;
};

struct worker {
	struct table_pool *pool;
	pthread_t thread;
	struct rule_numbers own; /* saves asking the store for every rule */
	struct unwind_scratch *scratch; /* NULL while idle */
};

struct table_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	bool stop;
	struct jobs small, large;
	unsigned int idle, busy, busy_large, count, max;
	struct worker workers[THREADS_MAX];
	size_t next_result;
	VEC(struct table_result) results;
	int event_fd;
	bool is_announced; /* event_fd is readable */
	struct rule_store *rules; /* borrowed */
	const struct table_probe *probe; /* borrowed; NULL: none */
	struct table_cache *cache; /* borrowed; NULL: none */
	uint64_t max_file; /* 0: any size */
};

void table_result_release(struct table_result *result)
{
	unwind_table_release(&result->table);
	free(result->layout);
	free(result->refusal);
}

static size_t left(const struct jobs *jobs)
{
	return jobs->rows.count - jobs->next;
}

static struct job take_first(struct jobs *jobs)
{
	struct job job = jobs->rows.items[jobs->next++];

	if (!left(jobs)) {
		vec_clear(&jobs->rows);
		jobs->next = 0;
	} else if (jobs->next == TABLE_POOL_MAX) {
		memmove(jobs->rows.items, jobs->rows.items + jobs->next,
			left(jobs) * sizeof(*jobs->rows.items));
		jobs->rows.count -= jobs->next;
		jobs->next = 0;
	}
	return job;
}

/* Returns the reason with the file's name, from malloc. */
static char *refusal_of(int fd, const struct error *err)
{
	char link[64], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	path[size > 0 ? size : 0] = '\0';
	return xasprintf("%s: %s", path, err->text);
}

static void probe(const struct table_probe *probe, int fd, struct table_result *result)
{
	struct runtime_layout layout = {0};
	struct error err = {0};

	if (probe->find(fd, &layout, &err))
		result->refusal = refusal_of(fd, &err);
	else if (layout.kind != RUNTIME_NONE)
		result->layout = xmemdup(&layout, sizeof(layout));
}

/* Compiles a file. The numbers of its rules are the thread's own. */
static void compile(struct worker *w, const struct job *job, struct table_result *result)
{
	struct error err = {0};

	if (!w->scratch)
		w->scratch = unwind_scratch_new();
	if (job->is_too_large) {
		log_debug("no unwind table: the file is too large for the memory limit");
	} else if (unwind_table_compile(job->fd, &w->own.rules, w->scratch, &result->table, &err)) {
		log_debug("no unwind table: %s", err.text);
		unwind_table_release(&result->table);
	}
	if (w->pool->probe)
		probe(w->pool->probe, job->fd, result);
}

/* Makes a result. Returns true if it is to be kept. */
static bool make(struct worker *w, const struct job *job, struct table_result *result,
		 struct table_write *write)
{
	const struct table_pool *p = w->pool;
	struct table_origin origin;
	bool can_keep = !job->is_too_large &&
			table_cache_identify(p->cache, job->fd, p->probe, &origin);

	*result = (struct table_result){.module_id = job->module_id};
	if (can_keep && table_cache_load(p->cache, &origin, p->rules, &w->own,
					 p->probe ? p->probe->is_sane : NULL, result)) {
		result->was_kept = true;
		can_keep = false;
	} else {
		compile(w, job, result);
		can_keep = can_keep && table_cache_prepare(job->fd, &origin, result, write);
		rule_store_number(p->rules, &w->own);
		vec_for_each(&result->table.rows, struct unwind_row *, row)
			row->rule = w->own.numbers.items[row->rule];
	}
	close(job->fd);
	return can_keep;
}

static void note_size(const struct table_pool *p, struct job *job)
{
	struct stat st;

	job->is_large = fstat(job->fd, &st) == 0 && st.st_size >= LARGE_FILE;
	job->is_too_large = job->is_large && p->max_file && (uint64_t)st.st_size > p->max_file;
}

/* Compiles a file at once, and keeps the table for when the file is mapped. */
static void keep_table(struct table_pool *p, int fd)
{
	struct worker w = {.pool = p};
	struct job job = {.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)};
	struct table_result result;
	struct table_write write;

	if (job.fd < 0)
		return;
	note_size(p, &job);
	rule_numbers_init(&w.own);
	if (make(&w, &job, &result, &write))
		table_cache_store(p->cache, &write, unwind_scratch_rows(w.scratch), &w.own.rules);
	table_result_release(&result);
	unwind_scratch_free(w.scratch);
	rule_numbers_release(&w.own);
}

bool table_pool_find_runtime(struct table_pool *p, int fd, struct runtime_layout *layout)
{
	struct table_origin origin;
	bool can_keep;

	if (!p->probe)
		return false;
	can_keep = table_cache_identify(p->cache, fd, p->probe, &origin);
	if (can_keep && table_cache_load_layout(p->cache, &origin, p->probe->is_sane, layout))
		return layout->kind != RUNTIME_NONE;
	if (p->probe->find(fd, layout, NULL) != 0 || layout->kind == RUNTIME_NONE)
		return false;
	if (can_keep)
		keep_table(p, fd);
	return true;
}

/*
 * Takes one large file at a time while small ones wait; otherwise as many as leave one thread for
 * small files to come.
 */
static bool find_job(struct table_pool *p, struct job *job)
{
	bool takes_large = left(&p->large) && p->busy_large + 1 < p->max &&
			   (!p->busy_large || !left(&p->small));

	if (!takes_large && !left(&p->small))
		return false;
	*job = take_first(takes_large ? &p->large : &p->small);
	return true;
}

/* Waits for the next job; call with the lock held. Returns false if the pool stops. */
static bool take_job(struct worker *w, struct job *job)
{
	struct table_pool *p = w->pool;

	while (!p->stop && !find_job(p, job)) {
		unwind_scratch_free(steal(w->scratch));
		p->idle++;
		pthread_cond_wait(&p->wake, &p->lock);
		p->idle--;
	}
	return !p->stop;
}

static size_t not_done(const struct table_pool *p)
{
	return p->busy + left(&p->small) + left(&p->large);
}

static size_t not_taken(const struct table_pool *p)
{
	return p->results.count - p->next_result;
}

static void give(struct table_pool *p, const struct table_result *result)
{
	const uint64_t one = 1;

	/* Signal once: the reader takes all results. */
	if (!p->is_announced)
		(void)!write(p->event_fd, &one, sizeof(one));
	p->is_announced = true;
	vec_push(&p->results, *result);
	pthread_cond_broadcast(&p->done);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct table_pool *p = w->pool;
	struct job job;

	pthread_mutex_lock(&p->lock);
	while (take_job(w, &job)) {
		struct table_result result;
		struct table_write write;
		bool is_kept;

		p->busy++;
		p->busy_large += job.is_large;
		pthread_mutex_unlock(&p->lock);
		is_kept = make(w, &job, &result, &write);
		pthread_mutex_lock(&p->lock);
		p->busy--;
		p->busy_large -= job.is_large;
		give(p, &result);
		if (!is_kept)
			continue;
		/* Keep the result after handing it over: nobody waits for that. */
		pthread_mutex_unlock(&p->lock);
		table_cache_store(p->cache, &write, unwind_scratch_rows(w->scratch), &w->own.rules);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Adds a thread. On failure, the existing ones do the work. */
static bool add_thread(struct table_pool *p)
{
	struct worker *w = &p->workers[p->count];

	*w = (struct worker){.pool = p};
	rule_numbers_init(&w->own);
	if (thread_start(&w->thread, "prof-tables", work, w)) {
		rule_numbers_release(&w->own);
		return false;
	}
	p->count++;
	return true;
}

static unsigned int thread_limit(void)
{
	cpu_set_t cpus;
	unsigned int count;

	/* The call fails on machines with more CPUs than the set holds. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0)
		return THREADS_MAX;
	count = (unsigned int)CPU_COUNT(&cpus);
	if (count < THREADS_MIN)
		return THREADS_MIN;
	return count < THREADS_MAX ? count : THREADS_MAX;
}

struct table_pool *table_pool_new(struct rule_store *rules, int event_fd)
{
	struct table_pool *p = xcalloc(1, sizeof(*p));

	p->event_fd = event_fd;
	p->rules = rules;
	p->max = thread_limit();
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	thread_cond_init(&p->done);
	if (!add_thread(p)) {
		table_pool_free(p);
		return NULL;
	}
	return p;
}

void table_pool_probe(struct table_pool *p, const struct table_probe *probe)
{
	p->probe = probe;
}

void table_pool_keep(struct table_pool *p, struct table_cache *cache)
{
	p->cache = cache;
}

void table_pool_limit(struct table_pool *p, uint64_t max_file)
{
	p->max_file = max_file;
}

/* Returns false if a thread was left behind. */
static bool stop_workers(struct table_pool *p)
{
	bool have_ended = true;

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->count; i++) {
		if (!thread_join_soon(p->workers[i].thread)) {
			have_ended = false;
			continue;
		}
		rule_numbers_release(&p->workers[i].own);
		unwind_scratch_free(p->workers[i].scratch);
	}
	return have_ended;
}

static void release_jobs(struct jobs *jobs)
{
	while (left(jobs))
		close(take_first(jobs).fd);
	vec_release(&jobs->rows);
}

bool table_pool_free(struct table_pool *p)
{
	struct table_result result;

	if (!p)
		return true;
	if (!stop_workers(p))
		return false;
	release_jobs(&p->small);
	release_jobs(&p->large);
	while (table_pool_next(p, &result))
		table_result_release(&result);
	vec_release(&p->results);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	pthread_cond_destroy(&p->done);
	free(p);
	return true;
}

static size_t room(const struct table_pool *p)
{
	size_t taken = not_done(p) + not_taken(p);

	return taken < TABLE_POOL_MAX ? TABLE_POOL_MAX - taken : 0;
}

size_t table_pool_room(struct table_pool *p)
{
	size_t count;

	pthread_mutex_lock(&p->lock);
	count = room(p);
	pthread_mutex_unlock(&p->lock);
	return count;
}

bool table_pool_submit(struct table_pool *p, uint32_t module_id, int fd)
{
	struct job job = {.module_id = module_id, .fd = fd};
	bool has_room;

	note_size(p, &job);
	pthread_mutex_lock(&p->lock);
	has_room = room(p);
	if (has_room) {
		vec_push(job.is_large ? &p->large.rows : &p->small.rows, job);
		if (left(&p->small) + left(&p->large) > p->idle && p->count < p->max)
			add_thread(p);
		pthread_cond_signal(&p->wake);
	}
	pthread_mutex_unlock(&p->lock);
	return has_room;
}

bool table_pool_wait(struct table_pool *p, size_t count, uint64_t max_ns)
{
	uint64_t end = clock_monotonic_ns() + max_ns;
	struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
	int code = 0;
	bool done;

	pthread_mutex_lock(&p->lock);
	while (not_done(p) > count && !code)
		code = pthread_cond_timedwait(&p->done, &p->lock, &until);
	done = not_done(p) <= count;
	pthread_mutex_unlock(&p->lock);
	return done;
}

bool table_pool_next(struct table_pool *p, struct table_result *result)
{
	uint64_t announced;
	bool found;

	pthread_mutex_lock(&p->lock);
	if (p->is_announced)
		(void)!read(p->event_fd, &announced, sizeof(announced));
	p->is_announced = false;
	found = not_taken(p);
	if (found) {
		*result = p->results.items[p->next_result++];
	} else {
		vec_clear(&p->results);
		p->next_result = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return found;
}

bool table_pool_is_empty(struct table_pool *p)
{
	bool is_empty;

	pthread_mutex_lock(&p->lock);
	is_empty = !not_done(p) && !not_taken(p);
	pthread_mutex_unlock(&p->lock);
	return is_empty;
}
