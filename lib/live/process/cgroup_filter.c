/* SPDX-License-Identifier: MIT */
#include "lib/live/process/cgroup_filter.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define TEXT_MAX (4u << 20)

/* Mount options that are neither controllers nor the name of a hierarchy. */
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

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (text_starts_with(option, others[i]))
			return false;
	}
	return *option;
}

/* One line of mountinfo; see proc_pid_mountinfo(5). */
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

char *cgroup1_mount_of(const char *text, size_t nth)
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
		return error_text(err, -ENOENT, "--cgroup %s: its hierarchy is not found", path);
	names[strcspn(names, ",")] = 0;
	if (text_starts_with(names, "name=")) {
		error_text(err, -EINVAL, "--cgroup %s: a hierarchy without controllers", path);
		error_hint(err, "give the same group of another one, such as pids");
		return -EINVAL;
	}
	*hierarchy = cgroup_hierarchy_of(groups, names);
	if (!*hierarchy)
		return error_text(err, -ENOENT, "--cgroup %s: its hierarchy is not found", path);
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
	error_text(err, -ENOENT, "--cgroup %s: there is no such control group", path);
	return NULL;
}

int cgroup_find(const char *path, struct cgroup_id *found, struct error *err)
{
	_cleanup_free_ char *mounts = text_read_file("/proc/self/mountinfo", TEXT_MAX, NULL);
	_cleanup_free_ char *folder = NULL;
	struct statfs fs;
	struct stat st;

	if (!mounts)
		return error_set(err, -errno, "read /proc/self/mountinfo");
	folder = cgroup_folder(path, err);
	if (!folder)
		return err->code;
	if (statfs(folder, &fs) || stat(folder, &st))
		return error_text(err, -ENOENT, "--cgroup %s: there is no such control group",
				  path);
	/* A cgroup's id in its hierarchy is the inode number of its folder. */
	*found = (struct cgroup_id){.id = st.st_ino};
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return 0;
	if (fs.f_type != CGROUP_SUPER_MAGIC)
		return error_text(err, -EINVAL, "--cgroup %s: not a control group", path);
	return find_hierarchy(path, st.st_dev, mounts, &found->hierarchy, err);
}
