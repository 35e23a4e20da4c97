/* SPDX-License-Identifier: MIT */
#include "lib/live/process/cgroup_filter.h"

#include <dirent.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define DEPTH_MAX 32
#define TEXT_MAX (4u << 20)
/* Shorter prefixes of a container's id count as names. */
#define ID_MIN 4
#define PID_MAX 0x7fffffff

bool cgroup_is_unit(const char *name, const char *unit)
{
	size_t size = strlen(unit);

	if (strncmp(name, unit, size) != 0)
		return false;
	return !name[size] || (!strchr(unit, '.') && strcmp(name + size, ".service") == 0);
}

/* True if the rest of the name, before ".scope", matches. */
static bool is_id(const char *rest, const char *id)
{
	size_t size = strlen(id), hex = strspn(id, "0123456789abcdef");

	if (strncmp(rest, id, size) != 0)
		return false;
	if (!rest[size] || strcmp(rest + size, ".scope") == 0)
		return true;
	/* A prefix of an id consists of hexadecimal digits alone. */
	return size >= ID_MIN && hex == size &&
	       strspn(rest, "0123456789abcdef") >= strcspn(rest, ".") && strlen(rest) >= 32;
}

bool cgroup_is_container(const char *name, const char *id)
{
	static const char *const prefixes[] = {
		"docker-",  "libpod-", "crio-",	       "cri-containerd-",
		"machine-", "lxc-",    "lxc.payload.", "nerdctl-",
	};

	if (strstr(name, "libpod-conmon-") == name || strstr(name, "crio-conmon-") == name)
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t size = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], size) == 0 && is_id(name + size, id))
			return true;
	}
	return is_id(name, id);
}

struct search {
	const char *wanted;
	cgroup_match_fn *match;
	char *found; /* first group found */
	unsigned int count;
};

typedef bool folder_fn(void *ctx, int fd, const char *path, const char *name);

/*
 * Calls fn for the folder and everything below; if fn returns false for a folder, skips its
 * contents.
 */
static void walk(int at, const char *path, const char *name, unsigned int depth, folder_fn *fn,
		 void *ctx)
{
	int fd = openat(at, depth ? name : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	_cleanup_closedir_ DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (fd >= 0 && !dir)
		close(fd);
	if (!dir || !fn(ctx, fd, path, name) || depth == DEPTH_MAX)
		return;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *below = NULL;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		below = xasprintf("%s/%s", path, entry->d_name);
		walk(fd, below, entry->d_name, depth + 1, fn, ctx);
	}
}

static bool match_folder(void *ctx, int fd, const char *path, const char *name)
{
	struct search *s = ctx;

	if (!s->match(name, s->wanted))
		return true;
	s->count++;
	if (!s->found)
		s->found = xstrdup(path);
	return false;
}

static void search_mount(struct search *s, const char *mount)
{
	if (mount && !s->found)
		walk(AT_FDCWD, mount, "", 0, match_folder, s);
}

static char *cgroup1_mount_of(const char *text, size_t nth);

char *cgroup_search(const char *what, const char *wanted, cgroup_match_fn *match, struct error *err)
{
	_cleanup_free_ char *mounts = text_read_file("/proc/self/mountinfo", TEXT_MAX, NULL);
	_cleanup_free_ char *unified = mounts ? cgroup2_mount_of(mounts) : NULL;
	struct search s = {.wanted = wanted, .match = match};
	char *mount;

	search_mount(&s, unified);
	for (size_t i = 0; mounts && !s.found && (mount = cgroup1_mount_of(mounts, i)); i++) {
		search_mount(&s, mount);
		free(mount);
	}
	if (s.count == 1)
		return s.found;
	if (!s.count) {
		error_text(err, -ENOENT, "%s %s: no process runs in a matching control group", what,
			   wanted);
		return NULL;
	}
	error_text(err, -EINVAL, "%s %s: %u control groups match", what, wanted, s.count);
	error_hint(err, "choose one with --cgroup: %s", s.found);
	free(s.found);
	return NULL;
}

struct folders {
	bool (*fn)(void *ctx, const char *path);
	void *ctx;
	size_t mount_size;
};

