/* SPDX-License-Identifier: MIT */
#include "lib/recording/workplace/lookup.h"

#include <pwd.h>

#include "lib/base/open_file.h"
#include "lib/base/workers.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/vdso.h"
#include "lib/live/kernel/kernel_space.h"
#include "symbolize/module_files.h"

/* Under sudo, HOME may be another user's. */
static const char *home_of(const struct identity *user)
{
	const struct passwd *entry = getpwuid(user->uid);
	const char *home = user->is_self ? getenv("HOME") : NULL;

	if (home && *home)
		return home;
	return entry ? entry->pw_dir : NULL;
}

char *perf_cache_folder(const struct identity *user)
{
	const char *home = home_of(user);
	_cleanup_free_ char *path = home ? xasprintf("%s/.debug", home) : NULL;
	struct stat st;

	if (!path || stat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != user->uid ||
	    st.st_mode & (S_IWGRP | S_IWOTH))
		return NULL;
	return steal(path);
}

/* Bytes searched for _text, which is near the start of a System.map, too. */
#define SYSTEM_MAP_START (64u << 10)

static enum symbol_reason reason_of(int failure)
{
	switch (failure) {
	case -EINVAL:
		return SYMBOLS_NO_BUILD_ID;
	case -ESTALE:
		return SYMBOLS_OTHER_BUILD;
	case -EACCES:
		return SYMBOLS_UNREADABLE;
	default:
		return SYMBOLS_NOT_HERE;
	}
}

static const char *os_of(const struct lookup *l)
{
	return (l->os ? l->os : l->profile->meta.os) ?: "";
}

static bool has_build_id(const struct module *module, const uint8_t *build_id, size_t size)
{
	return size && module->build_id_size == size && !memcmp(module->build_id, build_id, size);
}

/* Kernels of one build have the same vDSO. */
static int find_vdso_image(const struct module *module, int image)
{
	_cleanup_close_ int fd = image;
	struct binary_summary summary = {0};
	bool is_same;

	if (fd < 0 || binary_summarize(fd, &summary, NULL))
		return -ENOENT;
	is_same = has_build_id(module, summary.build_id, summary.build_id_size);
	binary_summary_release(&summary);
	return is_same ? steal_fd(&fd) : -ESTALE;
}

static int find_vdso(const struct module *module)
{
	int fd = find_vdso_image(module, vdso_open(NULL));

	return fd == -ESTALE ? find_vdso_image(module, vdso_open_32bit(NULL)) : fd;
}

char *lookup_kernel_release(const char *os)
{
	const char *start = strchr(os, ' ');
	size_t size;

	if (!start || strchr(os, '/'))
		return NULL;
	size = strcspn(start + 1, " ");
	return size ? xstrndup(start + 1, size) : NULL;
}

/* A file to find in a thread; copies strings, because the profile may change meanwhile. */
struct wanted {
	uint8_t build_id[sizeof(((struct module *)0)->build_id)];
	size_t build_id_size;
	uint64_t contents; /* hash of the contents, for a module without a build id */
	char *path, *debug_path; /* NULL: none */
	char *release; /* kernel release; NULL: unknown */
	enum { WANTED_NOTHING, WANTED_FILE, WANTED_KERNEL } kind;
	int fd; /* descriptor, or a negative errno */
	int map; /* descriptor of the kernel's symbol list, or a negative errno … */
	uint64_t map_base; /* … and kernel base address in the list */
};

/* Not freed if a thread was left behind. */
struct finding {
	const struct lookup *lookup;
	const char *const *dirs;
	const struct readers *readers;
	struct file_set *files;
	int list; /* descriptor of the kernel's symbol list; -1: none */
	struct wanted *rows;
};

/* Finds the kernel image, with symbols and perhaps debug information. */
static int find_vmlinux(const struct finding *f, const struct wanted *w)
{
	_cleanup_free_ char *installed =
		w->release ? xasprintf("/usr/lib/debug/boot/vmlinux-%s", w->release) : NULL;
	const struct module_search search = {
		.build_id = w->build_id,
		.build_id_size = w->build_id_size,
		.paths = {"/vmlinux", installed},
		.dirs = f->dirs,
	};

	return module_file_open(&search);
}

