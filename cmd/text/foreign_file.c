/* SPDX-License-Identifier: MIT */
#include "cmd/text/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/text/debug_package.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/open_regular.h"
#include "lib/base/text.h"
#include "lib/code/binary/binary.h"

enum verdict { SAME_FILE, OTHER_FILE, NOT_KNOWN };

/* Compares the file at the module's path below a root with the recorded one. */
static enum verdict compare(const struct module *module, const char *root, const char *path)
{
	_cleanup_close_ int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = folder < 0 ? -1 : open_regular_named(folder, path);
	uint8_t build_id[BUILD_ID_MAX];
	struct binary *b = NULL;
	size_t size;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return OTHER_FILE;
	if (fd < 0 || binary_open(&b, fd, NULL))
		return NOT_KNOWN;
	size = binary_build_id(b, build_id);
	binary_free(b);
	if (size == module->build_id_size && memcmp(build_id, module->build_id, size) == 0)
		return SAME_FILE;
	return OTHER_FILE;
}

/* Finds, by stack, whether a frame of the module is in it; the caller frees. */
static bool *find_stacks(const struct profile *p, module_id id)
{
	bool *has = xcalloc(p->stacks.rows.count, sizeof(*has));

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];

		has[i] = p->frames.rows.items[stack->frame].module == id ||
			 (stack->parent != NO_STACK && has[stack->parent]);
	}
	return has;
}

static uint64_t weight_of(const struct profile_thread *thread, const bool *has)
{
	uint64_t weight = 0;

	samples_for_each(&thread->samples, sample) {
		if (!sample->event && sample->stack != NO_STACK && has[sample->stack])
			weight += sample->weight;
	}
	return weight;
}

/* Returns the thread that has used the module most, NULL for none. */
static const struct profile_thread *find_user(const struct profile *p, module_id id)
{
	_cleanup_free_ bool *has = find_stacks(p, id);
	const struct profile_thread *user = NULL;
	uint64_t most = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		uint64_t weight = weight_of(thread, has);

		if (weight > most) {
			most = weight;
			user = thread;
		}
	}
	return user;
}

/* Returns "spin (pid 1 in 4b1a0d8704e5)"; the caller frees. */
static char *describe(const struct profile *p, const struct profile_thread *user)
{
	bool is_named = user && user->process_name != NO_STRING;
	bool is_labelled = user && user->process_label != NO_STRING;

	return xasprintf("%s%s%s%s",
			 is_named ? strings_get(&p->strings, user->process_name) : "a process",
			 is_labelled ? " (" : "",
			 is_labelled ? strings_get(&p->strings, user->process_label) : "",
			 is_labelled ? ")" : "");
}

/* Returns the remedy in the root of the process if it lives and the file is there; else NULL. */
static char *remedy_in_root(const struct module *module, const char *path, uint32_t pid,
			    bool has_servers)
{
	/* Show nothing of a container that the user could not read. */
	struct identity invoker = identity_of_invoker();
	struct identity before = identity_assume_files(&invoker);
	char *remedy = NULL, root[32];

	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	if (!before.failure && compare(module, root, path) == SAME_FILE)
		remedy = debug_package_remedy(root, path, has_servers);
	identity_restore_files(&before);
	return remedy;
}

char *foreign_file_remedy(const struct profile *p, module_id id, bool has_servers)
{
	const struct module *module = &p->modules.rows.items[id];
	const char *path = strings_get(&p->strings, module->path);
	_cleanup_free_ char *remedy = NULL, *process = NULL;
	const struct profile_thread *user;
	char *text;

	if (!module->build_id_size || compare(module, "/", path) != OTHER_FILE)
		return NULL;
	user = find_user(p, id);
	process = describe(p, user);
	remedy = user ? remedy_in_root(module, path, user->pid, has_servers) : NULL;
	if (remedy)
		text = xasprintf("it is in the container or root of %s, so there %s", process,
				 remedy);
	else
		text = xasprintf("it is a file of %s that is not the one of that name on this "
				 "machine: %sname the folder of its debug files by --debug-dir",
				 process,
				 has_servers ? ""
					     : "set DEBUGINFOD_URLS to the debuginfod server "
					       "of its distribution, or ");
	text_to_line(text);
	return text;
}
