/* SPDX-License-Identifier: MIT */
#include "symbolize/kernel/kernel_files.h"

#include <dirent.h>
#include <sys/utsname.h>

/* Maximum size of a list; distributions have some 4,000 modules, in some 600 folders. */
#define MAX_LIST_BYTES ((size_t)16 << 20)
#define MAX_DEPTH 12
#define MAX_ENTRIES 200000
#define MAX_NAME 64

static const char *const packings[] = {"", ".xz", ".zst", ".gz"};
#define PACKING_COUNT (sizeof(packings) / sizeof(*packings))

struct listing {
	struct kernel_files *files;
	const struct debug_search *search;
	struct utsname running;
	const char *release; /* NULL: unknown, or not usable as a folder name */
	char name[MAX_NAME]; /* name of the module */
};

static void add(struct listing *l, char *path)
{
	vec_push(&l->files->rows, path);
}

/*
 * Matches a file name with the module's, treating "-" and "_" as equal; returns its length up to
 * ".ko".
 */
static size_t match_module(const struct listing *l, const char *file, const char *end)
{
	size_t size = strlen(l->name), rest = (size_t)(end - file);

	if (rest < size + 3 || memcmp(file + size, ".ko", 3) != 0)
		return 0;
	for (size_t i = 0; i < size; i++) {
		if (file[i] != l->name[i] && !(file[i] == '-' && l->name[i] == '_'))
			return 0;
	}
	return rest == size + 3 || file[size + 3] == '.' ? size + 3 : 0;
}

/*
 * Finds "kernel/fs/ext4/ext4.ko.xz: …" in the list, and returns "kernel/fs/ext4/ext4.ko"; NULL if
 * there is no such line.
 */
static char *find_in_list(const struct listing *l, const char *list)
{
	_cleanup_free_ char *path = xasprintf("/lib/modules/%s/%s", l->release, list);
	_cleanup_close_ int fd = debug_file_open(l->search, NULL, 0, path);
	_cleanup_free_ char *text = fd < 0 ? NULL : text_read_fd(fd, MAX_LIST_BYTES, NULL);

	for (const char *line = text; line && *line;) {
		const char *line_end = line + strcspn(line, "\n");
		const char *end = line + strcspn(line, ":\n");
		const char *slash = memrchr(line, '/', (size_t)(end - line));
		const char *name = slash ? slash + 1 : line;
		size_t size = match_module(l, name, end);

		if (size && *line != '/')
			return xstrndup(line, (size_t)(name - line) + size);
		line = *line_end ? line_end + 1 : line_end;
	}
	return NULL;
}

struct walk {
	const struct listing *listing;
	unsigned int entries;
	char *found;
};

static void walk_folder(struct walk *w, int parent, const char *name, const char *path,
			unsigned int depth);

/* `path` is the folder's, relative to the first one, and ends in "/" unless empty. */
static void walk_entry(struct walk *w, int folder, const struct dirent *entry, const char *path,
		       unsigned int depth)
{
	const char *name = entry->d_name;
	size_t size = match_module(w->listing, name, name + strlen(name));

	if (entry->d_type == DT_REG && size) {
		w->found = xasprintf("%s%.*s", path, (int)size, name);
	} else if (entry->d_type == DT_DIR && name[0] != '.' && depth < MAX_DEPTH) {
		_cleanup_free_ char *below = xasprintf("%s%s/", path, name);

		walk_folder(w, folder, name, below, depth + 1);
	}
}

/* Does not follow links, which lead to whole source trees. */
static void walk_folder(struct walk *w, int parent, const char *name, const char *path,
			unsigned int depth)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0);
	int fd = openat(parent, name, flags);
	_cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && !w->found && w->entries++ < MAX_ENTRIES && (entry = readdir(dir)))
		walk_entry(w, fd, entry, path, depth);
	if (!dir && fd >= 0)
		close(fd);
}

/* Does the same by walking the folders, for a kernel without a list on this machine. */
static char *find_below(const struct listing *l, const char *dir)
{
	_cleanup_free_ char *path = xasprintf("%s/lib/modules/%s", dir, l->release);
	struct walk w = {.listing = l};

	walk_folder(&w, AT_FDCWD, path, "", 0);
	return w.found;
}

/* Searches a folder into which a package may have been unpacked. */
static char *find_in_dir(const struct listing *l, const char *dir)
{
	_cleanup_free_ char *installed = xasprintf("%s" DEBUG_SYSTEM_DIR, dir);

	return find_below(l, dir) ?: find_below(l, installed);
}

