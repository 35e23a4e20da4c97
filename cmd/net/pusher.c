/* SPDX-License-Identifier: MIT */
#include <grp.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "cmd/command.h"
#include "cmd/elevate/privileges.h"
#include "cmd/net/engine_client.h"
#include "cmd/run/fleet_engine.h"
#include "cmd/run/window_converter.h"
#include "lib/base/infile.h"
#include "lib/fleet/engine.h"
#include "lib/fleet/engine_kind.h"
#include "lib/fleet/fleet_push.h"
#include "lib/fleet/outbox.h"
#include "lib/fleet/request_process.h"
#include "lib/fleet/server/client.h"
#include "lib/format/format.h"

/* Sends a window's profile to an engine, and classifies the result. */

enum window_fate {
	WINDOW_SENT, /* accepted, as far as the engine stores such data */
	WINDOW_LATER, /* must be sent again */
	WINDOW_REFUSED, /* rejected for good */
};

struct window_send {
	const char *host, *service, *fallback; /* service and fallback as in fleet_origin, or "" */
	size_t max_series;
	const char *const *labels; /* "key=value" strings, NULL-terminated */
	size_t request_bytes; /* maximum size, lowered after rejections; 0: the default */
};

/*
 * Sends the profile in `fd`. *status is that of the latest answer, 0 without one, set by the
 * engine's send(). err describes the failure or, with WINDOW_SENT, the refused part.
 */
enum window_fate window_send(struct window_send *s, const struct engine *e, int fd,
			     const struct outbox_row *row, const int *status,
			     struct fleet_pushed *pushed, struct error *err);

/* Restricts a process with network access to the system calls that it needs. */

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

/*
 * Host name resolution, certificates and the spool need files, and curl needs threads for name
 * resolution. Execution, tracing, mounting and gaining privileges are not allowed.
 */
static const int allowed[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_pwrite64,
	SYS_lseek,
	SYS_close,
	SYS_openat,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_renameat,
	SYS_renameat2,
	SYS_unlinkat,
	SYS_ftruncate,
	SYS_fcntl,
	SYS_dup,
	SYS_dup3,
	SYS_pipe2,
	SYS_eventfd2,
	SYS_memfd_create,
	SYS_ioctl,
	SYS_getcwd,
	/* Memory and threads. */
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_clone,
	SYS_clone3,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_rseq,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_getcpu,
	SYS_membarrier,
	/* The network. */
	SYS_socket,
	SYS_socketpair,
	SYS_connect,
	SYS_bind,
	SYS_getsockname,
	SYS_getpeername,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_sendmmsg,
	SYS_recvmmsg,
	SYS_shutdown,
	SYS_ppoll,
	SYS_pselect6,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	/* Time, signals, identity. */
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_clock_getres,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_tgkill,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getrandom,
	SYS_getrusage,
	SYS_times,
	SYS_uname,
	SYS_sysinfo,
	SYS_prlimit64,
#ifdef SYS_poll
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_poll,
	SYS_select,
	SYS_epoll_wait,
	SYS_pipe,
	SYS_dup2,
	SYS_rename,
	SYS_unlink,
	SYS_getdents,
	SYS_time,
	SYS_arch_prctl,
	SYS_eventfd,
#endif
};

#define COUNT (sizeof(allowed) / sizeof(*allowed))
#define REFUSE (SECCOMP_RET_ERRNO | ENOSYS)

/*
 * Makes all other system calls fail with ENOSYS from now on, for all threads. Call after
 * drop_new_privileges(). Returns -ENOSYS if this kernel has no filters.
 */
static int confine(struct error *err)
{
	VEC(struct sock_filter) rules = {0};
	struct sock_fprog program;
	int ret = 0;

	vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, arch)));
	vec_push(&rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0));
	vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
	vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, nr)));
	for (size_t i = 0; i < COUNT; i++) {
		vec_push(&rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (unsigned int)allowed[i], 0, 1));
		vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	}
	vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
	program = (struct sock_fprog){.len = (unsigned short)rules.count, .filter = rules.items};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		ret = error_set(err, errno == EINVAL ? -ENOSYS : -errno,
				"cannot confine the process");
	vec_release(&rules);
	return ret;
}

