/* SPDX-License-Identifier: MIT */
/*
 * BPF objects: libbpf opens them as ever, which takes no privilege; nothing is loaded, but maps and
 * programs get descriptors.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/base.h"
#include "tests/machine/internal.h"

int __real_bpf_object__open_skeleton(struct bpf_object_skeleton *s,
				     const struct bpf_object_open_opts *opts);
void __real_bpf_object__destroy_skeleton(struct bpf_object_skeleton *s);
int __real_memfd_create(const char *name, unsigned int flags);

int __wrap_bpf_object__open_skeleton(struct bpf_object_skeleton *s,
				     const struct bpf_object_open_opts *opts);
int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *s);
int __wrap_bpf_object__attach_skeleton(struct bpf_object_skeleton *s);
void __wrap_bpf_object__destroy_skeleton(struct bpf_object_skeleton *s);
struct bpf_link *__wrap_bpf_program__attach_trace(const struct bpf_program *program);
int __wrap_bpf_map__fd(const struct bpf_map *map);
int __wrap_bpf_map__reuse_fd(struct bpf_map *map, int fd);
int __wrap_bpf_program__fd(const struct bpf_program *program);
struct bpf_link *__wrap_bpf_program__attach_iter(const struct bpf_program *program,
						 const struct bpf_iter_attach_opts *opts);
int __wrap_bpf_link__fd(const struct bpf_link *link);
int __wrap_bpf_link_create(int program, int target, enum bpf_attach_type type,
			   const struct bpf_link_create_opts *opts);
int __wrap_bpf_raw_tracepoint_open(const char *name, int program);
int __wrap_bpf_iter_create(int link);
int __wrap_bpf_prog_test_run_opts(int program, struct bpf_test_run_opts *opts);
int __wrap_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *insns, size_t count,
			 const struct bpf_prog_load_opts *opts);
int __wrap_bpf_prog_get_next_id(__u32 id, __u32 *next);
int __wrap_bpf_prog_get_fd_by_id(__u32 id);
int __wrap_bpf_obj_get_info_by_fd(int fd, void *to, __u32 *size);
int __wrap_libbpf_register_prog_handler(const char *section, enum bpf_prog_type type,
					enum bpf_attach_type attach,
					const struct libbpf_prog_handler_opts *opts);
int __wrap_libbpf_unregister_prog_handler(int handler);

/* A map or a program of an object. */
struct part {
	const void *part;
	int fd;
	bool is_shared; /* the descriptor is somebody else's */
};

/* The iterators' links, which libbpf does not get to see. */
struct fake_link {
	char program[32];
};

/* Two threads load objects. */
static pthread_mutex_t parts_lock = PTHREAD_MUTEX_INITIALIZER;
static VEC(struct part) parts;
static VEC(struct bpf_object_skeleton *) skeletons;

void objects_stop(void)
{
	machine_set_iterator(NULL, 0);
	vec_release(&parts);
	vec_release(&skeletons);
}

static int fail(int code)
{
	errno = -code;
	return code;
}

int __wrap_bpf_object__open_skeleton(struct bpf_object_skeleton *s,
				     const struct bpf_object_open_opts *opts)
{
	int code = machine_judge("open_skeleton");

	if (code)
		return fail(code);
	vec_push(&skeletons, s);
	return __real_bpf_object__open_skeleton(s, opts);
}

int __wrap_bpf_object__attach_skeleton(struct bpf_object_skeleton *s)
{
	int code = machine_judge("attach");

	return code ? fail(code) : 0;
}

static struct part *find_part(const void *which)
{
	vec_for_each(&parts, struct part *, part) {
		if (part->part == which)
			return part;
	}
	return NULL;
}

/* -1: it has none. */
static int descriptor_of(const void *which)
{
	const struct part *part;
	int fd;

	pthread_mutex_lock(&parts_lock);
	part = find_part(which);
	fd = part ? part->fd : -1;
	pthread_mutex_unlock(&parts_lock);
	return fd;
}

static void push_part(const void *which, int fd, bool is_shared)
{
	pthread_mutex_lock(&parts_lock);
	vec_push(&parts, (struct part){which, fd, is_shared});
	pthread_mutex_unlock(&parts_lock);
}

/* The parts are those of one thread again. */
static void close_part(const void *which)
{
	struct part *part = find_part(which);

	if (!part)
		return;
	if (!part->is_shared)
		close(part->fd);
	*part = parts.items[--parts.count];
}