static char *find_module(const struct listing *l)
{
	const char *const *dir = l->search->dirs;
	struct identity before = {.is_self = true};
	char *found = find_in_list(l, "modules.dep");

	if (!found)
		found = find_in_list(l, "modules.order");
	if (found)
		return found;
	if (l->search->owner)
		before = identity_assume_files(l->search->owner);
	if (!before.failure) {
		for (; dir && *dir && !found; dir++)
			found = find_in_dir(l, *dir);
		if (!found)
			found = find_below(l, DEBUG_SYSTEM_DIR);
	}
	identity_restore_files(&before);
	return found;
}

/*
 * Adds the file with the debug information that distributions split off: at the module's path below
 * another root.
 */
static void add_split_off(struct listing *l, const char *dir, const char *module)
{
	if (!module)
		return;
	add(l, xasprintf("%s/lib/modules/%s/%s.debug", dir, l->release, module));
	add(l, xasprintf("%s/lib/modules/%s/%s", dir, l->release, module));
}

/* Adds a file by name alone: modules built by users are loaded from anywhere. */
static void add_by_name(struct listing *l, const char *dir, const char *file)
{
	add(l, xasprintf("%s/%s.debug", dir, file));
	for (size_t i = 0; i < PACKING_COUNT; i++)
		add(l, xasprintf("%s/%s%s", dir, file, packings[i]));
}

static void add_in_dir(struct listing *l, const char *dir, const char *module)
{
	_cleanup_free_ char *file = xasprintf("%s.ko", l->name);
	const char *slash = module ? strrchr(module, '/') : NULL;
	_cleanup_free_ char *installed = xasprintf("%s" DEBUG_SYSTEM_DIR, dir);

	add_split_off(l, dir, module);
	add_split_off(l, installed, module);
	add_by_name(l, dir, file);
	if (slash && strcmp(slash + 1, file) != 0)
		add_by_name(l, dir, slash + 1);
}

static void list_module(struct listing *l)
{
	const char *const *dir = l->search->dirs;
	_cleanup_free_ char *module = l->release ? find_module(l) : NULL;

	for (; dir && *dir; dir++)
		add_in_dir(l, *dir, module);
	add_split_off(l, DEBUG_SYSTEM_DIR, module);
	/* Packed modules come last: they must be unpacked first, and mostly have no lines. */
	for (size_t i = 0; module && i < PACKING_COUNT; i++)
		add(l, xasprintf("/lib/modules/%s/%s%s", l->release, module, packings[i]));
}

static void list_image(struct listing *l)
{
	static const char *const places[] = {
		DEBUG_SYSTEM_DIR "/boot/vmlinux-%s",
		DEBUG_SYSTEM_DIR "/lib/modules/%s/vmlinux",
		"/lib/modules/%s/build/vmlinux",
		"/lib/modules/%s/vmlinux",
		"/boot/vmlinux-%s",
	};

	for (const char *const *dir = l->search->dirs; dir && *dir; dir++) {
		add(l, xasprintf("%s" DEBUG_SYSTEM_DIR "/boot/vmlinux-%s", *dir, l->release));
		add(l, xasprintf("%s/boot/vmlinux-%s", *dir, l->release));
		add(l, xasprintf("%s/lib/modules/%s/vmlinux", *dir, l->release));
		add(l, xasprintf("%s/vmlinux", *dir));
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		add(l, xasprintf(places[i], l->release));
}

/* Parses "[ext4]". */
static bool take_name(struct listing *l, const char *name)
{
	size_t size = name && name[0] == '[' ? strcspn(name + 1, "]/") : 0;

	if (!size || size >= MAX_NAME || name[size + 1] != ']')
		return false;
	memcpy(l->name, name + 1, size);
	return true;
}

void kernel_files_list(struct kernel_files *files, const struct module *module, const char *name,
		       const struct debug_search *search)
{
	struct listing l = {.files = files, .search = search, .release = search->kernel_release};

	if (!l.release && uname(&l.running) == 0)
		l.release = l.running.release;
	if (l.release && (!*l.release || strchr(l.release, '/')))
		l.release = NULL;
	if (module->kind == PROFILE_MODULE_KERNEL && l.release)
		list_image(&l);
	else if (module->kind == PROFILE_MODULE_KERNEL_MODULE && take_name(&l, name))
		list_module(&l);
	add(&l, NULL);
}

void kernel_files_release(struct kernel_files *files)
{
	vec_for_each(&files->rows, char **, path)
		free(*path);
	vec_release(&files->rows);
}
