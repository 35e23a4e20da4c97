/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/usdt/probed_processes.h"

#include <bpf/bpf.h>
#include <pthread.h>
#include <sys/resource.h>

#include "lib/base/open_file.h"
#include "lib/base/workers.h"

/*
 * Number of threads: detaching mostly waits for the kernel, so several do it at once; with perf
 * events, only one can.
 */
#define THREADS_MAX 4

enum job_state {
	JOB_FREE,
	JOB_WAITS, /* to be attached */
	JOB_ATTACHING,
	JOB_ATTACHED,
	JOB_LEAVES, /* to be detached */
	JOB_DETACHING,
	JOB_ENDED, /* not yet reported to the owner */
};

struct job {
	enum job_state state;
	bool is_given_up; /* abandoned by the owner */
	uint32_t pid;
	uint32_t link_count; /* links counted against the limit */
	int file;
	const struct uprobe_place *places;
	size_t count;
	struct uprobe_links links;
};

struct uprobe_jobs {
	int program;
	uint32_t flags; /* flags of struct uprobe_target */
	bool is_stopped;
	bool is_freed; /* threads end once all work is done */
	uint32_t links_max;
	pthread_mutex_t lock; /* guards all members below, and the two flags above */
	pthread_cond_t changed;
	VEC(struct job) rows;
	struct uprobe_jobs_stats stats;
	pthread_t threads[THREADS_MAX];
	size_t thread_count;
};

static struct job *find(struct uprobe_jobs *j, enum job_state state)
{
	return vec_find(&j->rows, job, job->state == state);
}

static void end_job(struct uprobe_jobs *j, struct job *job)
{
	j->stats.links -= job->link_count;
	job->state = job->is_given_up ? JOB_FREE : JOB_ENDED;
}

/* Copies the job: rows move while the lock is not held. */
static void attach(struct uprobe_jobs *j, struct job *job)
{
	const struct uprobe_target target = {
		.program = j->program,
		.flags = j->flags,
		.file = job->file,
		.pid = job->pid,
		.places = job->places,
		.count = job->count,
	};
	size_t row = (size_t)(job - j->rows.items);
	struct uprobe_links links = {0};
	struct error err = {0};
	int attached;

	job->state = JOB_ATTACHING;
	pthread_mutex_unlock(&j->lock);
	attached = uprobe_attach(&target, &links, &err);
	pthread_mutex_lock(&j->lock);
	job = &j->rows.items[row];
	job->links = links;
	job->state = job->is_given_up || attached <= 0 ? JOB_LEAVES : JOB_ATTACHED;
	j->stats.attached += attached > 0;
	/* Processes may end at any time. */
	if (attached == -ESRCH || attached == (int)target.count)
		return;
	j->stats.failed += target.count - (size_t)attached;
	if (!j->stats.failure.code)
		j->stats.failure = err;
}

static void detach(struct uprobe_jobs *j, struct job *job)
{
	size_t row = (size_t)(job - j->rows.items);
	struct uprobe_links links = job->links;

	job->state = JOB_DETACHING;
	job->links = (struct uprobe_links){0};
	pthread_mutex_unlock(&j->lock);
	uprobe_detach(&links);
	pthread_mutex_lock(&j->lock);
	end_job(j, &j->rows.items[row]);
}

/* Attaches before it detaches: events of a probe are lost until it is attached. */
static void *work(void *arg)
{
	struct uprobe_jobs *j = arg;
	struct job *job;

	pthread_mutex_lock(&j->lock);
	for (;;) {
		if ((job = find(j, JOB_WAITS))) {
			attach(j, job);
		} else if ((job = find(j, JOB_LEAVES))) {
			detach(j, job);
		} else if (j->is_freed) {
			break;
		} else {
			/*
			 * Signal no other thread: threads that wake each other for nothing never
			 * sleep.
			 */
			pthread_cond_wait(&j->changed, &j->lock);
			continue;
		}
		pthread_cond_broadcast(&j->changed);
	}
	pthread_mutex_unlock(&j->lock);
	return NULL;
}

static void start_threads(struct uprobe_jobs *j)
{
	size_t count = j->flags & UPROBE_IS_MULTI ? THREADS_MAX : 1;

	while (j->thread_count < count &&
	       thread_start(&j->threads[j->thread_count], "prof-uprobes", work, j) == 0)
		j->thread_count++;
}

/* Returns a limit that leaves descriptors for everything else. */
static uint32_t find_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 4 > UPROBE_LINKS_MAX)
		return UPROBE_LINKS_MAX;
	return (uint32_t)(limit.rlim_cur / 4);
}

/* Flags as in struct uprobe_target. */
static struct uprobe_jobs *uprobe_jobs_new(int program, uint32_t flags)
{
	struct uprobe_jobs *j = xcalloc(1, sizeof(*j));

	j->program = program;
	j->flags = flags;
	j->links_max = find_limit();
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->changed, NULL);
	start_threads(j);
	return j;
}

static void leave(struct uprobe_jobs *j, struct job *job)
{
	job->is_given_up = true;
	if (job->state == JOB_WAITS)
		end_job(j, job);
	else if (job->state == JOB_ATTACHED)
		job->state = JOB_LEAVES;
	else if (job->state == JOB_ENDED)
		job->state = JOB_FREE;
}

