/* SPDX-License-Identifier: MIT */
/*
 * Paths of source files, one per line, as debug information has them, in the root of a process.
 * Whatever they are, nothing outside the root is read. The root has links to the outside, to a file
 * that only this program may read.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/cleanup.h"
#include "symbolize/source_texts.h"
#include "tests/fuzz/input.h"

#define PATHS_MAX 16

static char folder[] = "/tmp/fuzz_sources.XXXXXX";
static int root = -1;

static const char *const entries[] = {"root/a.c",    "root/up.c", "root/out.c", "secret.c",
				      "root/out/up", "root/out",  "root"};

static void remove_folder(void)
{
	char path[128];

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]);
		remove(path);
	}
	rmdir(folder);
}

static void put(const char *name, const char *text, mode_t mode)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

static void make_folder(void)
{
	char path[128], target[128];

	if (!mkdtemp(folder) || chmod(folder, 0755))
		abort();
	snprintf(path, sizeof(path), "%s/root", folder);
	if (mkdir(path, 0755))
		abort();
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	put("root/a.c", "inside\n", 0644);
	put("secret.c", "secret\n", 0600);
	snprintf(target, sizeof(target), "%s/secret.c", folder);
	if (root < 0 || mkdirat(root, "out", 0755) || symlinkat(target, root, "out.c") ||
	    symlinkat("../secret.c", root, "up.c") || symlinkat("../..", root, "out/up"))
		abort();
	atexit(remove_folder);
}

static void add_path(struct profile *p, module_id module, const char *path, size_t size)
{
	struct func func = {.module = module};
	struct frame frame = {.module = module, .symbol = NO_SYMBOL};
	char *copy = xstrndup(path, size);

	func.name = strings_intern(&p->strings, "f");
	func.file = source_files_intern(&p->source_files, strings_intern(&p->strings, copy));
	frame.func = funcs_intern(&p->funcs, &func);
	frames_intern(&p->frames, &frame);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct sources_options options = {
		.owner = identity_of_invoker(), .file_bytes = 64, .total_bytes = 256};
	struct sources_stats stats = {0};
	struct profile *p = profile_new();
	struct file_set *files = file_set_new(16);
	string_id name = strings_intern(&p->strings, "main");
	module_id module = modules_add(&p->modules, PROFILE_MODULE_FILE, name, name);

	if (root < 0)
		make_folder();
	modules_get(&p->modules, module)->file_key = 1;
	/* A user who may only read files open to everybody. */
	readers_add(&modules_get(&p->modules, module)->users, (struct reader){65533, 65533});
	file_set_add_root(files, 1, fcntl(root, F_DUPFD_CLOEXEC, 0));
	options.files = files;
	for (int i = 0; i < PATHS_MAX && at < end; i++) {
		const char *line = memchr(at, '\n', (size_t)(end - at));

		line = line ? line : end;
		add_path(p, module, at, (size_t)(line - at));
		at = line < end ? line + 1 : end;
	}
	sources_collect(p, &options, &stats);
	if (stats.bytes > options.total_bytes)
		abort();
	vec_for_each(&p->source_files.rows, const struct source_file *, file) {
		if (file->text && strstr(file->text, "secret"))
			abort();
	}
	file_set_free(files);
	profile_free(p);
	return 0;
}
