/* SPDX-License-Identifier: MIT */
#include "lib/live/process/targets.h"

#include <dirent.h>
#include <fnmatch.h>
#include <poll.h>
#include <pwd.h>
#include <sys/syscall.h>

#include "lib/base/identity.h"
#include "lib/live/machine/host.h"
#include "lib/live/process/cgroup_filter.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/record/records.h"

/* Kernel workers have names longer than REC_NAME_SIZE in /proc. */
#define COMM_MAX 64
#define PIDFILE_MAX 64
#define COMMAND_LINE_MAX 4096
#define PID_MAX 0x7fffffff

void targets_release(struct targets *t)
{
	vec_for_each(&t->rows, struct target *, target)
		fd_close(target->fd);
	vec_release(&t->rows);
	free(t->group);
	*t = (struct targets){0};
}

/* Returns the process to which a thread belongs; 0 if there is no such thread. */
static pid_t process_of_thread(pid_t tid)
{
	_cleanup_free_ char *status = proc_status_read((uint32_t)tid);
	uint32_t numbers[PROC_STATUS_NUMBERS_MAX];

	return status && proc_status_numbers(status, "Tgid", numbers) ? (pid_t)numbers[0] : 0;
}

static int fail_to_open(pid_t pid, int code, struct error *err)
{
	pid_t process = process_of_thread(pid);

	if (!process)
		return error_text(err, -ESRCH, "no process with pid %d", (int)pid);
	if (process == pid)
		return error_set(err, code, "cannot follow pid %d", (int)pid);
	error_text(err, -EINVAL, "%d is a thread of process %d", (int)pid, (int)process);
	error_hint(err, "use the process: %d", (int)process);
	return -EINVAL;
}

static bool has_ended(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) > 0;
}

int targets_add(struct targets *t, pid_t pid, struct error *err)
{
	int fd;

	if (vec_find(&t->rows, target, target->pid == pid))
		return 0;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return fail_to_open(pid, -errno, err);
	if (has_ended(fd)) {
		close(fd);
		return error_text(err, -ESRCH, "the process with pid %d has ended", (int)pid);
	}
	vec_push(&t->rows, (struct target){pid, fd});
	t->alive++;
	return 0;
}

/* Returns the name, which the caller frees; NULL if the process has ended. */
static char *read_comm(pid_t pid)
{
	char path[32], *comm;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	comm = text_read_file(path, COMM_MAX, &size);
	if (comm && size && comm[size - 1] == '\n')
		comm[size - 1] = 0;
	return comm;
}

char *target_name(const struct target *target)
{
	_cleanup_free_ char *comm = read_comm(target->pid);
	char name[REC_NAME_SIZE];

	if (!comm)
		return xasprintf("pid %d", (int)target->pid);
	snprintf(name, sizeof(name), "%s", comm);
	return xstrdup(running_name_read((uint32_t)target->pid, name) ? name : comm);
}

static bool has_name(pid_t pid, const struct name_set *names)
{
	_cleanup_free_ char *comm = read_comm(pid);
	char name[NAME_LENGTH_MAX + 1] = "";

	/* Truncate: /proc composes longer names for kernel workers. */
	if (comm)
		memcpy(name, comm, strnlen(comm, NAME_LENGTH_MAX));
	return comm && name_set_has(names, name);
}

static pid_t parent_of(pid_t pid)
{
	_cleanup_free_ char *status = proc_status_read((uint32_t)pid);
	uint32_t numbers[PROC_STATUS_NUMBERS_MAX];

	return status && proc_status_numbers(status, "PPid", numbers) ? (pid_t)numbers[0] : 0;
}

/*
 * Returns true for this process, and for processes that started it, such as sudo, which has the
 * same arguments.
 */
static bool is_own(pid_t pid)
{
	pid_t own = getpid();

	while (own > 1 && own != pid)
		own = parent_of(own);
	return own == pid;
}

typedef bool process_fn(const void *ctx, pid_t pid);

/*
 * Adds the running processes for which fn returns true. Returns their number, or a negative errno.
 */