#define WINDOW_MAX ((size_t)256 << 20)
/* Initial size; halved while an engine rejects requests for their size. */
#define REQUEST_BYTES ((size_t)2 << 20)
#define REQUEST_BYTES_MIN ((size_t)2 << 10)

enum { STATUS_OK = 200, STATUS_TIMEOUT = 408, STATUS_TOO_MANY = 429, STATUS_SERVER = 500 };

static uint64_t lost_of(const struct profile *p)
{
	const char *text = profile_fact(p, FACT_LOST_SAMPLES, NULL);
	uint64_t lost = 0;

	return text && text_to_u64(text, 10, &lost) ? lost : 0;
}

static enum window_fate judge(const struct engine *e, int ret, int status,
			      const struct fleet_pushed *pushed)
{
	if (!ret || ret == -ENODATA)
		return WINDOW_SENT;
	/* A collector accepted a part, and rejected the rest. */
	if (pushed->is_whole)
		return WINDOW_SENT;
	if (ret == -EINVAL || ret == -EMSGSIZE)
		return WINDOW_REFUSED;
	/* No answer, an invalid one, or missing tables. */
	if (status <= STATUS_OK || status == STATUS_TIMEOUT || status == STATUS_TOO_MANY)
		return WINDOW_LATER;
	if (engine_kind_is_collector(e->url->kind))
		return status >= 502 && status <= 504 ? WINDOW_LATER : WINDOW_REFUSED;
	return status >= STATUS_SERVER ? WINDOW_LATER : WINDOW_REFUSED;
}

static int push(struct window_send *s, const struct engine *e, const struct profile *p,
		const struct outbox_row *row, struct fleet_pushed *pushed, struct error *err)
{
	const struct fleet_origin origin = {
		.host = s->host,
		.service = *s->service ? s->service : NULL,
		.fallback = *s->fallback ? s->fallback : NULL,
		.max_series = s->max_series,
		.labels = s->labels,
		.lost = lost_of(p) + row->lost,
		.is_window = true,
		.request_bytes = s->request_bytes,
		.done = row->done,
	};

	return fleet_push(e, p, &origin, pushed, err);
}

enum window_fate window_send(struct window_send *s, const struct engine *e, int fd,
			     const struct outbox_row *row, const int *status,
			     struct fleet_pushed *pushed, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	const struct format *format;
	struct profile *p = NULL;
	size_t size;
	int ret = infile_read(fd, "a window", WINDOW_MAX, &text, &size, err);

	if (ret)
		return WINDOW_REFUSED;
	format = format_of_text(text, size);
	if (!format || !format->read || format->read(&p, text, size, NULL, err)) {
		error_text(err, -EBADMSG, "a window is damaged");
		return WINDOW_REFUSED;
	}
	/* Requests to collectors are halved elsewhere. */
	while ((ret = push(s, e, p, row, pushed, err)) == -EMSGSIZE &&
	       !engine_kind_is_collector(e->url->kind)) {
		size_t bytes = s->request_bytes ? s->request_bytes : REQUEST_BYTES;

		if (bytes <= REQUEST_BYTES_MIN)
			break;
		s->request_bytes = bytes / 2;
	}
	profile_free(p);
	return judge(e, ret, *status, pushed);
}

/*
 * The process that sends windows to one engine, prof-view __push. Only this process has access to
 * the network and the spool. It has no privileges, and only the system calls it needs.
 */

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS 1000000ull
#define SPOOL_BYTES ((uint64_t)256 << 20)
#define MEMORY_BYTES ((uint64_t)16 << 20)
/* Collectors reject windows older than an hour. */
#define AGE_NS (50 * 60 * NS_PER_SECOND)
/* Time limit for the remaining windows at the end. */
#define END_NS (3 * NS_PER_SECOND)
/* A request without progress ends after this multiple of the first wait. */
#define STALL_RATIO 30
#define OWN_USER "prof"
#define NOBODY 65534

#define SETTINGS_MAX ((size_t)1 << 20)

