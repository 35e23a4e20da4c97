/* SPDX-License-Identifier: MIT */
#include "cmd/options/filter_options.h"

#include <dirent.h>
#include <jansson.h>
#include <pwd.h>

#include "cmd/options/live_options.h"
#include "lib/base/identity.h"
#include "lib/base/open_file.h"
#include "lib/live/process/cgroup_filter.h"
#include "lib/stream/process/mapping.h"

#define FILE_MAX ((size_t)2 << 20)
#define DOCKER "/var/lib/docker/containers"
#define STORAGE "containers/storage"
#define STORAGE_CONF "containers/storage.conf"
/* Maximum number of driver folders in a storage, and of users whose lists are read. */
#define DRIVERS_MAX 16
#define USERS_MAX 256
#define ID_SHOWN 12

struct found_id {
	char *id;
	uid_t uid; /* owner of the list; 0: the machine */
};

/* Containers found by name, without duplicates. */
struct search {
	const char *name;
	uid_t uid; /* owner of the lists that are read */
	VEC(struct found_id) ids;
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
	vec_for_each(&s->ids, struct found_id *, known) {
		if (strcmp(known->id, id) != 0)
			continue;
		known->uid = s->uid ? known->uid : 0;
		return;
	}
	vec_push(&s->ids, (struct found_id){xstrdup(id), s->uid});
}

/* Searches the file of each container. */
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

/* Searches the lists of a Podman storage, which has one folder for each driver. */
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
		/* Also lists containers of "podman run --rm". */
		passing = xasprintf("%s/%s/volatile-containers.json", storage, entry->d_name);
		find_in_list(s, lasting);
		find_in_list(s, passing);
	}
}

/*
 * Returns the string that a line of storage.conf sets, which the caller frees; NULL if no line sets
 * it.
 */
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

/* Searches the storage named by a key of the file, with "$HOME" replaced by the home. */
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

/*
 * Returns the folder named by this user's environment variable, or else one below the home; the
 * caller frees it.
 */
static char *folder_of(const struct identity *who, const char *home, const char *variable,
		       const char *usual, const char *path)
{
	const char *other = who->is_self ? secure_getenv(variable) : NULL;

	return other && *other ? xasprintf("%s/%s", other, path)
			       : xasprintf("%s/%s/%s", home, usual, path);
}

/* Reads with the user's rights, because the user controls these files and links. */
static void find_of_user(struct search *s, const struct identity *who, const char *home)
{
	_cleanup_free_ char *storage = folder_of(who, home, "XDG_DATA_HOME", ".local/share",
						 STORAGE);
	_cleanup_free_ char *conf = folder_of(who, home, "XDG_CONFIG_HOME", ".config",
					      STORAGE_CONF);
	_cleanup_free_ char *passing = xasprintf("/run/user/%u/containers", who->uid);
	struct identity before = identity_assume_files(who);

	s->uid = who->uid;
	if (!before.failure) {
		find_in_storage(s, storage);
		find_in_storage(s, passing);
		find_in_configured(s, conf, "graphroot", home);
		find_in_configured(s, "/etc/" STORAGE_CONF, "rootless_storage_path", home);
	}
	identity_restore_files(&before);
	s->uid = 0;
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
	error_text(err, -EINVAL, "--container %s: several running containers have that name", name);
	error_hint(err, "use the first 12 digits of an id");
	return -EINVAL;
}

static int fail_to_find(const struct search *s, struct error *err)
{
	const char *id = s->ids.count ? s->ids.items[0].id : NULL;

	if (id) {
		error_text(err, -ENOENT,
			   "--container %s: no process runs in a control group of %.*s", s->name,
			   ID_SHOWN, id);
		error_hint(err,
			   "without a control group, use --pid \"$(podman inspect -f "
			   "'{{.State.Pid}}' %.*s)\"",
			   ID_SHOWN, id);
	} else {
		error_text(err, -ENOENT, "--container %s: no container with that name or id",
			   s->name);
		error_hint(err, "use the first 12 digits of its id");
	}
	return -ENOENT;
}

/* A user's list may give any name to another user's container: the group determines the owner. */
static bool is_of(const char *folder, const struct found_id *found)
{
	struct stat st;

	return !found->uid || (stat(folder, &st) == 0 && st.st_uid == found->uid);
}

