/* SPDX-License-Identifier: MIT */
#include "lib/workplace/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/open_regular.h"
#include "lib/base/text.h"
#include "lib/binary/binary.h"
#include "lib/binary/vdso.h"
#include "lib/live/kernel/kernel_space.h"
#include "symbolize/module_lookup.h"

/* _text is near the beginning of a System.map, too. */
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
	const char *os = l->os ? l->os : l->profile->meta.os;

	return os ? os : "";
}

static bool has_build_id(const struct module *module, const uint8_t *build_id, size_t size)
{
	return size && module->build_id_size == size && !memcmp(module->build_id, build_id, size);
}

static int find_file(const struct lookup *l, module_id id, struct module *module)
{
	const struct module_search search = {
		.build_id = module->build_id,
		.build_id_size = module->build_id_size,
		.paths = {strings_get(&l->profile->strings, module->path),
			  l->patch ? patch_debug_path(l->patch, id) : NULL},
		.dirs = l->dirs,
		.readers = l->readers,
	};

	return module_file_open(&search);
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

/* Finds the kernel image, with symbols and perhaps debug information. */
static int find_vmlinux(const struct lookup *l, const struct module *module)
{
	_cleanup_free_ char *release = lookup_kernel_release(os_of(l));
	_cleanup_free_ char *installed =
		release ? xasprintf("/usr/lib/debug/boot/vmlinux-%s", release) : NULL;
	const struct module_search search = {
		.build_id = module->build_id,
		.build_id_size = module->build_id_size,
		.paths = {"/vmlinux", installed},
		.dirs = l->dirs,
	};

	return module_file_open(&search);
}

/* Uses the running kernel's symbols if it is the recorded kernel. */
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

/* A System.map has no build id: trusted because the user put it there and its release fits. */
static int find_system_map(const struct lookup *l, struct module *module)
{
	_cleanup_free_ char *release = lookup_kernel_release(os_of(l));

	if (!release || module->kind != PROFILE_MODULE_KERNEL)
		return -ENOENT;
	for (const char *const *dir = l->dirs; dir && *dir; dir++) {
		_cleanup_free_ char *path = xasprintf("%s/System.map-%s", *dir, release);
		_cleanup_close_ int fd = open_regular(path);
		_cleanup_free_ char *text = fd < 0 ? NULL
						   : text_read_fd(fd, SYSTEM_MAP_START, NULL);

		module->base = text ? kernel_space_find_image(text) : 0;
		if (!module->base || lseek(fd, 0, SEEK_SET))
			continue;
		log_info("kernel symbols of %s, by its release alone", path);
		return steal_fd(&fd);
	}
	return -ENOENT;
}

/* Adds the list as the file of a module, where the search for kernel symbols finds it. */
static void add_kernel_list(const struct lookup *l, struct file_set *files, int fd)
{
	struct profile *p = l->profile;
	string_id path = strings_intern(&p->strings, "[kernel.dynamic]");
	module_id id = modules_add(&p->modules, PROFILE_MODULE_KERNEL_DYNAMIC, path, path);

	modules_get(&p->modules, id)->file_key = id;
	file_set_add(files, id, fd);
}

/* A vmlinux is an ordinary file; a list of symbols serves all of the kernel's modules. */
static int find_kernel(const struct lookup *l, struct module *module, int *list)
{
	int fd = module->kind == PROFILE_MODULE_KERNEL ? find_vmlinux(l, module) : -ENOENT;
	int failure;

	if (fd >= 0) {
		module->kind = PROFILE_MODULE_FILE;
		return fd;
	}
	failure = find_running(l->profile, module);
	fd = failure >= 0 ? failure : find_system_map(l, module);
	if (fd < 0)
		return failure;
	if (*list >= 0)
		close(*list);
	*list = fd;
	return -EALREADY;
}

struct reader lookup_reader(int fd)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return (struct reader){READER_UNKNOWN, READER_UNKNOWN};
	return (struct reader){st.st_uid, st.st_gid};
}

static int find_module(const struct lookup *l, module_id id, struct module *module, int *list)
{
	int kept = l->contents ? read_contents_find(l->contents, module->file_key) : -1;

	if (module_is_kernel(module))
		return find_kernel(l, module, list);
	if (kept >= 0)
		return fcntl(kept, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return module->kind == PROFILE_MODULE_VDSO ? find_vdso(module) : find_file(l, id, module);
}

struct file_set *lookup_files(const struct lookup *l, unsigned int reserved)
{
	struct file_set *files = file_set_new(reserved);
	struct profile *p = l->profile;
	size_t count = p->modules.rows.count;
	int list = -1;

	for (module_id id = 0; id < count; id++) {
		struct module *module = modules_get(&p->modules, id);
		int fd = find_module(l, id, module, &list);

		if (l->readers) {
			vec_for_each(&l->readers->rows, const struct reader *, it)
				readers_add(&module->users, *it);
			readers_add(&module->users, lookup_reader(fd));
		}
		if (fd >= 0) {
			module->file_key = id;
			file_set_add(files, id, fd);
		} else if (fd != -EALREADY) {
			module->reason = reason_of(fd);
		}
	}
	if (list >= 0)
		add_kernel_list(l, files, list);
	return files;
}