/* Arguments, all of which are descriptors. */
enum { ARG_SOCKET = 1, ARG_SETTINGS, ARG_COUNT };
/* Strings in the settings, in order; labels follow. */
enum {
	SETTING_URL,
	SETTING_SPOOL,
	SETTING_FIRST_NS,
	SETTING_HOST,
	SETTING_SERVICE,
	SETTING_FALLBACK,
	SETTING_SERIES,
	SETTING_LABELS,
};

struct settings {
	char *text; /* owned */
	VEC(const char *) words; /* NULL-terminated */
};

struct pusher {
	int socket; /* -1: the peer has closed it */
	const char *spool; /* "": no spool */
	struct fleet_engine engine;
	struct window_send send;
	struct outbox outbox;
	struct backoff backoff;
	struct push_report report;
	int status; /* status of the latest answer; 0: none */
	uint64_t retry_after_s;
	uint64_t end_ns; /* deadline; 0: none so far */
	int disk_failure; /* negative errno of the last failure reported */
	char shown[sizeof(((struct push_report *)0)->words)];
};

static volatile sig_atomic_t is_orphan;

static void on_orphan(int signal)
{
	is_orphan = 1;
}

static void end(struct pusher *p)
{
	if (p->socket >= 0)
		close(steal_fd(&p->socket));
	if (p->end_ns)
		return;
	p->end_ns = clock_monotonic_ns() + END_NS;
	/* Retry everything once without delay. */
	p->backoff.due_ns = 0;
}

static void answer(struct pusher *p, uint64_t id)
{
	struct push_report *report = &p->report;

	report->id = id;
	report->lost_windows = p->outbox.lost_windows;
	report->lost_samples = p->outbox.lost_samples;
	report->waiting_windows = p->outbox.rows.count;
	report->waiting_bytes = p->outbox.bytes + p->outbox.memory_bytes;
	report->failures = p->backoff.failures;
	if (window_pipe_send(p->socket, report, sizeof(*report), -1))
		end(p);
}

/* Reports once that the disk accepts no more data. */
static void say_disk(struct pusher *p)
{
	int failure = p->outbox.folder < 0 ? 0 : p->outbox.failure;

	if (failure && failure != p->disk_failure)
		command_say("%s: %s: windows are kept in memory", p->spool, strerror(-failure));
	p->disk_failure = failure;
}

static void keep(struct pusher *p, const struct push_job *job, int fd)
{
	const struct outbox_row row = {.id = job->id, .samples = job->samples, .lost = job->lost};

	outbox_add(&p->outbox, &row, fd, clock_realtime_ns());
	say_disk(p);
}

/* Receives the available windows. */
static void take_in(struct pusher *p, int timeout_ms)
{
	struct push_job job;
	struct pollfd ready = {.fd = p->socket, .events = POLLIN};
	int fd, got;

	while (p->socket >= 0 && !is_orphan && poll(&ready, 1, timeout_ms) > 0) {
		got = window_pipe_peek(p->socket, &job, sizeof(job), &fd);
		if (got <= 0) {
			end(p);
			return;
		}
		if (fd >= 0)
			keep(p, &job, fd);
		answer(p, job.id);
		if (p->socket >= 0)
			window_pipe_take(p->socket);
		timeout_ms = 0;
	}
	if (is_orphan)
		end(p);
}

/* Receives windows that arrive meanwhile. True if the request must end. */
static bool is_over(void *ctx)
{
	struct pusher *p = ctx;

	take_in(p, 0);
	return p->end_ns && clock_monotonic_ns() > p->end_ns;
}

static int send_request(void *ctx, const struct engine_request *r, struct strbuf *answer,
			struct error *err)
{
	struct pusher *p = ctx;
	const struct client_request request = {
		.url = r->url,
		.headers = r->headers,
		.body = r->body,
		.size = r->size,
		.is_over = is_over,
		.ctx = p,
		.stall_ns = p->backoff.first_ns * STALL_RATIO,
		.timeout_ns = r->to->timeout_ns,
		.ca_file = r->to->tls_files[FLEET_TLS_CA],
		.certificate_file = r->to->tls_files[FLEET_TLS_CERTIFICATE],
		.key_file = r->to->tls_files[FLEET_TLS_KEY],
		.is_http2 = r->to->kind->is_grpc,
	};
	int ret = engine_client_send(&request, answer, &p->retry_after_s, err);