/* Finds the group of the running container: lists also contain ended ones. */
static int search_groups(const struct search *s, char **found, struct error *err)
{
	if (!s->ids.count)
		*found = cgroup_search("--container", s->name, cgroup_is_container, err);
	vec_for_each(&s->ids, const struct found_id *, id) {
		char *folder = cgroup_search("--container", id->id, cgroup_is_container, err);

		if (folder && !is_of(folder, id)) {
			free(folder);
			error_text(err, -ENOENT, "the container of another user");
			continue;
		}
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

/*
 * Returns the control group's folder of a running container, given its id, a prefix of the id, or
 * its name in Docker or Podman; the caller frees it. Looks names up in the lists of the machine and
 * of the invoking user, and for root in those of all users with running programs. Returns NULL with
 * -ENOENT in err if no such container is running, -EINVAL if several are.
 */
static char *container_folder(const char *name, struct error *err)
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
		*err = (struct error){0}; /* other containers of that name are not running */
	vec_for_each(&s.ids, struct found_id *, id)
		free(id->id);
	vec_release(&s.ids);
	return ret ? NULL : steal(found);
}

#define PID_MAX 0x7fffffff

void filter_options_release(struct filter_options *o)
{
	filter_release(&o->filter);
	vec_release(&o->choices);
	free(o->names_text);
	o->names_text = NULL;
}

typedef int word_fn(void *ctx, const char *word, struct error *err);

/* Calls fn for each word of a comma-separated list. */
static int for_each_word(const char *list, word_fn *fn, void *ctx, struct error *err)
{
	_cleanup_free_ char *copy = xstrdup(list);
	char *rest = copy, *word;
	int ret = 0;

	while (!ret && (word = strsep(&rest, ",")))
		ret = fn(ctx, word, err);
	return ret;
}

static bool parse_pid(const char *word, uint32_t *pid)
{
	uint64_t number;

	if (!text_to_u64(word, 10, &number) || !number || number > PID_MAX)
		return false;
	*pid = (uint32_t)number;
	return true;
}

static int check_pid(void *ctx, const char *word, struct error *err)
{
	const char *const *option = ctx;
	uint32_t pid;

	if (parse_pid(word, &pid))
		return 0;
	return error_text(err, -EINVAL, "%s: '%s' is not a pid or tid", *option, word);
}

static int check_word(void *ctx, const char *word, struct error *err)
{
	const char *const *option = ctx;

	return *word ? 0 : error_text(err, -EINVAL, "%s: a name must not be empty", *option);
}

static int add_name(void *ctx, const char *word, struct error *err)
{
	return name_set_add(ctx, word, err);
}

static int add_names(const char *option, const char *value, struct name_set *set, struct error *err)
{
	return for_each_word(value, add_name, set, err) ? error_wrap(err, "%s", option) : 0;
}

static int choose(struct filter_options *o, enum filter_kind kind, const char *value)
{
	vec_push(&o->choices, (struct filter_choice){kind, value});
	o->is_searched |= kind == FILTER_BY_NAME || kind == FILTER_BY_COMM ||
			  kind == FILTER_BY_UNIT || kind == FILTER_BY_CONTAINER ||
			  kind == FILTER_BY_CGROUP;
	o->is_limited |= kind != FILTER_BY_CPU && kind != FILTER_BY_THREAD;
	return 0;
}

static int set_pids(void *o, const char *value, struct error *err)
{
	const char *option = "--pid";

	return for_each_word(value, check_pid, &option, err) ?: choose(o, FILTER_BY_PID, value);
}

static int set_tids(void *o, const char *value, struct error *err)
{
	const char *option = "--tid";

	return for_each_word(value, check_pid, &option, err) ?: choose(o, FILTER_BY_TID, value);
}

static int set_uids(void *o, const char *value, struct error *err)
{
	const char *option = "--uid";

	return for_each_word(value, check_word, &option, err) ?: choose(o, FILTER_BY_UID, value);
}

static int set_cgroup(void *o, const char *value, struct error *err)
{
	const char *option = "--cgroup";

	return check_word(&option, value, err) ?: choose(o, FILTER_BY_CGROUP, value);
}

static int set_pidfile(void *o, const char *value, struct error *err)
{
	const char *option = "--pidfile";

	return check_word(&option, value, err) ?: choose(o, FILTER_BY_PIDFILE, value);
}

static int set_name(void *o, const char *value, struct error *err)
{
	const char *option = "--name";

	return check_word(&option, value, err) ?: choose(o, FILTER_BY_NAME, value);
}

static int set_group(struct filter_options *o, enum filter_kind kind, const char *option,
		     const char *value, struct error *err)
{
	int ret = check_word(&option, value, err);

	if (!ret && o->is_group)
		ret = error_text(err, -EINVAL, "%s %s: only one control group can be attached to",
				 option, value);
	o->is_group = true;
	return ret ? ret : choose(o, kind, value);
}

static int set_target_group(void *o, const char *value, struct error *err)
{
	return set_group(o, FILTER_BY_CGROUP, "--cgroup", value, err);
}

static int set_unit(void *o, const char *value, struct error *err)
{
	return set_group(o, FILTER_BY_UNIT, "--unit", value, err);
}

static int set_container(void *o, const char *value, struct error *err)
{
	return set_group(o, FILTER_BY_CONTAINER, "--container", value, err);
}

static int set_comm(void *at, const char *value, struct error *err)
{
	struct filter_options *o = at;
	char *text = o->names_text;

	o->names_text = text ? xasprintf("%s,%s", text, value) : xstrdup(value);
	free(text);
	return add_names("--comm", value, &o->names, err) ?: choose(o, FILTER_BY_COMM, value);
}

static int set_threads(void *at, const char *value, struct error *err)
{
	struct filter_options *o = at;

	choose(o, FILTER_BY_THREAD, value);
	o->filter.criteria |= FILTER_THREAD;
	return add_names("--thread", value, &o->filter.thread_names, err);
}

static int set_cpus(void *at, const char *value, struct error *err)
{
	struct filter_options *o = at;

	choose(o, FILTER_BY_CPU, value);
	return filter_set_cpus(&o->filter, value, err);
}

static int set_exclude_self(void *at, const char *value, struct error *err)
{
	struct filter_options *o = at;

	o->filter.include_self = false;
	o->is_limited = true;
	return 0;
}

#define AT(member) OPTION_AT(filter_options, member)
#define GIVEN(member) OPTION_GIVEN(filter_options, member)

const struct option_row filter_options[] = {
	{0, "thread", "GLOB[,...]", "sample only threads whose current name is one of these",
	 OPTION_CALL, .set = set_threads},
	{0, "cpu", "LIST", "sample only these CPUs, such as 0-3,8", OPTION_CALL, .set = set_cpus},
	{0},
};

const struct option_row system_options[] = {
	{.help = "\nWith -a, record only what matches all of these:"},
	{'p', "pid", "LIST", "only processes with these pids", OPTION_CALL, .set = set_pids,
	 .live = live_pids},
	{0, "tid", "LIST", "only threads with these tids", OPTION_CALL, .set = set_tids},
	{0, "comm", "GLOB[,...]", "only processes with one of these names", OPTION_CALL,
	 .set = set_comm, .live = live_names},
	{0, "cgroup", "PATH", "only processes in this control group or below; may be repeated",
	 OPTION_CALL, .set = set_cgroup, .live = live_groups},
	{0, "uid", "LIST", "only processes of these users, by number or name", OPTION_CALL,
	 .set = set_uids, .live = live_users},
	{0, "exclude-self", NULL, "leave prof itself out (default)", OPTION_CALL,
	 .set = set_exclude_self},
	{0, "include-self", NULL, "record prof itself as well", OPTION_FLAG,
	 AT(filter.include_self), GIVEN(is_limited), .is_guarded = true},
	{0},
};

const struct option_rule target_rules[] = {
	{"unit", "pid comm name pidfile no-children", NULL, NULL},
	{"container", "pid comm name pidfile no-children", NULL, NULL},
	{"cgroup", "pid comm name pidfile no-children", NULL, NULL},
	{0},
};

const struct option_row target_options[] = {
	{'p', "pid", "LIST", "those with these pids; may be repeated", OPTION_CALL, .set = set_pids,
	 .live = live_pids},
	{0, "comm", "GLOB[,...]", "those with one of these names; may be repeated", OPTION_CALL,
	 .set = set_comm, .live = live_names},
	{0, "pidfile", "FILE", "the one whose pid is in FILE; may be repeated", OPTION_CALL,
	 .set = set_pidfile},
	{0, "name", "GLOB[,...]",
	 "those whose name or program is one of these, or, with spaces,\n"
	 "whose command line is; may be repeated",
	 OPTION_CALL, .set = set_name, .live = live_names},
	{0, "unit", "NAME", "those of a unit of systemd, such as nginx.service", OPTION_CALL,
	 .set = set_unit, .live = live_units},
	{0, "container", "ID", "those of a container, by its id or name", OPTION_CALL,
	 .set = set_container},
	{0, "cgroup", "PATH", "those in this control group or below", OPTION_CALL,
	 .set = set_target_group, .live = live_groups},
	{0, "no-children", NULL, "not their descendants", OPTION_FLAG, AT(filter.skip_children)},
	{0},
};

struct resolution {
	struct filter *filter;
	struct targets *targets;
};

static int resolve_pid(void *ctx, const char *word, struct error *err)
{
	struct resolution *r = ctx;
	uint32_t pid;

	if (!parse_pid(word, &pid))
		return 0;
	return r->targets ? targets_add(r->targets, (pid_t)pid, err)
			  : filter_add_pid(r->filter, pid, err);
}

static int resolve_tid(void *ctx, const char *word, struct error *err)
{
	struct resolution *r = ctx;
	uint32_t tid;

	return parse_pid(word, &tid) ? filter_add_tid(r->filter, tid, err) : 0;
}

static int resolve_uid(void *ctx, const char *word, struct error *err)
{
	struct resolution *r = ctx;

	return filter_add_uid(r->filter, word, err);
}

/*
 * Filters by the group, whose processes determine when recording ends. Takes ownership of the
 * folder.
 */
static int resolve_folder(const struct resolution *r, char *folder, struct error *err)
{
	_cleanup_free_ char *own = folder;
	int ret = folder ? filter_add_cgroup(r->filter, folder, err) : err->code;

	if (ret || !r->targets)
		return ret;
	r->filter->all = r->filter->is_subject = true;
	return targets_add_group(r->targets, steal(own), err);
}

static int resolve_cgroup(const struct resolution *r, const char *path, struct error *err)
{
	char *folder = r->targets ? cgroup_folder(path, err) : xstrdup(path);

	return resolve_folder(r, folder, err);
}

static int resolve_container(const struct resolution *r, const char *name, struct error *err)
{
	char *folder = container_folder(name, err);

	if (folder)
		filter_name_container(r->filter, folder, name);
	return resolve_folder(r, folder, err);
}

static int resolve(struct resolution *r, const struct filter_choice *choice, struct error *err)
{
	switch (choice->kind) {
	case FILTER_BY_PID:
		return for_each_word(choice->value, resolve_pid, r, err);
	case FILTER_BY_TID:
		return for_each_word(choice->value, resolve_tid, r, err);
	case FILTER_BY_UID:
		return for_each_word(choice->value, resolve_uid, r, err);
	case FILTER_BY_CGROUP:
		return resolve_cgroup(r, choice->value, err);
	case FILTER_BY_UNIT:
		return resolve_folder(
			r, cgroup_search("--unit", choice->value, cgroup_is_unit, err), err);
	case FILTER_BY_CONTAINER:
		return resolve_container(r, choice->value, err);
	case FILTER_BY_NAME:
		return targets_add_matches(r->targets, choice->value, err);
	case FILTER_BY_PIDFILE:
		return targets_add_pidfile(r->targets, choice->value, err);
	default:
		return 0;
	}
}

int filter_options_resolve(struct filter_options *o, struct targets *targets, struct error *err)
{
	struct resolution r = {.filter = &o->filter, .targets = targets};
	int ret = filter_check_cpus(&o->filter, err);

	vec_for_each(&o->choices, const struct filter_choice *, choice) {
		if (!ret)
			ret = resolve(&r, choice, err);
	}
	if (ret || !o->names_text)
		return ret;
	if (targets)
		return targets_add_names(targets, &o->names, o->names_text, err);
	o->filter.criteria |= FILTER_COMM;
	o->filter.process_names = o->names;
	return 0;
}

void filter_options_reset(struct filter_options *o)
{
	vec_clear(&o->filter.pids);
	vec_clear(&o->filter.tids);
	vec_clear(&o->filter.uids);
	vec_clear(&o->filter.cgroups);
	vec_clear(&o->filter.containers);
	o->filter.criteria &= FILTER_THREAD;
	o->filter.all = o->filter.is_subject = false;
}

char *filter_options_describe(const struct filter_options *o)
{
	static const char *const names[] = {
		[FILTER_BY_PID] = "pid",
		[FILTER_BY_TID] = "tid",
		[FILTER_BY_COMM] = "comm",
		[FILTER_BY_CGROUP] = "cgroup",
		[FILTER_BY_UID] = "uid",
		[FILTER_BY_CPU] = "cpu",
		[FILTER_BY_THREAD] = "thread",
		[FILTER_BY_PIDFILE] = "pidfile",
		[FILTER_BY_NAME] = "name",
		[FILTER_BY_UNIT] = "unit",
		[FILTER_BY_CONTAINER] = "container",
	};
	struct strbuf text = {0};

	strbuf_adds(&text, "all processes");
	vec_for_each(&o->choices, const struct filter_choice *, choice) {
		strbuf_addf(&text, "%s --%s %s", text.size > sizeof("all processes") ? "" : " with",
			    names[choice->kind], choice->value);
	}
	return strbuf_take(&text);
}
