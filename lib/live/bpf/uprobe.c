/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/uprobe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>

#define TYPE_FILE "/sys/bus/event_source/devices/uprobe/type"
/* Position of the counter's offset in perf_event_attr.config. */
#define SEMAPHORE_SHIFT 32
/* The same for the return of a function. */
#define PERF_RETURNS 1

/*
 * BPF_LINK_CREATE's part of union bpf_attr for several places (linux/bpf.h of 6.6 and later): the
 * libraries and headers of the build may be older than the kernel.
 */
struct multi_attr {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags;
	int32_t pid;
	uint32_t reserved;
};

#define UPROBE_MULTI 48
/* multi_attr.multi_flags */
#define MULTI_RETURNS 1

static int create_multi(const struct multi_attr *attr)
{
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : (int)fd;
}

/* Loads an empty program of a kind that supports several places. */
static int load_nothing(void)
{
	/* r0 = 0; exit */
	static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
						  {.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)UPROBE_MULTI);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "GPL", nothing, 2, &options);
}

/*
 * Early kernels mistook the pid for that of a single thread. Kernels that treat it as a process
 * reject negative pids before they check the path, which is not a file; others ignore pids.
 */
bool uprobe_has_multi(void)
{
	_cleanup_close_ int program = load_nothing();
	static const char root[] = "/";
	uint64_t offset = 0;
	struct multi_attr attr = {
		.program = (uint32_t)program,
		.attach_type = UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)root,
		.offsets = (uint64_t)(uintptr_t)&offset,
		.count = 1,
	};

	if (program < 0 || create_multi(&attr) != -EBADF)
		return false;
	attr.pid = -1;
	return create_multi(&attr) == -EINVAL;
}

void uprobe_set_type(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		if (bpf_program__type(program) == BPF_PROG_TYPE_KPROBE &&
		    bpf_program__autoload(program) && uprobe_has_multi())
			bpf_program__set_expected_attach_type(program,
							      (enum bpf_attach_type)UPROBE_MULTI);
	}
}

bool uprobe_is_available(void)
{
	return access(TYPE_FILE, R_OK) == 0;
}

static void file_path(int fd, char path[32])
{
	snprintf(path, 32, "/proc/self/fd/%d", fd);
}

/* Attaches to all places with one link. */
static int attach_all(const struct uprobe_target *target, const struct uprobe_place *places,
		      size_t count)
{
	_cleanup_free_ uint64_t *numbers = xcalloc(3 * count, sizeof(*numbers));
	char path[32];
	struct multi_attr attr = {
		.program = (uint32_t)target->program,
		.attach_type = UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)numbers,
		.semaphores = (uint64_t)(uintptr_t)(numbers + count),
		.cookies = (uint64_t)(uintptr_t)(numbers + 2 * count),
		.count = (uint32_t)count,
		.multi_flags = target->flags & UPROBE_RETURNS ? MULTI_RETURNS : 0,
		.pid = (int32_t)target->pid,
	};

	file_path(target->file, path);
	for (size_t i = 0; i < count; i++) {
		numbers[i] = places[i].offset;
		numbers[count + i] = places[i].semaphore;
		numbers[2 * count + i] = places[i].cookie;
	}
	return create_multi(&attr);
}

static int read_type(uint32_t *type)
{
	_cleanup_free_ char *text = text_read_file(TYPE_FILE, 32, NULL);
	uint64_t number = 0;

	if (!text)
		return -EOPNOTSUPP;
	text[strcspn(text, "\n")] = '\0';
	if (!text_to_u64(text, 10, &number))
		return -EOPNOTSUPP;
	*type = (uint32_t)number;
	return 0;
}

/*
 * Attaches to one place by a perf event, which the link holds. The event must not be inherited:
 * when the process forks, the kernel would recreate the event with the process's privileges, and if
 * these do not suffice, the fork would fail.
 */
static int attach_one(const struct uprobe_target *target, const struct uprobe_place *place)
{
	_cleanup_close_ int event = -1;
	char path[32];
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.config = place->semaphore << SEMAPHORE_SHIFT |
			  (target->flags & UPROBE_RETURNS ? PERF_RETURNS : 0),
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = place->offset,
	};
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = place->cookie);
	int code = read_type(&attr.type), link;

	if (code || place->semaphore > UINT32_MAX)
		return code ? code : -EFBIG;
	file_path(target->file, path);
	/*
	 * The program of an event for all processes runs on every CPU, regardless of the event's
	 * own CPU.
	 */
	event = (int)syscall(SYS_perf_event_open, &attr, target->pid ? (pid_t)target->pid : -1,
			     target->pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	link = bpf_link_create(target->program, event, BPF_PERF_EVENT, &options);
	return link < 0 ? -errno : link;
}

/* Attaches the places one by one. Returns the same values as uprobe_attach(). */
static int attach_each(const struct uprobe_target *target, struct uprobe_links *links,
		       struct error *err)
{
	int failure = 0, attached = 0;

	for (size_t i = 0; i < target->count; i++) {
		int fd = target->flags & UPROBE_IS_MULTI ? attach_all(target, &target->places[i], 1)
							 : attach_one(target, &target->places[i]);

		if (fd == -ESRCH)
			return -ESRCH;
		if (fd < 0) {
			failure = failure ? failure : fd;
			continue;
		}
		vec_push(&links->fds, fd);
		attached++;
	}
	if (failure)
		error_set(err, failure, "cannot attach to a probe");
	return attached;
}

int uprobe_attach(const struct uprobe_target *target, struct uprobe_links *links, struct error *err)
{
	int fd = target->flags & UPROBE_IS_MULTI ? attach_all(target, target->places, target->count)
						 : -EINVAL;

	if (fd == -ESRCH)
		return -ESRCH;
	/* The kernel rejects all places because of one, without reporting which. */
	if (fd < 0)
		return attach_each(target, links, err);
	vec_push(&links->fds, fd);
	return (int)target->count;
}

void uprobe_detach(struct uprobe_links *links)
{
	vec_for_each(&links->fds, const int *, fd)
		close(*fd);
	vec_release(&links->fds);
}
