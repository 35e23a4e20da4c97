/* SPDX-License-Identifier: MIT */
#include "cmd/options/container_id.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/open_regular.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/live/process/cgroup_search.h"
#include "lib/stream/process/cgroup.h"

#define FILE_MAX ((size_t)16 << 20)
#define DOCKER "/var/lib/docker/containers"
#define STORAGE "containers/storage"
#define STORAGE_CONF "containers/storage.conf"
/* Folders of drivers in one storage, and users who are asked for their lists. */
#define DRIVERS_MAX 16
#define USERS_MAX 256
#define ID_SHOWN 12

/* Containers of that name, the same one once. */
struct search {
	const char *name;
	VEC(char *) ids;
};

static char *read_text(const char *path)
{
	_cleanup_close_ int fd = open_regular(path);

	return fd < 0 ? NULL : text_read_fd(fd, FILE_MAX, NULL);
}

static json_t *read_json(const char *path)
{
	_cleanup_free_ char *text = read_text(path);

	return text ? json_loads(text, 0, NULL) : NULL;
}

static void add_id(struct search *s, const char *id)
{
	size_t size = id ? strlen(id) : 0;

	if (size != CONTAINER_ID_SIZE || !cgroup_container_id(id, size))
		return;
	vec_for_each(&s->ids, char *const *, known) {
		if (strcmp(*known, id) == 0)
			return;
	}
	vec_push(&s->ids, xstrdup(id));
}

/* Looks into the file of each container. */
static void find_docker(struct search *s)
{
	_cleanup_closedir_ DIR *dir = opendir(DOCKER);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		_cleanup_free_ char *path = xasprintf(DOCKER "/%s/config.v2.json", entry->d_name);
		json_t *config = entry->d_name[0] == '.' ? NULL : read_json(path);
		const char *known = json_string_value(json_object_get(config, "Name"));

		if (known && strcmp(known + (*known == '/'), s->name) == 0)
			add_id(s, entry->d_name);
		json_decref(config);
	}
}

static bool has_name(const json_t *names, const char *name)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *known = json_string_value(json_array_get(names, i));

		if (known && strcmp(known, name) == 0)
			return true;
	}
	return false;
}

static void find_in_list(struct search *s, const char *path)
{
	json_t *all = read_json(path);

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *row = json_array_get(all, i);

		if (has_name(json_object_get(row, "names"), s->name))
			add_id(s, json_string_value(json_object_get(row, "id")));
	}
	json_decref(all);
}

/* Looks into the lists of a storage of Podman, which has one folder for each driver. */
static void find_in_storage(struct search *s, const char *storage)
{
	_cleanup_closedir_ DIR *dir = opendir(storage);
	const struct dirent *entry;
	unsigned int count = 0;

	while (dir && (entry = readdir(dir)) && count < DRIVERS_MAX) {
		_cleanup_free_ char *lasting = NULL, *passing = NULL;

		if (!text_ends_with(entry->d_name, "-containers"))
			continue;
		count++;
		lasting = xasprintf("%s/%s/containers.json", storage, entry->d_name);
		/* Those of "podman run --rm". */
		passing = xasprintf("%s/%s/volatile-containers.json", storage, entry->d_name);
		find_in_list(s, lasting);
		find_in_list(s, passing);
	}
}

/* Returns the string that a line of storage.conf sets, or NULL; the caller frees. */
static char *setting_of(const char *text, const char *key)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, " \t\n");
		if (!text_starts_with(line, key))
			continue;
		line += strlen(key);
		line += strspn(line, " \t");
		if (*line != '=')
			continue;
		line += 1 + strspn(line + 1, " \t");
		if (*line == '"' || *line == '\'')
			return xstrndup(line + 1, strcspn(line + 1, *line == '"' ? "\"\n" : "'\n"));
	}
	return NULL;
}

/* Looks into the storage that a key of the file names. The home stands for "$HOME" in it. */
static void find_in_configured(struct search *s, const char *file, const char *key,
			       const char *home)
{
	_cleanup_free_ char *text = read_text(file);
	_cleanup_free_ char *storage = text ? setting_of(text, key) : NULL, *below = NULL;

	if (!storage)
		return;
	if (home && text_starts_with(storage, "$HOME/"))
		below = xasprintf("%s%s", home, storage + strlen("$HOME"));
	find_in_storage(s, below ? below : storage);
}

/* Returns a folder below the home, which a variable may name for this user; the caller frees. */
static char *folder_of(const struct identity *who, const char *home, const char *variable,
		       const char *usual, const char *path)
{
	const char *other = who->is_self ? secure_getenv(variable) : NULL;

	return other && *other ? xasprintf("%s/%s", other, path)
			       : xasprintf("%s/%s/%s", home, usual, path);
}