static int add_those(struct targets *t, process_fn *fn, const void *ctx, struct error *err)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	if (!dir)
		return error_set(err, -errno, "cannot open /proc");
	while ((entry = readdir(dir))) {
		uint64_t pid;

		if (!text_to_u64(entry->d_name, 10, &pid) || pid > PID_MAX ||
		    !fn(ctx, (pid_t)pid) || is_own((pid_t)pid))
			continue;
		/* Skip processes that have ended meanwhile. */
		if (targets_add(t, (pid_t)pid, NULL) == 0)
			found++;
	}
	return found;
}

static bool is_named(const void *names, pid_t pid)
{
	return has_name(pid, names);
}

int targets_add_names(struct targets *t, const struct name_set *names, const char *text,
		      struct error *err)
{
	int found = add_those(t, is_named, names, err);

	if (!found)
		return error_text(err, -ESRCH, "no process is named %s", text);
	return found < 0 ? found : 0;
}

/*
 * Returns the arguments, separated by spaces; NULL for a kernel thread, or if the process has
 * ended.
 */
static char *read_command_line(pid_t pid)
{
	char path[32], *text;
	size_t size = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	text = text_read_file(path, COMMAND_LINE_MAX, &size);
	while (size && !text[size - 1])
		size--;
	for (size_t i = 0; i < size; i++)
		text[i] = text[i] ? text[i] : ' ';
	return text;
}

/*
 * Matches the program's name, the last part of the first argument. Only a glob that contains a
 * blank is matched against the whole command line: others would match any process with the glob as
 * an argument.
 */
static bool matches(const char *glob, const char *comm, const char *line)
{
	_cleanup_free_ char *program = line ? xstrndup(line, strcspn(line, " ")) : NULL;

	return (comm && fnmatch(glob, comm, 0) == 0) ||
	       (program && fnmatch(glob, basename(program), 0) == 0) ||
	       (line && strchr(glob, ' ') && fnmatch(glob, line, 0) == 0);
}

static bool is_among(const void *list, pid_t pid)
{
	_cleanup_free_ char *copy = xstrdup(list), *comm = read_comm(pid),
			    *line = read_command_line(pid);
	char *rest = copy, *glob;

	while ((glob = strsep(&rest, ","))) {
		if (*glob && matches(glob, comm, line))
			return true;
	}
	return false;
}

int targets_add_matches(struct targets *t, const char *list, struct error *err)
{
	int found = add_those(t, is_among, list, err);

	if (!found)
		return error_text(err, -ESRCH, "no process is named %s", list);
	return found < 0 ? found : 0;
}

static void add_member(void *ctx, pid_t pid)
{
	targets_add(ctx, pid, NULL);
}

int targets_add_group(struct targets *t, char *folder, struct error *err)
{
	t->group = folder;
	cgroup_processes(folder, add_member, t);
	return t->alive ? 0
			: error_text(err, -ESRCH, "%s: no process in this control group", folder);
}

/*
 * Rejects files that only prof's file capabilities, not the caller, may read. Returns -1 with errno
 * set on failure.
 */
static int open_pidfile(const char *path)
{
	const struct identity self = {.is_self = true};
	struct identity before = identity_assume_files(&self);
	int fd = -1, code;

	if (!before.failure)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	code = before.failure ? -before.failure : errno;
	identity_restore_files(&before);
	errno = code;
	return fd;
}

int targets_add_pidfile(struct targets *t, const char *path, struct error *err)
{
	_cleanup_close_ int fd = open_pidfile(path);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	uint64_t pid;
	size_t size;

	if (fd < 0 || fstat(fd, &st))
		return error_set(err, -errno, "cannot open %s", path);
	if (!S_ISREG(st.st_mode))
		return error_text(err, -EINVAL, "%s: not a regular file", path);
	text = text_read_fd(fd, PIDFILE_MAX, &size);
	if (!text)
		return error_set(err, -errno, "cannot read %s", path);
	while (size && isspace((unsigned char)text[size - 1]))
		text[--size] = 0;
	if (!text_to_u64(text, 10, &pid) || !pid || pid > PID_MAX)
		return error_text(err, -EINVAL, "%s: the file does not contain a pid", path);
	if (targets_add(t, (pid_t)pid, err))
		return error_wrap(err, "%s", path);
	return 0;
}