static bool take_folder(void *ctx, int fd, const char *path, const char *name)
{
	const struct folders *f = ctx;

	return !path[f->mount_size] || f->fn(f->ctx, path + f->mount_size);
}

void cgroup_folders(bool (*fn)(void *ctx, const char *path), void *ctx)
{
	_cleanup_free_ char *mounts = text_read_file("/proc/self/mountinfo", TEXT_MAX, NULL);
	_cleanup_free_ char *mount = mounts ? cgroup2_mount_of(mounts) : NULL;
	struct folders folders = {.fn = fn, .ctx = ctx};

	if (mounts && !mount)
		mount = cgroup1_mount_of(mounts, 0);
	if (!mount)
		return;
	folders.mount_size = strlen(mount);
	walk(AT_FDCWD, mount, "", 0, take_folder, &folders);
}

struct listing {
	void (*fn)(void *ctx, pid_t pid);
	void *ctx;
};

static bool list_processes(void *ctx, int fd, const char *path, const char *name)
{
	const struct listing *l = ctx;
	int procs = openat(fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *file = procs >= 0 ? fdopen(procs, "r") : NULL;
	char line[32];

	if (procs >= 0 && !file)
		close(procs);
	while (file && fgets(line, sizeof(line), file)) {
		uint64_t pid = strtoull(line, NULL, 10);

		if (pid && pid <= PID_MAX)
			l->fn(l->ctx, (pid_t)pid);
	}
	return true;
}

void cgroup_processes(const char *folder, void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	struct listing l = {fn, ctx};

	walk(AT_FDCWD, folder, "", 0, list_processes, &l);
}

/* Returns false for mount options that are neither a controller nor a hierarchy's name. */
static bool is_controller(const char *option)
{
	static const char *const others[] = {"rw",
					     "ro",
					     "noprefix",
					     "clone_children",
					     "xattr",
					     "cpuset_v2_mode",
					     "release_agent",
					     "favordynmods"};

	return !array_find(others, it, text_starts_with(option, *it)) && *option;
}

/* A line of mountinfo, see proc_pid_mountinfo(5). */
struct mount {
	unsigned int major, minor;
	char *root, *point, *type, *options;
};

/* Splits the line in place. */
static bool parse_mount(char *line, struct mount *m)
{
	char *fields[5], *rest = line, *tail = strstr(line, " - ");

	if (!tail)
		return false;
	*tail = 0;
	tail += 3;
	for (size_t i = 0; i < 5; i++) {
		fields[i] = strsep(&rest, " ");
		if (!fields[i])
			return false;
	}
	if (sscanf(fields[2], "%u:%u", &m->major, &m->minor) != 2)
		return false;
	m->root = fields[3];
	m->point = fields[4];
	m->type = strsep(&tail, " ");
	if (!tail || !strsep(&tail, " "))
		return false;
	m->options = tail;
	return tail;
}

static char *join_controllers(char *options)
{
	char *option, *found = NULL;

	while ((option = strsep(&options, ","))) {
		char *more;

		if (!is_controller(option))
			continue;
		more = found ? xasprintf("%s,%s", found, option) : xstrdup(option);
		free(found);
		found = more;
	}
	return found ? found : xstrdup("");
}

char *cgroup_controllers_of(const char *text, uint32_t major, uint32_t minor)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *rest = copy, *line;
	struct mount m;

	while ((line = strsep(&rest, "\n"))) {
		if (parse_mount(line, &m) && strcmp(m.type, "cgroup") == 0 && m.major == major &&
		    m.minor == minor)
			return join_controllers(m.options);
	}
	return NULL;
}

static bool has_word(const char *list, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = list; at; at = *at ? at + 1 : NULL) {
		if (strncmp(at, word, size) == 0 && (!at[size] || at[size] == ','))
			return true;
		at = strchrnul(at, ',');
	}
	return false;
}