static void free_links(struct bpf_object_skeleton *s)
{
	for (int i = 0; i < s->prog_cnt; i++) {
		const char *row = (const char *)s->progs + (size_t)i * (size_t)s->prog_skel_sz;
		struct bpf_link **link = ((const struct bpf_prog_skeleton *)row)->link;

		free(*link);
		*link = NULL;
	}
}

void __wrap_bpf_object__destroy_skeleton(struct bpf_object_skeleton *s)
{
	struct bpf_program *program;
	struct bpf_map *map;

	if (s && *s->obj) {
		bpf_object__for_each_map(map, *s->obj) close_part(map);
		bpf_object__for_each_program(program, *s->obj) close_part(program);
	}
	if (s && s->progs)
		free_links(s);
	vec_for_each(&skeletons, struct bpf_object_skeleton **, row) {
		if (*row == s)
			*row = NULL;
	}
	__real_bpf_object__destroy_skeleton(s);
}

static int add_part(const void *which, enum descriptor_kind kind, const char *name, size_t memory)
{
	int fd = descriptor_of(which);
	struct descriptor *d;

	if (fd >= 0)
		return fd;
	d = descriptor_new(kind, memory);
	if (!d)
		return -errno;
	strncpy(d->name, name, sizeof(d->name) - 1);
	push_part(which, d->fd, false);
	return d->fd;
}

static int add_map(const struct bpf_map *map)
{
	return add_part(map, DESCRIPTOR_MAP, bpf_map__name(map),
			(size_t)bpf_map__value_size(map) * bpf_map__max_entries(map));
}

static int add_program(const struct bpf_program *program)
{
	return add_part(program, DESCRIPTOR_OTHER, bpf_program__name(program), 0);
}

/* Maps and programs get their descriptors. */
int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *s)
{
	int code = machine_judge("load");
	struct bpf_program *program;
	struct bpf_map *map;

	if (code)
		return fail(code);
	bpf_object__for_each_map(map, *s->obj) code = code < 0 ? code : add_map(map);
	bpf_object__for_each_program(program, *s->obj) code = code < 0 ? code
								       : add_program(program);
	return code < 0 ? fail(code) : 0;
}

int __wrap_bpf_map__fd(const struct bpf_map *map)
{
	int fd = descriptor_of(map);

	return fd < 0 ? -EBADF : fd;
}

int __wrap_bpf_map__reuse_fd(struct bpf_map *map, int fd)
{
	int code = machine_judge("bpf_map__reuse_fd");

	if (code)
		return fail(code);
	push_part(map, fd, true);
	return 0;
}

int __wrap_bpf_program__fd(const struct bpf_program *program)
{
	int fd = descriptor_of(program);

	return fd < 0 ? -ENOENT : fd;
}

static struct bpf_link *make_link(const char *call, const struct bpf_program *program)
{
	int code = machine_judge(call);
	struct fake_link *link;

	errno = -code;
	if (code)
		return NULL;
	link = calloc(1, sizeof(*link));
	strncpy(link->program, bpf_program__name(program), sizeof(link->program) - 1);
	return (struct bpf_link *)link;
}

struct bpf_link *__wrap_bpf_program__attach_trace(const struct bpf_program *program)
{
	return make_link("attach", program);
}

struct bpf_link *__wrap_bpf_program__attach_iter(const struct bpf_program *program,
						 const struct bpf_iter_attach_opts *opts)
{
	return make_link("attach_iter", program);
}

/* Rows that iterators with a descriptor of their own write. */
static struct {
	const void *rows;
	size_t size;
} iterator;

void machine_set_iterator(const void *rows, size_t size)
{
	iterator.rows = rows;
	iterator.size = size;
}

/* An iterator of an object needs no descriptor of its own: 1 lists the tasks, 0 enters them. */
int __wrap_bpf_link__fd(const struct bpf_link *link)
{
	return strcmp(((const struct fake_link *)link)->program, "list_tasks") == 0;
}