/* Begins to detach from everything, but waits only for attachments in progress. */
static void uprobe_jobs_stop(struct uprobe_jobs *j)
{
	pthread_mutex_lock(&j->lock);
	j->is_stopped = true;
	vec_for_each(&j->rows, struct job *, job)
		leave(j, job);
	while (j->thread_count && find(j, JOB_ATTACHING))
		pthread_cond_wait(&j->changed, &j->lock);
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

/* Detaches from everything and waits for that. Accepts NULL. */
static void uprobe_jobs_free(struct uprobe_jobs *j)
{
	if (!j)
		return;
	uprobe_jobs_stop(j);
	pthread_mutex_lock(&j->lock);
	j->is_freed = true;
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
	for (size_t i = 0; i < j->thread_count; i++)
		pthread_join(j->threads[i], NULL);
	pthread_cond_destroy(&j->changed);
	pthread_mutex_destroy(&j->lock);
	vec_release(&j->rows);
	free(j);
}

static uprobe_job add(struct uprobe_jobs *j, const struct job *job)
{
	struct job *row = find(j, JOB_FREE);

	if (!row) {
		vec_push(&j->rows, *job);
		return (uprobe_job)(j->rows.count - 1);
	}
	*row = *job;
	return (uprobe_job)(row - j->rows.items);
}

static uint32_t links_of(const struct uprobe_jobs *j, size_t places)
{
	return j->flags & UPROBE_IS_MULTI ? 1 : (uint32_t)places;
}

/*
 * Attaches the process to these places; places and file are borrowed. Returns NO_UPROBE_JOB if
 * there are too many links.
 */
static uprobe_job uprobe_jobs_attach(struct uprobe_jobs *j, uint32_t pid, int file,
				     const struct uprobe_place *places, size_t count)
{
	const struct job job = {
		.state = JOB_WAITS,
		.pid = pid,
		.link_count = links_of(j, count),
		.file = file,
		.places = places,
		.count = count,
	};
	uprobe_job added = NO_UPROBE_JOB;

	pthread_mutex_lock(&j->lock);
	if (!j->is_stopped && job.link_count <= j->links_max - j->stats.links) {
		j->stats.links += job.link_count;
		added = add(j, &job);
	}
	j->stats.left_out += added == NO_UPROBE_JOB && !j->is_stopped;
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
	return added;
}

static void uprobe_jobs_detach(struct uprobe_jobs *j, uprobe_job job)
{
	pthread_mutex_lock(&j->lock);
	if (!j->is_stopped)
		leave(j, &j->rows.items[job]);
	pthread_cond_broadcast(&j->changed);
	pthread_mutex_unlock(&j->lock);
}

void uprobe_jobs_wait(struct uprobe_jobs *j)
{
	pthread_mutex_lock(&j->lock);
	while (j->thread_count && (find(j, JOB_WAITS) || find(j, JOB_ATTACHING)))
		pthread_cond_wait(&j->changed, &j->lock);
	pthread_mutex_unlock(&j->lock);
}

void uprobe_jobs_get_stats(struct uprobe_jobs *j, struct uprobe_jobs_stats *stats)
{
	pthread_mutex_lock(&j->lock);
	*stats = j->stats;
	pthread_mutex_unlock(&j->lock);
}

/* Maximum attached files for a new process to get all known files in advance. */
#define FEW_ATTACHED 256

/* State of a module. Files with the same build id are one module. */
enum module_state {
	MODULE_NEW,
	MODULE_WITHOUT,
	MODULE_WITH_PROBES,
};

void probed_processes_release(struct probed_processes *p)
{
	uprobe_jobs_free(p->jobs);
	usdt_probes_release(&p->probes);
	user_budget_release(&p->links);
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
	p->links.total = p->jobs->links_max;
	p->layouts_map = layouts_map;
}

/* Stores the layouts of a new file's probes in the kernel. */
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
	return vec_find(&p->attachments, row, row->pid == pid && row->file == file);
}

/* Returns root for a process that has ended. */
static uid_t owner_of(uint32_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) ? 0 : st.st_uid;
}

static void attach_file(struct probed_processes *p, uint32_t pid, uint32_t number)
{
	const struct usdt_file *file = p->probes.files.items[number];
	struct probe_attachment row = {.pid = pid, .file = number, .user = owner_of(pid)};

	if (file->is_everywhere || has_attached(p, pid, number))
		return;
	if (!user_budget_allows(&p->links, row.user)) {
		p->probes.left_out++;
		return;
	}
	row.links = links_of(p->jobs, file->places.count);
	row.job = uprobe_jobs_attach(p->jobs, pid, file->fd, file->places.items,
				     file->places.count);
	if (row.job == NO_UPROBE_JOB)
		return;
	user_budget_take(&p->links, row.user, row.links, 0);
	vec_push(&p->attachments, row);
}

void probed_processes_forget(struct probed_processes *p, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->attachments.count; i++) {
		const struct probe_attachment *row = &p->attachments.items[i];

		if (row->pid != pid) {
			p->attachments.items[kept++] = *row;
			continue;
		}
		uprobe_jobs_detach(p->jobs, row->job);
		user_budget_give(&p->links, row->user, row->links);
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

/* Opens the file mapped there. The module's own file may be a copy of it. */
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

void probed_processes_list_refused(const struct probed_processes *p, struct strbuf *out)
{
	usdt_probes_list_refused(&p->probes, out);
	if (!out->size)
		user_budget_list_refused(&p->links, out);
}

static void on_exit_of(void *ctx, struct live_process *process, uint64_t time)
{
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
		return error_text(err, -ENOENT, "the file has no probes");
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
