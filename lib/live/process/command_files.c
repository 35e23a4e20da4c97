/* SPDX-License-Identifier: MIT */
#include "lib/live/process/command_files.h"

#include "lib/base/program.h"
#include "lib/code/binary/objects.h"

/* Limits of the kernel: nested interpreters, and bytes of a first line. */
#define SCRIPTS_MAX 5
#define FIRST_LINE_MAX 256
/* Limits of the search for programs that a command starts: words, files, bytes of a script. */
#define WORDS_MAX 256
#define FILES_MAX 64
#define TEXT_MAX 4096
#define ORIGIN "$ORIGIN"

/* Folders of libraries besides those listed in the program; the loader's cache is not read. */
#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#else
#define TRIPLET "aarch64-linux-gnu"
#endif
#define LIBRARY_FOLDERS "/lib/" TRIPLET ":/usr/lib/" TRIPLET ":/lib64:/usr/lib64:/lib:/usr/lib"

struct search {
	command_file_fn *fn;
	void *ctx;
	size_t words; /* looked up */
	struct file_id {
		dev_t device;
		ino_t inode;
	} files[FILES_MAX]; /* passed on */
	size_t count;
};

/*
 * Opens only regular files, because opening others may block or have side effects. Returns -1 for
 * others, and for those that have none of the permissions; 0: any will do.
 */
static int open_file(const char *path, mode_t permissions)
{
	_cleanup_close_ int file = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	char name[32];

	if (file < 0 || fstat(file, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (permissions && !(st.st_mode & permissions)))
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

/* Passes a file on. Returns false if it was passed on before, or if there are too many. */
static bool pass(struct search *s, int fd)
{
	struct stat st;

	if (s->count == FILES_MAX || fstat(fd, &st) != 0 ||
	    items_find(s->files, s->count, it, it->device == st.st_dev && it->inode == st.st_ino))
		return false;
	s->files[s->count++] = (struct file_id){st.st_dev, st.st_ino};
	s->fn(s->ctx, fd);
	return true;
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
			fd = open_file(path, 0);
		folders = folders[size] ? folders + size + 1 : NULL;
	}
	return fd;
}

static void find_libraries(struct search *s, int program)
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
			pass(s, fd);
	}
	binary_free(b);
}

static void find_words(struct search *s, char *text, int depth);

/* Finds the programs that a script of a shell starts. */
static void find_started(struct search *s, int script, int depth)
{
	char text[TEXT_MAX];
	ssize_t size = pread(script, text, sizeof(text) - 1, 0);

	text[size > 0 ? size : 0] = '\0';
	find_words(s, text, depth);
}

/* Finds the program that will be executed. A script's interpreter is executed in its place. */
static void find_program(struct search *s, const char *command, int depth)
{
	char path[PATH_MAX], line[FIRST_LINE_MAX];
	/* Files of the kernel may be emptied by reading, but are not executable. */
	_cleanup_close_ int fd = search_path_find(command, path) ? open_file(path, 0111) : -1;
	const char *interpreter = fd >= 0 ? interpreter_of(fd, line) : NULL;

	if (interpreter && depth < SCRIPTS_MAX) {
		find_program(s, interpreter, depth + 1);
		if (text_ends_with(interpreter, "sh"))
			find_started(s, fd, depth + 1);
	} else if (fd >= 0 && !interpreter && pass(s, fd)) {
		find_libraries(s, fd);
	}
}

/* Finds all programs that are named in a shell's commands, wherever they stand. */
static void find_words(struct search *s, char *text, int depth)
{
	char *word;

	while (s->words < WORDS_MAX && (word = strsep(&text, " \t\r\n;&|()<>\"'`"))) {
		if (!*word || *word == '-')
			continue;
		s->words++;
		find_program(s, word, depth);
	}
}

void command_files_find(char *const *argv, command_file_fn *fn, void *ctx)
{
	struct search s = {.fn = fn, .ctx = ctx};

	find_program(&s, argv[0], 0);
	for (argv++; *argv; argv++) {
		_cleanup_free_ char *text = xstrdup(*argv);

		find_words(&s, text, 0);
	}
}