int __wrap_bpf_iter_create(int link)
{
	int code = machine_judge("bpf_iter_create"), fd;

	if (code)
		return fail(code);
	fd = __real_memfd_create("tasks", MFD_CLOEXEC);
	if (fd >= 0 && descriptor_find(link)) {
		if (write(fd, iterator.rows, iterator.size) != (ssize_t)iterator.size)
			abort();
	} else if (fd >= 0 && link) {
		machine_list_tasks(fd);
	} else {
		machine_enter_tasks();
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd < 0 ? -errno : fd;
}

int __wrap_bpf_raw_tracepoint_open(const char *name, int program)
{
	int code = machine_judge("bpf_raw_tracepoint_open");
	struct descriptor *d;

	if (code)
		return fail(code);
	d = descriptor_new(DESCRIPTOR_OTHER, 0);
	if (!d)
		return -errno;
	strcpy(d->name, "link");
	return d->fd;
}

int __wrap_bpf_link_create(int program, int target, enum bpf_attach_type type,
			   const struct bpf_link_create_opts *opts)
{
	int code = machine_judge("bpf_link_create");
	struct descriptor *event = descriptor_find(target), *d;

	if (code)
		return fail(code);
	d = descriptor_new(DESCRIPTOR_OTHER, 0);
	if (!d)
		return -errno;
	if (event)
		event->has_program = true;
	strcpy(d->name, "link");
	return d->fd;
}

void *machine_variables(const char *object)
{
	vec_for_each(&skeletons, struct bpf_object_skeleton **, row) {
		for (int i = 0; *row && i < (*row)->map_cnt; i++) {
			const char *at = (const char *)(*row)->maps +
					 (size_t)i * (size_t)(*row)->map_skel_sz;
			const struct bpf_map_skeleton *map = (const struct bpf_map_skeleton *)at;

			if (strcmp((*row)->name, object) == 0 && strstr(map->name, ".bss"))
				return *map->mmaped;
		}
	}
	return NULL;
}

int __wrap_bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts)
{
	int code = machine_judge("bpf_prog_test_run");
	struct descriptor *d = descriptor_find(fd);

	if (code)
		return fail(code);
	if (d && strcmp(d->name, "find_symbol") == 0)
		machine_find_symbol();
	return 0;
}

int __wrap_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *insns, size_t count,
			 const struct bpf_prog_load_opts *opts)
{
	int code = machine_judge("bpf_prog_load");
	struct descriptor *d;

	if (code)
		return fail(code);
	d = descriptor_new(DESCRIPTOR_OTHER, 0);
	return d ? d->fd : -errno;
}

int __wrap_bpf_prog_get_next_id(__u32 id, __u32 *next)
{
	if (id >= machine_settings.programs)
		return fail(-ENOENT);
	*next = id + 1;
	return 0;
}

int __wrap_bpf_prog_get_fd_by_id(__u32 id)
{
	int code = machine_judge("bpf_prog_get_fd_by_id");
	struct descriptor *d;

	if (code)
		return fail(code);
	d = descriptor_new(DESCRIPTOR_OTHER, 0);
	if (!d)
		return -errno;
	d->cpu = id;
	return d->fd;
}

/* Functions of 64 bytes each, the main one first. */
int __wrap_bpf_obj_get_info_by_fd(int fd, void *to, __u32 *size)
{
	int code = machine_judge("bpf_obj_get_info_by_fd");
	const struct descriptor *d = descriptor_find(fd);
	struct bpf_prog_info *info = to;

	if (code || !d)
		return fail(code ? code : -EBADF);
	for (uint32_t i = 0; i < 2; i++) {
		((uint64_t *)(uintptr_t)info->jited_ksyms)[i] = 0xffffffffc0000000 +
								d->cpu * 0x1000ull + i * 64;
		((uint32_t *)(uintptr_t)info->jited_func_lens)[i] = 64;
		memset((uint8_t *)(uintptr_t)info->prog_tags + (size_t)i * BPF_TAG_SIZE,
		       (int)(d->cpu + i), BPF_TAG_SIZE);
	}
	info->nr_jited_ksyms = info->nr_jited_func_lens = info->nr_prog_tags = 2;
	strcpy(info->name, "watcher");
	return 0;
}

int __wrap_libbpf_register_prog_handler(const char *section, enum bpf_prog_type type,
					enum bpf_attach_type attach,
					const struct libbpf_prog_handler_opts *opts)
{
	int code = machine_judge("register_handler");

	return code ? fail(code) : 1;
}

int __wrap_libbpf_unregister_prog_handler(int handler)
{
	return 0;
}