bool targets_have_ended(struct targets *t)
{
	vec_for_each(&t->rows, struct target *, target) {
		if (target->fd < 0 || !has_ended(target->fd))
			continue;
		/* Closing also removes it from every poll set. */
		close(target->fd);
		target->fd = -1;
		t->alive--;
	}
	if (!t->alive && t->group)
		cgroup_processes(t->group, add_member, t);
	return !t->alive;
}

#define WORD_BITS 64

/* A pattern before its states are placed in the set. */
struct pattern {
	uint64_t loops; /* one bit per state */
	uint64_t accepted[256];
	unsigned int size; /* number of elements, excluding stars */
};

static void accept(struct pattern *p, uint8_t c)
{
	if (c)
		p->accepted[c] |= 1ull << p->size;
}

/* Parses a class from after "[" up to and including "]". NULL if there is no "]". */
static const char *parse_class(struct pattern *p, const char *at)
{
	bool wanted[256] = {0}, negated = *at == '!' || *at == '^';
	const char *first = at += negated;

	while (*at && (*at != ']' || at == first)) {
		uint8_t low = (uint8_t)*at++, high = low;

		if (*at == '-' && at[1] && at[1] != ']') {
			high = (uint8_t)at[1];
			at += 2;
		}
		for (unsigned int c = low; c <= high; c++)
			wanted[c] = true;
	}
	if (!*at)
		return NULL;
	for (unsigned int c = 1; c < 256; c++) {
		if (wanted[c] != negated)
			accept(p, (uint8_t)c);
	}
	return at + 1;
}

static const char *parse_element(struct pattern *p, const char *at)
{
	if (*at == '?') {
		for (unsigned int c = 1; c < 256; c++)
			accept(p, (uint8_t)c);
		return at + 1;
	}
	if (*at == '[')
		return parse_class(p, at + 1);
	if (*at == '\\' && at[1])
		at++;
	accept(p, (uint8_t)*at);
	return at + 1;
}

static int parse(struct pattern *p, const char *text, struct error *err)
{
	bool is_plain = !text[strcspn(text, "*?[\\")];
	const char *at = text;

	while (*at) {
		if (*at == '*') {
			p->loops |= 1ull << p->size;
			at++;
			continue;
		}
		if (is_plain && p->size == NAME_LENGTH_MAX)
			break;
		if (p->size == WORD_BITS - 1)
			return error_text(err, -E2BIG, "%s: the name is too long", text);
		at = parse_element(p, at);
		if (!at)
			return error_text(err, -EINVAL, "%s: unterminated [", text);
		p->size++;
	}
	return 0;
}

/* Returns the number of used states in the word; stores each pattern's last state in `ends`. */
static unsigned int used(const struct name_set *set, unsigned int word)
{
	return set->ends[word] ? WORD_BITS - (unsigned int)__builtin_clzll(set->ends[word]) : 0;
}

int name_set_add(struct name_set *set, const char *pattern, struct error *err)
{
	struct pattern p = {0};
	unsigned int word = 0, first;
	int ret = *pattern ? parse(&p, pattern, err)
			   : error_text(err, -EINVAL, "a name must not be empty");

	if (ret)
		return ret;
	while (word < NAME_WORDS && used(set, word) + p.size + 1 > WORD_BITS)
		word++;
	if (word == NAME_WORDS)
		return error_text(err, -E2BIG, "%s: too many names", pattern);
	first = used(set, word);
	set->starts[word] |= 1ull << first;
	set->loops[word] |= p.loops << first;
	set->ends[word] |= 1ull << (first + p.size);
	for (unsigned int c = 1; c < 256; c++)
		set->accepted[c][word] |= p.accepted[c] << first;
	return 0;
}

void filter_release(struct filter *f)
{
	vec_release(&f->pids);
	vec_release(&f->tids);
	vec_release(&f->uids);
	vec_release(&f->cgroups);
	vec_release(&f->containers);
	cpu_list_release(&f->cpus);
}

