/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/thread_names.h"

#include "lib/live/machine/host.h"
#include "lib/stream/record/records.h"

/*
 * Interval of reads, and their number after the last new thread or name until it doubles: the name
 * is there once the thread has run.
 */
#define WAIT_NS 100000000ull
#define WAIT_MAX_NS 6400000000ull
#define SOON_READS 20
/* Added to the interval for each thread: many would take too much time. */
#define THREAD_WAIT_NS 1000000ull
/* Times that a name is sent: the record of the thread's start may be late. */
#define SENDS 3
/* Maximum threads of another pid namespace to find in a read: each takes a walk over all. */
#define LOOKUPS_MAX 8
/* Maximum processes to read at a time; the others follow. */
#define READS_MAX 32

struct known_thread {
	uint32_t inner, tid; /* id in its own pid namespace, and in this one; 0: not found */
	uint64_t name; /* hash */
	unsigned int sends; /* of the name */
	uint64_t seen; /* time of the last read that found it */
};

/* A followed process. */
struct named_process {
	struct runtime_layout layout;
	uint64_t bias, list;
	uint64_t wait_ns, read_ns; /* interval until the next read, and time of the last one */
	unsigned int soon; /* reads left until the interval grows */
	bool is_inner; /* it has a pid namespace of its own */
	VEC(struct known_thread) threads;
};

struct named_state {
	struct named_process *named; /* owned; NULL: not followed */
};

struct thread_names {
	struct live_processes *processes;
	struct process_state state;
	uint32_t at; /* number of the next process to look at */
	size_t count; /* followed processes */
};

static struct named_state *state_of(const struct thread_names *n, struct live_process *process)
{
	return live_process_state(process, n->state);
}

static void follow(struct thread_names *n, struct live_process *process, uint64_t bias,
		   uint64_t list, const struct runtime_layout *layout)
{
	struct named_process *p = xcalloc(1, sizeof(*p));
	uint32_t numbers[PROC_STATUS_NUMBERS_MAX];
	_cleanup_free_ char *status = proc_status_read(process->pid);

	p->layout = *layout;
	p->bias = bias;
	p->list = list;
	p->wait_ns = WAIT_NS;
	p->soon = SOON_READS;
	p->is_inner = status && proc_status_numbers(status, "NSpid", numbers) > 1;
	state_of(n, process)->named = p;
	n->count++;
}

static void release(void *ctx, struct live_process *process)
{
	struct thread_names *n = ctx;
	struct named_process *p = steal(state_of(n, process)->named);

	if (!p)
		return;
	vec_release(&p->threads);
	free(p);
	n->count--;
}

static void inherit(void *ctx, struct live_process *child, struct live_process *parent)
{
	struct thread_names *n = ctx;
	const struct named_process *p = parent ? state_of(n, parent)->named : NULL;

	if (p)
		follow(n, child, p->bias, p->list, &p->layout);
}

static void replace_program(void *ctx, struct live_process *process, uint64_t time)
{
	release(ctx, process);
}

static void read_soon(struct named_process *p)
{
	p->wait_ns = WAIT_NS + p->threads.count * THREAD_WAIT_NS;
	p->soon = SOON_READS;
}

static void expect(void *ctx, struct live_process *process, uint64_t time)
{
	struct named_process *p = state_of(ctx, process)->named;

	if (p)
		read_soon(p);
}

struct thread_names *thread_names_new(struct live_processes *processes)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct named_state),
		.fork = inherit,
		.exec = replace_program,
		.thread = expect,
		.release = release,
	};
	struct thread_names *n = xcalloc(1, sizeof(*n));

	n->processes = processes;
	n->state = live_processes_listen(processes, &listener, n);
	return n;
}

void thread_names_follow(struct thread_names *n, uint32_t pid, uint64_t bias,
			 const struct runtime_layout *layout)
{
	struct live_process *process = live_processes_find(n->processes, pid, UINT64_MAX);

	if (process && !state_of(n, process)->named)
		follow(n, process, bias, 0, layout);
}

struct read {
	struct live_process *process;
	struct named_process *named;
	uint64_t time;
	bool has_changed;
	unsigned int lookups; /* threads searched in /proc */
	record_sink_fn *sink;
	void *ctx;
};

/* Returns NULL for a thread that is left to the next read. */
static struct known_thread *known_thread(struct read *r, uint32_t inner)
{
	struct named_process *p = r->named;
	uint32_t tid = inner;

	vec_for_each(&p->threads, struct known_thread *, it) {
		if (it->inner == inner)
			return it;
	}
	if (p->is_inner && r->lookups++ >= LOOKUPS_MAX)
		return NULL;
	if (p->is_inner)
		tid = proc_find_thread(r->process->pid, inner);
	vec_push(&p->threads, (struct known_thread){.inner = inner, .tid = tid});
	return &vec_last(&p->threads);
}

static void take(void *ctx, uint32_t inner, const struct strbuf *name)
{
	struct read *r = ctx;
	struct known_thread *thread = known_thread(r, inner);
	size_t size = name->size < THREAD_NAME_MAX ? name->size : THREAD_NAME_MAX;
	uint64_t hash = hash_bytes(name->text, size, 0);
	_cleanup_free_ struct rec_thread_name *rec = NULL;

	if (!thread)
		return;
	thread->seen = r->time;
	if (thread->name != hash)
		thread->sends = 0;
	if (thread->sends == SENDS || !thread->tid)
		return;
	r->has_changed |= thread->name != hash;
	thread->name = hash;
	thread->sends++;
	rec = xcalloc(1, rec_thread_name_size(size));
	/* The thread may have begun since this round did. */
	record_init(&rec->rec, REC_THREAD_NAME, rec_thread_name_size(size), clock_monotonic_ns(),
		    r->process->pid, thread->tid);
	rec->name_size = (uint32_t)size;
	memcpy(rec->name, name->text, size);
	r->sink(r->ctx, &rec->rec);
}

static void forget_ended(struct named_process *p, uint64_t time)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->threads.count; i++) {
		if (p->threads.items[i].seen == time)
			p->threads.items[kept++] = p->threads.items[i];
	}
	p->threads.count = kept;
}

static void read_process(struct read *r, struct late_reader *reader)
{
	struct named_process *p = r->named;

	late_reader_begin(reader, (pid_t)r->process->pid, r->time);
	runtimes[p->layout.kind]->read_threads(&p->layout, p->bias, &p->list, late_reader_read,
					       reader, take, r);
	forget_ended(p, r->time);
	p->read_ns = r->time;
	if (r->has_changed)
		read_soon(p);
	else if (p->soon)
		p->soon--;
	else if (p->wait_ns < WAIT_MAX_NS)
		p->wait_ns *= 2;
}

void thread_names_read(struct thread_names *n, struct late_reader *reader, uint64_t time,
		       record_sink_fn *sink, void *ctx)
{
	struct live_process *process;
	size_t reads = 0;

	while (n->count && reads < READS_MAX &&
	       (process = live_processes_next(n->processes, &n->at))) {
		struct read r = {.process = process,
				 .named = state_of(n, process)->named,
				 .time = time,
				 .sink = sink,
				 .ctx = ctx};

		if (!r.named || process->exit_round || time - r.named->read_ns < r.named->wait_ns)
			continue;
		read_process(&r, reader);
		reads++;
	}
	if (reads < READS_MAX)
		n->at = 0;
}
