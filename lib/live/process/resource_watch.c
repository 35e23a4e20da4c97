/* SPDX-License-Identifier: MIT */
#include "lib/live/process/resource_watch.h"

#include "lib/live/process/maps_walk.h"
#include "lib/stream/process/resource.h"
#include "lib/stream/record/records.h"

#define ENVIRONMENT_MAX (256u << 10)
/* Limit of the list of mappings, which is not read further; of few processes. */
#define MAPS_MAX (1u << 20)
/* Interval until a new process is polled again; it doubles each time. */
#define WAIT_NS 100000000ull
#define WAIT_MAX_NS 600000000000ull
/* Maximum processes to poll in a round, which the rings wait for; the others follow. */
#define POLLS_MAX 8

/* The head of a process context, in a mapping of its own. */
#define CONTEXT_VERSION 2
#define CONTEXT_MAX (64u << 10)

struct context_head {
	char signature[8]; /* "OTEL_CTX" */
	uint32_t version, size;
	uint64_t published; /* a time; 0: it is being changed */
	uint64_t payload; /* address */
};

struct resource_state {
	uint64_t poll_ns; /* time of the next poll; UINT64_MAX: none */
	uint64_t wait_ns; /* interval after that; 0: the longest, as for old processes */
};

static struct resource_state *state_of(const struct resource_watch *w, struct live_process *process)
{
	return live_process_state(process, w->state);
}

static void poll_again(void *ctx, struct live_process *process, uint64_t time)
{
	*state_of(ctx, process) = (struct resource_state){time + WAIT_NS, WAIT_NS};
}

static void poll_child(void *ctx, struct live_process *child, struct live_process *parent)
{
	poll_again(ctx, child, ((const struct resource_watch *)ctx)->now);
}

void resource_watch_init(struct resource_watch *w, struct live_processes *processes,
			 bool reads_environment)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct resource_state),
		.fork = poll_child,
		.exec = poll_again,
	};

	*w = (struct resource_watch){
		.processes = processes,
		.reads_environment = reads_environment,
	};
	w->state = live_processes_listen(processes, &listener, w);
}

void resource_watch_release(struct resource_watch *w)
{
	late_reader_release(&w->reader);
}

/*
 * Opens a file of the process in /proc. Returns -1 if the process is gone or its user may not read
 * it, as for a set-user-ID program.
 */
static int open_own(uint32_t pid, const char *name)
{
	char path[64];
	struct stat file, folder;
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -1;
	/*
	 * The folder always belongs to the user; its files belong to root if the user may not read
	 * them.
	 */
	*strrchr(path, '/') = '\0';
	if (fstat(fd, &file) || stat(path, &folder) || file.st_uid != folder.st_uid)
		return -1;
	return steal_fd(&fd);
}

static char *read_own(uint32_t pid, const char *name, size_t max, size_t *size)
{
	_cleanup_close_ int fd = open_own(pid, name);

	return fd < 0 ? NULL : text_read_fd(fd, max, size);
}

/* Returns false while the process begins or ends. */
static bool add_environment(uint32_t pid, struct resource *resource)
{
	size_t size = 0;
	_cleanup_free_ char *environment = read_own(pid, "environ", ENVIRONMENT_MAX, &size);

	if (!environment || !size)
		return false;
	resource_parse_environment(resource, environment, size);
	return true;
}

static void send(struct resource_watch *w, uint32_t pid, uint64_t time,
		 const struct resource *resource, record_sink_fn *sink, void *ctx)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	_cleanup_free_ struct rec_resource *rec = NULL;

	resource_write(resource, &text);
	w->is_any_told |= text.size;
	if (!w->is_any_told)
		return;
	rec = xcalloc(1, rec_resource_size(text.size));
	record_init(&rec->rec, REC_RESOURCE, rec_resource_size(text.size), time, pid, pid);
	rec->size = (uint32_t)text.size;
	memcpy(rec->attributes, strbuf_text(&text), text.size);
	sink(ctx, &rec->rec);
}

void resource_watch_send(struct resource_watch *w, uint32_t pid, uint64_t time,
			 record_sink_fn *sink, void *ctx)
{
	struct resource resource = {0};

	if (w->reads_environment && add_environment(pid, &resource))
		send(w, pid, time, &resource, sink, ctx);
	resource_release(&resource);
}

static bool is_context(const struct proc_map *map)
{
	return text_starts_with(map->path, "/memfd:OTEL_CTX") ||
	       text_starts_with(map->path, "[anon_shmem:OTEL_CTX]") ||
	       text_starts_with(map->path, "[anon:OTEL_CTX]");
}

/* Reads memory as it is now. */
static bool read_now(struct resource_watch *w, uint64_t addr, void *to, size_t size)
{
	late_reader_begin(&w->reader, w->reader.pid, clock_monotonic_ns());
	return late_reader_read(&w->reader, addr, to, size);
}

/* Returns false if no context is there, or it has changed meanwhile. */
static bool read_context(struct resource_watch *w, uint64_t addr, struct resource *resource)
{
	_cleanup_free_ uint8_t *payload = NULL;
	struct context_head head, again;

	if (!read_now(w, addr, &head, sizeof(head)) ||
	    memcmp(head.signature, "OTEL_CTX", sizeof(head.signature)) != 0 ||
	    head.version != CONTEXT_VERSION || !head.published || head.size > CONTEXT_MAX)
		return false;
	payload = xmalloc(head.size + 1);
	if (!read_now(w, head.payload, payload, head.size) ||
	    !read_now(w, addr, &again, sizeof(again)) || again.published != head.published)
		return false;
	resource_parse_context(resource, payload, head.size);
	return true;
}

/* Searches for a context among the process's mappings. Returns false if there is none. */
static bool find_context(struct resource_watch *w, uint32_t pid, struct resource *resource)
{
	size_t size = 0;
	_cleanup_free_ char *maps = read_own(pid, "maps", MAPS_MAX, &size);
	char *at = maps;
	struct proc_map map;

	w->reader.pid = (pid_t)pid;
	while (at && proc_maps_next(&at, &map)) {
		if (is_context(&map) && read_context(w, map.start, resource))
			return true;
	}
	return false;
}

/* Polls a process. What it publishes is stronger than its environment. */
static void poll_process(struct resource_watch *w, struct live_process *process, uint64_t time,
			 record_sink_fn *sink, void *ctx)
{
	struct resource_state *state = state_of(w, process);
	struct resource own = {0}, resource = {0};

	state->poll_ns = time + (state->wait_ns ?: WAIT_MAX_NS);
	state->wait_ns = MIN(2 * state->wait_ns, WAIT_MAX_NS);
	if (find_context(w, process->pid, &own)) {
		state->poll_ns = UINT64_MAX;
		if (w->reads_environment)
			add_environment(process->pid, &resource);
		resource_add_all(&resource, &own);
		send(w, process->pid, clock_monotonic_ns(), &resource, sink, ctx);
	}
	resource_release(&own);
	resource_release(&resource);
}

void resource_watch_poll(struct resource_watch *w, uint64_t time, record_sink_fn *sink, void *ctx)
{
	struct live_process *process = NULL;
	size_t polls = 0;

	w->now = time;
	while (polls < POLLS_MAX && (process = live_processes_next(w->processes, &w->at))) {
		if (process->exit_round || state_of(w, process)->poll_ns > time)
			continue;
		poll_process(w, process, time, sink, ctx);
		polls++;
	}
	if (!process)
		w->at = 0;
}