/* Uses the running kernel's symbols if that kernel was recorded. */
static int find_running(const struct profile *p, struct module *module)
{
	struct special_module running;
	int fd;

	if (!kernel_space_find(strings_get(&p->strings, module->path), &running))
		return -ENOENT;
	if (!has_build_id(module, running.build_id, running.build_id_size))
		return module->build_id_size ? -ESTALE : -EINVAL;
	module->base = running.base;
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Opens a list of the kernel's symbols that contains the kernel's base. Takes ownership of the
 * path.
 */
static int open_map(struct wanted *w, char *name)
{
	_cleanup_free_ char *path = name;
	_cleanup_close_ int fd = open_regular(path);
	_cleanup_free_ char *text = fd < 0 ? NULL : text_read_fd(fd, SYSTEM_MAP_START, NULL);

	w->map_base = text ? kernel_space_find_image(text) : 0;
	return w->map_base && lseek(fd, 0, SEEK_SET) == 0 ? steal_fd(&fd) : -ENOENT;
}

/*
 * Finds the list in perf's cache by build id, else a System.map. The latter has no build id; it is
 * trusted because the user put it there and its release matches.
 */
static int find_map(const struct finding *f, struct wanted *w)
{
	char id[2 * BUILD_ID_MAX + 1];
	int fd = -ENOENT;

	build_id_to_text(w->build_id, w->build_id_size, id);
	for (const char *const *dir = f->dirs; fd < 0 && w->build_id_size && dir && *dir; dir++)
		fd = open_map(w, xasprintf("%s/.build-id/%.2s/%s/kallsyms", *dir, id, id + 2));
	for (const char *const *dir = f->dirs; fd < 0 && w->release && dir && *dir; dir++) {
		fd = open_map(w, xasprintf("%s/System.map-%s", *dir, w->release));
		if (fd >= 0)
			log_info("kernel symbols from System.map-%s, matched by release only",
				 w->release);
	}
	return fd;
}

static void find_file(void *ctx, size_t number)
{
	struct finding *f = ctx;
	struct wanted *w = &f->rows[number];

	if (w->kind == WANTED_KERNEL) {
		w->fd = find_vmlinux(f, w);
		w->map = find_map(f, w);
	}
	if (w->kind == WANTED_FILE)
		w->fd = module_file_open(&(struct module_search){
			.build_id = w->build_id,
			.build_id_size = w->build_id_size,
			.contents = w->contents,
			.paths = {w->path, w->debug_path},
			.dirs = f->dirs,
			.readers = f->readers,
		});
}

/* Adds the list as the file of a module, as the lookup of kernel symbols expects. */
static void add_kernel_list(const struct lookup *l, struct file_set *files, int fd)
{
	struct profile *p = l->profile;
	string_id path = strings_intern(&p->strings, "[kernel.dynamic]");
	module_id id = modules_add(&p->modules, PROFILE_MODULE_KERNEL_DYNAMIC, path, path);

	modules_get(&p->modules, id)->file_key = id;
	file_set_add(files, id, fd);
}

/* A vmlinux is an ordinary file; a symbol list serves all of the kernel's modules. */
static int find_kernel(struct finding *f, struct module *module, struct wanted *w)
{
	int fd, failure;

	if (w->fd >= 0) {
		module->kind = PROFILE_MODULE_FILE;
		return steal_fd(&w->fd);
	}
	failure = fd = find_running(f->lookup->profile, module);
	if (fd < 0 && w->map >= 0) {
		module->base = w->map_base;
		fd = steal_fd(&w->map);
	}
	if (fd < 0)
		return failure;
	fd_close(f->list);
	f->list = fd;
	return -EALREADY;
}

struct reader lookup_reader(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return (struct reader){READER_UNKNOWN, READER_UNKNOWN};
	return (struct reader){st.st_uid, st.st_gid};
}

static int find_kept(const struct lookup *l, const struct module *module)
{
	return l->contents ? read_contents_find(l->contents, module->file_key) : -1;
}

static int find_module(struct finding *f, struct module *module, struct wanted *w)
{
	int kept = find_kept(f->lookup, module);

	if (module_is_kernel(module))
		return find_kernel(f, module, w);
	if (kept >= 0)
		return fcntl(kept, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return module->kind == PROFILE_MODULE_VDSO ? find_vdso(module) : steal_fd(&w->fd);
}

static void release_wanted(struct wanted *w)
{
	fd_close(w->fd);
	fd_close(w->map);
	free(w->path);
	free(w->debug_path);
	free(w->release);
}

/* Maps offsets to addresses, which the recorder could not do without the file. */
static void find_segments(struct module *module, int fd)
{
	struct binary_summary summary = {0};

	if (binary_summarize(fd, &summary, NULL))
		return;
	for (size_t i = 0; i < summary.segment_count; i++) {
		const struct binary_segment *from = &summary.segments[i];
		struct module_segment segment = {
			.file_offset = from->file_offset,
			.file_size = from->file_size,
			.vaddr = from->vaddr,
			.executable = from->executable,
		};

		vec_push(&module->segments, segment);
	}
	binary_summary_release(&summary);
}

static void take_file(void *ctx, size_t number)
{
	struct finding *f = ctx;
	const struct lookup *l = f->lookup;
	module_id id = (module_id)number;
	struct module *module = modules_get(&l->profile->modules, id);
	int fd = find_module(f, module, &f->rows[number]);

	release_wanted(&f->rows[number]);
	if (l->readers) {
		vec_for_each(&l->readers->rows, const struct reader *, it)
			readers_add(&module->users, *it);
		readers_add(&module->users, lookup_reader(fd));
	}
	if (fd >= 0) {
		if (module->opening != MODULE_OPENED)
			find_segments(module, fd);
		module->file_key = id;
		file_set_add(f->files, id, fd);
	} else if (fd != -EALREADY) {
		module->reason = reason_of(fd);
	}
}

static void abandon_file(void *ctx, size_t number)
{
	const struct finding *f = ctx;

	modules_get(&f->lookup->profile->modules, (module_id)number)->reason = SYMBOLS_SILENT;
}

static struct wanted *list_wanted(const struct lookup *l)
{
	struct profile *p = l->profile;
	struct wanted *rows = xcalloc(p->modules.rows.count + 1, sizeof(*rows));

	for (module_id id = 0; id < p->modules.rows.count; id++) {
		const struct module *module = modules_get(&p->modules, id);
		const char *debug_path = l->patch ? patch_debug_path(l->patch, id) : NULL;
		struct wanted *w = &rows[id];

		w->fd = w->map = -ENOENT;
		memcpy(w->build_id, module->build_id, sizeof(w->build_id));
		w->build_id_size = module->build_id_size;
		w->contents = module->contents;
		if (module->kind == PROFILE_MODULE_KERNEL) {
			w->kind = WANTED_KERNEL;
			w->release = lookup_kernel_release(os_of(l));
		}
		if (module_is_kernel(module) || module->kind == PROFILE_MODULE_VDSO ||
		    find_kept(l, module) >= 0)
			continue;
		w->kind = WANTED_FILE;
		w->path = xstrdup(strings_get(&p->strings, module->path));
		w->debug_path = debug_path ? xstrdup(debug_path) : NULL;
	}
	return rows;
}

struct file_set *lookup_files(const struct lookup *l, unsigned int reserved)
{
	struct finding *f = xcalloc(1, sizeof(*f));
	const struct worker_jobs jobs = {
		.count = l->profile->modules.rows.count,
		.stall_ns = l->stall_ns,
		.run = find_file,
		.take = take_file,
		.abandon = abandon_file,
		.ctx = f,
	};
	struct file_set *files = file_set_new(reserved);
	bool have_ended;

	*f = (struct finding){
		.lookup = l,
		.dirs = l->dirs,
		.readers = l->readers,
		.files = files,
		.list = -1,
		.rows = list_wanted(l),
	};
	have_ended = workers_run(&jobs, 1);
	if (f->list >= 0)
		add_kernel_list(l, files, f->list);
	if (have_ended) {
		free(f->rows);
		free(f);
	}
	return files;
}
