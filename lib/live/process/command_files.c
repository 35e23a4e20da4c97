/* SPDX-License-Identifier: MIT */
#include "lib/live/process/command_files.h"

#include "lib/base/program.h"
#include "lib/code/binary/objects.h"

/* Limits of the kernel: nested interpreters, and bytes of a first line. */
#define SCRIPTS_MAX 5
#define FIRST_LINE_MAX 256
#define ORIGIN "$ORIGIN"

/* Folders of libraries besides those listed in the program; the loader's cache is not read. */
#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#else
#define TRIPLET "aarch64-linux-gnu"
#endif
#define LIBRARY_FOLDERS "/lib/" TRIPLET ":/usr/lib/" TRIPLET ":/lib64:/usr/lib64:/lib:/usr/lib"

/*
 * Opens only regular files, because opening others may block or have side effects. Returns -1 for
 * others.
 */
static int open_file(const char *path)
{
	_cleanup_close_ int file = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	char name[32];

	if (file < 0 || fstat(file, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	return open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/*
 * Returns the interpreter named in the script's first line, which is stored in `line`; NULL if the
 * file is not a script.
 */
static const char *interpreter_of(int fd, char line[FIRST_LINE_MAX])
{
	ssize_t size = pread(fd, line, FIRST_LINE_MAX - 1, 0);
	char *rest, *word;

	line[size > 0 ? size : 0] = '\0';
	if (!text_starts_with(line, "#!"))
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	rest = line + 2;
	word = strtok_r(NULL, " \t", &rest);
	/* env looks up a name, and may have options. */
	if (word && text_ends_with(word, "/env")) {
		do {
			word = strtok_r(NULL, " \t", &rest);
		} while (word && *word == '-');
	}
	return word;
}

/* Opens the program that will be executed. Returns -1 if not found. */
static int open_program(const char *command)
{
	char file[PATH_MAX], line[FIRST_LINE_MAX];
	int fd = search_path_find(command, file) ? open_file(file) : -1;

	for (int i = 0; i < SCRIPTS_MAX && fd >= 0; i++) {
		const char *interpreter = interpreter_of(fd, line);

		if (!interpreter)
			return fd;
		close(fd);
		fd = search_path_find(interpreter, file) ? open_file(file) : -1;
	}
	fd_close(fd);
	return -1;
}

/* Stores the folder of a file. */
static bool find_origin(int fd, char origin[PATH_MAX])
{
	ssize_t size;
	char name[32], *slash;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	size = readlink(name, origin, PATH_MAX - 1);
	origin[size > 0 ? size : 0] = '\0';
	slash = strrchr(origin, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

/* Opens the library in the first of the folders that contains it. Returns -1 if none does. */
static int open_library(const char *folders, const char *origin, const char *name)
{
	char path[PATH_MAX];
	int fd = -1;

	while (folders && fd < 0) {
		size_t size = strcspn(folders, ":"), prefix = strlen(ORIGIN);
		bool is_relative = strncmp(folders, ORIGIN, prefix) == 0;
		size_t skipped = is_relative ? prefix : 0;
		int length = snprintf(path, sizeof(path), "%s%.*s/%s", is_relative ? origin : "",
				      (int)(size - skipped), folders + skipped, name);

		if (size && length < (int)sizeof(path))
			fd = open_file(path);
		folders = folders[size] ? folders + size + 1 : NULL;
	}
	return fd;
}

static void find_libraries(int program, command_file_fn *fn, void *ctx)
{
	struct binary_needed needed;
	char origin[PATH_MAX];
	struct binary *b;

	if (!find_origin(program, origin) || binary_open(&b, program, NULL) != 0)
		return;
	binary_find_needed(b, &needed);
	for (size_t i = 0; i < needed.count; i++) {
		_cleanup_close_ int fd = open_library(needed.run_path, origin, needed.names[i]);

		if (fd < 0)
			fd = open_library(LIBRARY_FOLDERS, origin, needed.names[i]);
		if (fd >= 0)
			fn(ctx, fd);
	}
	binary_free(b);
}

void command_files_find(const char *command, command_file_fn *fn, void *ctx)
{
	_cleanup_close_ int program = open_program(command);

	if (program < 0)
		return;
	fn(ctx, program);
	find_libraries(program, fn, ctx);
}
