/* SPDX-License-Identifier: MIT */
#include "symbolize/module_lookup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/open_regular.h"
#include "lib/base/readers.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/code_dump.h"

/* Chooses between two reasons against a file: the further the check got, the better. */
static int worse_or(int before, int failure)
{
	static const int order[] = {-ENOENT, -EACCES, -ESTALE};

	for (size_t i = sizeof(order) / sizeof(*order); i-- > 0;) {
		if (before == order[i] || failure == order[i])
			return order[i];
	}
	return -ENOENT;
}

/* Generated code is in a dump, which is no ELF file. */
static bool take_dump_id(struct binary_summary *summary, int fd)
{
	struct code_dump_head head;

	if (!code_dump_head_read(&head, fd))
		return false;
	memcpy(summary->build_id, head.id, sizeof(head.id));
	summary->build_id_size = sizeof(head.id);
	return true;
}

/* Takes `opened` over. */
static int check_identity(const struct module_search *search, int opened, const char *path)
{
	_cleanup_close_ int fd = opened;
	struct binary_summary summary = {0};
	bool is_same;

	if (fd == -EPERM || fd == READERS_REFUSED)
		return -EACCES;
	if (fd < 0)
		return fd;
	if (binary_summarize(fd, &summary, NULL) && !take_dump_id(&summary, fd))
		return -ENOENT;
	is_same = summary.build_id_size == search->build_id_size &&
		  (search->build_id_size
			   ? !memcmp(summary.build_id, search->build_id, search->build_id_size)
			   : binary_contents_hash(fd) == search->contents);
	binary_summary_release(&summary);
	log_debug("%s: %s", path, is_same ? "is it" : "of another build");
	return is_same ? steal_fd(&fd) : -ESTALE;
}

/* Keeps a file already found, else tries one more path. */
static int try_next(const struct module_search *search, int result, char *path)
{
	_cleanup_free_ char *owned = path;
	int fd;

	if (result >= 0)
		return result;
	fd = check_identity(search, open_regular(owned), owned);
	return fd >= 0 ? fd : worse_or(result, fd);
}

static int search_build_id(const struct module_search *search, const char *dir, int result)
{
	char id[2 * BUILD_ID_MAX + 1];

	build_id_to_text(search->build_id, search->build_id_size, id);
	result = try_next(search, result, xasprintf("%s/.build-id/%.2s/%s", dir, id, id + 2));
	/* perf's cache has a folder there. */
	return try_next(search, result, xasprintf("%s/.build-id/%.2s/%s/elf", dir, id, id + 2));
}

static int search_dir(const struct module_search *search, const char *dir, int result)
{
	if (search->build_id_size)
		result = search_build_id(search, dir, result);
	for (size_t i = 0; i < sizeof(search->paths) / sizeof(*search->paths); i++) {
		const char *path = search->paths[i];
		const char *name = path ? strrchr(path, '/') : NULL;

		if (!name || *path != '/')
			continue;
		result = try_next(search, result, xasprintf("%s%s", dir, path));
		result = try_next(search, result, xasprintf("%s%s", dir, name));
	}
	return result;
}

int module_file_open(const struct module_search *search)
{
	int result = -ENOENT;

	if (search->build_id_size > BUILD_ID_MAX ||
	    (search->build_id_size ? search->build_id_size < 2 : !search->contents))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(search->paths) / sizeof(*search->paths); i++) {
		const char *path = search->paths[i];
		int fd;

		if (result >= 0 || !path || *path != '/')
			continue;
		/* The profile names this path, so readers matter. */
		fd = check_identity(search, readers_open(search->readers, 0, path), path);
		result = fd >= 0 ? fd : worse_or(result, fd);
	}
	for (const char *const *dir = search->dirs; dir && *dir; dir++)
		result = search_dir(search, *dir, result);
	return result;
}