char *cgroup_mount_of(const char *text, const char *controller, char **root)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *rest = copy, *line;
	struct mount m;

	while ((line = strsep(&rest, "\n"))) {
		if (!parse_mount(line, &m))
			continue;
		if (*controller ? strcmp(m.type, "cgroup") != 0 || !has_word(m.options, controller)
				: strcmp(m.type, "cgroup2") != 0)
			continue;
		if (root)
			*root = xstrdup(m.root);
		return xstrdup(m.point);
	}
	return NULL;
}

char *cgroup2_mount_of(const char *text)
{
	return cgroup_mount_of(text, "", NULL);
}

/*
 * Returns the mount point of the nth version 1 hierarchy that has controllers, which the caller
 * frees; NULL if there are no more.
 */
static char *cgroup1_mount_of(const char *text, size_t nth)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *rest = copy, *line;
	struct mount m;

	while ((line = strsep(&rest, "\n"))) {
		if (!parse_mount(line, &m) || strcmp(m.type, "cgroup") != 0 ||
		    strstr(m.options, "name="))
			continue;
		if (!nth--)
			return xstrdup(m.point);
	}
	return NULL;
}

uint32_t cgroup_hierarchy_of(const char *text, const char *controller)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		const char *number = strsep(&line, ":");
		char *names = line ? strsep(&line, ":") : NULL, *name;
		uint64_t hierarchy;

		if (!line || !text_to_u64(number, 10, &hierarchy))
			continue;
		while ((name = strsep(&names, ","))) {
			if (strcmp(name, controller) == 0)
				return (uint32_t)hierarchy;
		}
	}
	return 0;
}

/* Finds the version 1 hierarchy that is mounted on this device. */
static int find_hierarchy(const char *path, dev_t device, const char *mounts, uint32_t *hierarchy,
			  struct error *err)
{
	_cleanup_free_ char *names = cgroup_controllers_of(mounts, major(device), minor(device));
	_cleanup_free_ char *groups = text_read_file("/proc/self/cgroup", TEXT_MAX, NULL);

	if (!names || !groups)
		return error_text(err, -ENOENT, "--cgroup %s: cannot find the hierarchy", path);
	names[strcspn(names, ",")] = 0;
	if (text_starts_with(names, "name=")) {
		error_text(err, -EINVAL, "--cgroup %s: the hierarchy has no controllers", path);
		error_hint(err, "use the same group of a different hierarchy, such as pids");
		return -EINVAL;
	}
	*hierarchy = cgroup_hierarchy_of(groups, names);
	if (!*hierarchy)
		return error_text(err, -ENOENT, "--cgroup %s: cannot find the hierarchy", path);
	return 0;
}

char *cgroup_folder(const char *path, struct error *err)
{
	_cleanup_free_ char *mounts = text_read_file("/proc/self/mountinfo", TEXT_MAX, NULL);
	_cleanup_free_ char *mount = mounts ? cgroup2_mount_of(mounts) : NULL;
	_cleanup_free_ char *below = mount ? xasprintf("%s/%s", mount, path) : NULL;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return xstrdup(path);
	if (below && stat(below, &st) == 0 && S_ISDIR(st.st_mode))
		return steal(below);
	error_text(err, -ENOENT, "--cgroup %s: no such control group", path);
	return NULL;
}

int cgroup_find(const char *path, struct cgroup_id *found, struct error *err)
{
	_cleanup_free_ char *mounts = text_read_file("/proc/self/mountinfo", TEXT_MAX, NULL);
	_cleanup_free_ char *folder = NULL;
	struct statfs fs;
	struct stat st;

	if (!mounts)
		return error_set(err, -errno, "cannot read /proc/self/mountinfo");
	folder = cgroup_folder(path, err);
	if (!folder)
		return err->code;
	if (statfs(folder, &fs) || stat(folder, &st))
		return error_text(err, -ENOENT, "--cgroup %s: no such control group", path);
	/* A cgroup's id in its hierarchy is the inode number of its folder. */
	*found = (struct cgroup_id){.id = st.st_ino};
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return 0;
	if (fs.f_type != CGROUP_SUPER_MAGIC)
		return error_text(err, -EINVAL, "--cgroup %s: not a control group", path);
	return find_hierarchy(path, st.st_dev, mounts, &found->hierarchy, err);
}