/* Reads as the user: the user chose what is there, and where it leads. */
static void find_of_user(struct search *s, const struct identity *who, const char *home)
{
	_cleanup_free_ char *storage = folder_of(who, home, "XDG_DATA_HOME", ".local/share",
						 STORAGE);
	_cleanup_free_ char *conf = folder_of(who, home, "XDG_CONFIG_HOME", ".config",
					      STORAGE_CONF);
	_cleanup_free_ char *passing = xasprintf("/run/user/%u/containers", who->uid);
	struct identity before = identity_assume_files(who);

	if (!before.failure) {
		find_in_storage(s, storage);
		find_in_storage(s, passing);
		find_in_configured(s, conf, "graphroot", home);
		find_in_configured(s, "/etc/" STORAGE_CONF, "rootless_storage_path", home);
	}
	identity_restore_files(&before);
}

static void find_of_uid(struct search *s, struct identity who)
{
	const struct passwd *entry = getpwuid(who.uid);
	_cleanup_free_ char *home = NULL;

	if (!entry)
		return;
	home = xstrdup(entry->pw_dir);
	who.gid = entry->pw_gid;
	find_of_user(s, &who, home);
}

static void find_of_others(struct search *s)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc");
	uid_t uids[USERS_MAX] = {0};
	const struct dirent *entry;
	size_t count = 1;

	while (dir && (entry = readdir(dir)) && count < USERS_MAX) {
		struct stat st;
		size_t i = 0;

		if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0))
			continue;
		while (i < count && uids[i] != st.st_uid)
			i++;
		if (i < count)
			continue;
		uids[count++] = st.st_uid;
		find_of_uid(s, (struct identity){.uid = st.st_uid});
	}
}

static void find_own(struct search *s)
{
	const struct identity invoker = identity_of_invoker();
	const char *home = getenv("HOME");

	if (invoker.is_self && home)
		find_of_user(s, &invoker, home);
	else
		find_of_uid(s, invoker);
	find_in_storage(s, "/var/lib/" STORAGE);
	find_in_storage(s, "/run/" STORAGE);
	find_in_configured(s, "/etc/" STORAGE_CONF, "graphroot", NULL);
	find_in_configured(s, "/usr/share/" STORAGE_CONF, "graphroot", NULL);
	find_docker(s);
}

static int fail_several(const char *name, struct error *err)
{
	error_text(err, -EINVAL, "--container %s: several containers of that name run", name);
	error_hint(err, "give the first 12 digits of an id");
	return -EINVAL;
}

static int fail_to_find(const struct search *s, struct error *err)
{
	const char *id = s->ids.count ? s->ids.items[0] : NULL;

	if (id) {
		error_text(err, -ENOENT,
			   "--container %s: no process runs in a control group of %.*s", s->name,
			   ID_SHOWN, id);
		error_hint(err,
			   "if it has none: --pid \"$(podman inspect -f '{{.State.Pid}}' %.*s)\"",
			   ID_SHOWN, id);
	} else {
		error_text(err, -ENOENT,
			   "--container %s: no container of that name or id is known here",
			   s->name);
		error_hint(err, "give the first 12 digits of its id");
	}
	return -ENOENT;
}

/* Finds the group of the one that runs: lists have containers that ended, too. */
static int search_groups(const struct search *s, char **found, struct error *err)
{
	if (!s->ids.count)
		*found = cgroup_search("--container", s->name, cgroup_is_container, err);
	vec_for_each(&s->ids, char *const *, id) {
		char *folder = cgroup_search("--container", *id, cgroup_is_container, err);

		if (*found && folder) {
			free(folder);
			return fail_several(s->name, err);
		}
		if (!folder && err->code != -ENOENT)
			return err->code;
		*found = folder ? folder : *found;
	}
	return *found ? 0 : err->code;
}

char *container_folder(const char *name, struct error *err)
{
	struct search s = {.name = name};
	_cleanup_free_ char *found = NULL;
	int ret;

	find_own(&s);
	ret = search_groups(&s, &found, err);
	if (ret == -ENOENT && geteuid() == 0 && identity_of_invoker().uid == 0) {
		find_of_others(&s);
		ret = search_groups(&s, &found, err);
	}
	if (ret == -ENOENT)
		fail_to_find(&s, err);
	else if (!ret)
		*err = (struct error){0}; /* other containers of that name do not run */
	vec_for_each(&s.ids, char **, id)
		free(*id);
	vec_release(&s.ids);
	return ret ? NULL : steal(found);
}