	p->status = ret > 0 ? ret : 0;
	return ret;
}

/* Prints the error to standard error, unless it is the same as the last one. */
static void say(struct pusher *p, const struct error *err, const char *consequence)
{
	_cleanup_(strbuf_release) struct strbuf words = {0};

	strbuf_adds(&words, err->text);
	if (err->hint[0])
		strbuf_addf(&words, " (%s)", err->hint);
	snprintf(p->report.words, sizeof(p->report.words), "%s", words.text);
	text_to_line(p->report.words);
	if (strcmp(p->shown, p->report.words) == 0)
		return;
	memcpy(p->shown, p->report.words, sizeof(p->shown));
	command_say("%s: %s", p->report.words, consequence);
}

static void settle(struct pusher *p, struct outbox_row *row, enum window_fate fate,
		   const struct fleet_pushed *pushed, const struct error *err)
{
	bool is_known = row->samples <= row->done;

	p->report.sent_samples += pushed->samples;
	p->report.refused_profiles += pushed->refused;
	switch (fate) {
	case WINDOW_SENT:
		backoff_succeed(&p->backoff);
		p->report.sent_windows += !is_known || !row->samples;
		outbox_remove(&p->outbox, row, false);
		p->report.words[0] = p->shown[0] = '\0';
		if (pushed->refused)
			say(p, err, "not sent again");
		return;
	case WINDOW_REFUSED:
		say(p, err, "a window is dropped");
		outbox_remove(&p->outbox, row, true);
		return;
	case WINDOW_LATER:
		if (pushed->done)
			outbox_progress(&p->outbox, row, row->done + pushed->done);
		backoff_fail(&p->backoff, clock_monotonic_ns(), p->retry_after_s * NS_PER_SECOND,
			     hash_pair(clock_monotonic_ns(), (uint64_t)getpid()));
		say(p, err, "will be retried");
		return;
	}
}

static void send_one(struct pusher *p)
{
	struct outbox_row *row = outbox_choose(&p->outbox);
	struct outbox_row copy = *row;
	struct fleet_pushed pushed = {0};
	struct error err = {0};
	_cleanup_close_ int fd = outbox_read(&p->outbox, row);
	enum window_fate fate = WINDOW_REFUSED;

	p->outbox.busy = copy.id;
	p->status = 0;
	if (fd < 0)
		error_set(&err, fd, "cannot read a window");
	else
		fate = window_send(&p->send, &p->engine.engine, fd, &copy, &p->status, &pushed,
				   &err);
	p->outbox.busy = 0;
	row = outbox_find(&p->outbox, copy.id);
	if (row)
		settle(p, row, fate, &pushed, &err);
}

static int wait_ms(const struct pusher *p)
{
	uint64_t now = clock_monotonic_ns(), due = p->backoff.due_ns;
	uint64_t wait = 1000 * NS_PER_MS;

	if (p->outbox.rows.count)
		wait = due > now ? due - now : 0;
	if (wait > 1000 * NS_PER_MS)
		wait = 1000 * NS_PER_MS;
	return (int)((wait + NS_PER_MS - 1) / NS_PER_MS);
}

static void run(struct pusher *p)
{
	while (!p->end_ns || (p->outbox.rows.count && clock_monotonic_ns() < p->end_ns)) {
		if (p->socket >= 0)
			take_in(p, wait_ms(p));
		else
			poll(NULL, 0, wait_ms(p));
		outbox_expire(&p->outbox, clock_realtime_ns());
		if (p->outbox.rows.count && clock_monotonic_ns() >= p->backoff.due_ns)
			send_one(p);
	}
}

/* Makes this engine's folder, owned by the sending user. */
static void make_folder(struct pusher *p, uid_t uid, gid_t gid)
{
	_cleanup_free_ char *path = xstrdup(p->spool);
	int fd;

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0711);
		*slash = '/';
	}
	mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && geteuid() == 0)
		(void)!fchown(fd, uid, gid);
	if (fd >= 0)
		close(fd);
}