int filter_add_pid(struct filter *f, uint32_t pid, struct error *err)
{
	if (process_of_thread((pid_t)pid) != (pid_t)pid)
		return error_text(err, -ESRCH, "no process with pid %u", pid);
	f->criteria |= FILTER_PID;
	vec_push(&f->pids, pid);
	return 0;
}

int filter_add_tid(struct filter *f, uint32_t tid, struct error *err)
{
	pid_t pid = process_of_thread((pid_t)tid);

	if (!pid)
		return error_text(err, -ESRCH, "no thread with tid %u", tid);
	/* If pids are also given, the thread's process must be one of them. */
	if (!(f->criteria & FILTER_PID) || f->criteria & FILTER_TID) {
		f->criteria |= FILTER_PID;
		vec_push(&f->pids, (uint32_t)pid);
	}
	f->criteria |= FILTER_TID;
	vec_push(&f->tids, tid);
	return 0;
}

int filter_add_uid(struct filter *f, const char *user, struct error *err)
{
	const struct passwd *entry;
	uint64_t uid;

	if (!text_to_u64(user, 10, &uid)) {
		entry = getpwnam(user);
		if (!entry)
			return error_text(err, -ENOENT, "no such user: %s", user);
		uid = entry->pw_uid;
	}
	if (uid >= UINT32_MAX)
		return error_text(err, -EINVAL, "--uid %s: not a user", user);
	if (f->uids.count == UIDS_MAX)
		return error_text(err, -E2BIG, "--uid: more than %d users", UIDS_MAX);
	f->criteria |= FILTER_UID;
	vec_push(&f->uids, (uint32_t)uid);
	return 0;
}

int filter_add_cgroup(struct filter *f, const char *path, struct error *err)
{
	struct cgroup_id cgroup;
	int ret = cgroup_find(path, &cgroup, err);

	if (ret)
		return ret;
	if (f->cgroups.count && f->cgroup_hierarchy != cgroup.hierarchy)
		return error_text(err, -EINVAL,
				  "--cgroup %s: all control groups must be in one hierarchy", path);
	if (f->cgroups.count == CGROUPS_MAX)
		return error_text(err, -E2BIG, "--cgroup: more than %d groups", CGROUPS_MAX);
	f->criteria |= FILTER_CGROUP;
	f->cgroup_hierarchy = cgroup.hierarchy;
	vec_push(&f->cgroups, cgroup.id);
	return 0;
}

void filter_name_container(struct filter *f, const char *cgroup, const char *name)
{
	const char *id = cgroup_container_id(cgroup, strlen(cgroup));
	struct container_name row = {.name = name};

	if (!id || strncmp(id, name, strlen(name)) == 0)
		return;
	_Static_assert(sizeof(row.id) == CONTAINER_ID_SIZE, "all digits have room");
	memcpy(row.id, id, sizeof(row.id));
	vec_push(&f->containers, row);
}

int filter_set_cpus(struct filter *f, const char *list, struct error *err)
{
	cpu_list_release(&f->cpus);
	if (cpu_list_parse(list, &f->cpus))
		return error_text(err, -EINVAL, "--cpu %s: must be an ascending list such as 0-3,8",
				  list);
	return 0;
}

int filter_check_cpus(const struct filter *f, struct error *err)
{
	struct cpu_list online;
	int ret;

	if (!f->cpus.count)
		return 0;
	ret = cpu_list_read("online", &online);
	if (ret)
		return error_set(err, ret, "cannot read the list of online CPUs");
	for (uint32_t i = 0; i < f->cpus.count && !ret; i++) {
		if (!cpu_list_has(&online, f->cpus.cpus[i]))
			ret = error_text(err, -ENODEV, "--cpu: CPU %u is not online",
					 f->cpus.cpus[i]);
	}
	cpu_list_release(&online);
	return ret;
}

uint8_t filter_pending_flags(const struct filter *f)
{
	uint8_t flags = f->criteria ? REC_UNSAMPLED : 0;

	return f->criteria & ~FILTER_THREAD ? flags | REC_OUTSIDE : flags;
}