/* Turns root into a dedicated user, unless root lacks the right to switch. */
static int drop_all(struct pusher *p, struct error *err)
{
	struct identity who = identity_of_invoker();
	const struct passwd *own = getpwnam(OWN_USER);
	uid_t uid = who.uid ? who.uid : own ? own->pw_uid : NOBODY;
	gid_t gid = who.uid ? who.gid : own ? own->pw_gid : NOBODY;

	if (*p->spool)
		make_folder(p, uid, gid);
	if (who.uid == 0 &&
	    (setgroups(1, &gid) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)) &&
	    errno != EPERM)
		return error_set(err, -errno, "cannot give up privileges");
	return drop_privileges(err) ?: drop_new_privileges(err);
}

static int prepare(struct pusher *p, const struct settings *s, struct error *err)
{
	int ret = fleet_engine_open(&p->engine, s->words.items[SETTING_URL], err);

	if (!ret)
		ret = drop_all(p, err);
	if (ret)
		return ret;
	p->engine.engine.send = send_request;
	p->engine.engine.ctx = p;
	p->outbox.limits = (struct outbox_limits){
		.bytes = SPOOL_BYTES,
		.memory_bytes = MEMORY_BYTES,
		.age_ns = engine_kind_is_collector(p->engine.url.kind) ? AGE_NS : 0,
	};
	if (*p->spool && outbox_open(&p->outbox, p->spool, err)) {
		command_say("%s: windows are kept in memory only", err->text);
		*err = (struct error){0};
	}
	client_prepare();
	ret = confine(err);
	if (ret == -ENOSYS)
		ret = 0;
	return ret;
}

/* Reads the settings to the end. False if prof did not write them. */
static bool read_settings(struct settings *s, const char *number)
{
	uint64_t fd;
	size_t size;

	if (!text_to_u64(number, 10, &fd) || fd > INT_MAX)
		return false;
	s->text = text_read_fd((int)fd, SETTINGS_MAX, &size);
	close((int)fd);
	if (!s->text || !size || s->text[size - 1])
		return false;
	for (const char *at = s->text; at < s->text + size; at += strlen(at) + 1)
		vec_push(&s->words, at);
	vec_push(&s->words, NULL);
	return s->words.count > SETTING_LABELS;
}

static bool take_settings(struct pusher *p, const struct settings *s)
{
	const char *const *words = s->words.items;
	uint64_t series;

	if (!text_to_u64(words[SETTING_FIRST_NS], 10, &p->backoff.first_ns) ||
	    !text_to_u64(words[SETTING_SERIES], 10, &series))
		return false;
	p->spool = words[SETTING_SPOOL];
	p->send = (struct window_send){
		.host = words[SETTING_HOST],
		.service = words[SETTING_SERVICE],
		.fallback = words[SETTING_FALLBACK],
		.max_series = series,
		.labels = words + SETTING_LABELS,
	};
	return true;
}

static void set_signals(void)
{
	struct sigaction action = {.sa_handler = on_orphan};

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigaction(SIGUSR1, &action, NULL);
}

static int push_all(struct pusher *p, const struct settings *s)
{
	struct error err = {0};
	int status = 0;

	set_signals();
	if (prepare(p, s, &err))
		return command_fail("push", EXIT_REFUSED, &err);
	/* Receive SIGUSR1 when the supervisor ends. */
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	run(p);
	if (p->outbox.rows.count)
		status = p->outbox.memory_bytes ? WINDOW_GUARD_UNSENT : WINDOW_GUARD_WAITING;
	if (status == WINDOW_GUARD_UNSENT)
		command_say("%zu %s not sent", p->outbox.rows.count,
			    text_counted(p->outbox.rows.count, "window was", "windows were"));
	outbox_release(&p->outbox);
	return status;
}

int push_run(int argc, char **argv)
{
	struct pusher p = {.outbox.folder = -1};
	struct settings settings = {0};
	int status = EXIT_USAGE;
	uint64_t fd;

	if (argc >= ARG_COUNT && text_to_u64(argv[ARG_SOCKET], 10, &fd) && fd <= INT_MAX &&
	    read_settings(&settings, argv[ARG_SETTINGS]) && take_settings(&p, &settings)) {
		p.socket = (int)fd;
		status = push_all(&p, &settings);
	}
	fleet_engine_release(&p.engine);
	vec_release(&settings.words);
	free(settings.text);
	return status;
}
