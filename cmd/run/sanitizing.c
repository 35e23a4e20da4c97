/* SPDX-License-Identifier: MIT */
#include "cmd/run/profile_file.h"

#include <pwd.h>
#include <sys/random.h>

#include "cmd/command.h"
#include "lib/base/identity.h"
#include "lib/query/sanitize/sanitize.h"

#define FINDINGS_MAX 3
#define HOST_SIZE 256
/* First uid of human users in most distributions. */
#define PEOPLE_FIRST 1000
#define PEOPLE_LAST 59999

static const struct {
	const char *one, *many;
} counted[SANITIZE_CLASS_COUNT] = {
#define COUNTED_ROW(id, name, is_default, one, many) [SANITIZE_##id] = {one, many},
	SANITIZE_CLASSES(COUNTED_ROW)
#undef COUNTED_ROW
};

/* The invoking user comes first. */
struct known_users {
	VEC(struct sanitize_user) rows;
};

static void known_users_release_cleanup(struct known_users *k)
{
	vec_for_each(&k->rows, const struct sanitize_user *, row) {
		free((char *)row->name);
		free((char *)row->home);
		free((char *)row->full_name);
	}
	vec_release(&k->rows);
}

static void add_user(struct known_users *k, const char *name, const char *home)
{
	const struct sanitize_user row = {
		.name = name ? xstrdup(name) : NULL,
		.home = home ? xstrdup(home) : NULL,
	};

	vec_push(&k->rows, row);
}

/* Adds an account. The full name is the first comma-separated field. */
static void add_account(struct known_users *k, const struct passwd *entry)
{
	const char *texts = entry->pw_gecos ? entry->pw_gecos : "";

	add_user(k, entry->pw_name, entry->pw_dir);
	vec_last(&k->rows).full_name = xstrndup(texts, strcspn(texts, ","));
}

/* Adds all human users: a recording of the whole machine may contain their files. */
static void add_people(struct known_users *k)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *entry;

	while (file && (entry = fgetpwent(file))) {
		if (entry->pw_uid >= PEOPLE_FIRST && entry->pw_uid <= PEOPLE_LAST)
			add_account(k, entry);
	}
	if (file)
		fclose(file);
}

static struct known_users find_users(uid_t uid)
{
	static const char *const variables[] = {"USER", "LOGNAME", "SUDO_USER"};
	const struct passwd *entry = getpwuid(uid);
	struct known_users known = {0};

	if (entry)
		add_account(&known, entry);
	else
		add_user(&known, NULL, NULL);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		add_user(&known, getenv(variables[i]), NULL);
	add_people(&known);
	return known;
}

static int make_key(const char *path, uint8_t *key, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				      0600);

	if (fd < 0)
		return error_set(err, -errno, "cannot create the key %s", path);
	if (getrandom(key, KEYED_HASH_KEY_SIZE, 0) != KEYED_HASH_KEY_SIZE ||
	    write(fd, key, KEYED_HASH_KEY_SIZE) != KEYED_HASH_KEY_SIZE) {
		unlink(path);
		return error_set(err, -EIO, "cannot create the key %s", path);
	}
	return 0;
}

static int read_key(const char *path, uint8_t *key, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t size;

	if (fd < 0)
		return error_set(err, -errno, "cannot read the key %s", path);
	size = read(fd, key, KEYED_HASH_KEY_SIZE);
	if (size < 0)
		return error_set(err, -errno, "cannot read the key %s", path);
	if (size < KEYED_HASH_KEY_SIZE)
		return error_text(err, -EINVAL, "%s: a key needs at least %d bytes", path,
				  KEYED_HASH_KEY_SIZE);
	return 0;
}

static int own_key(const char *home, uint8_t *key, struct error *err)
{
	_cleanup_free_ char *config = home ? xasprintf("%s/.config", home) : NULL;
	_cleanup_free_ char *folder = home ? xasprintf("%s/prof", config) : NULL;
	_cleanup_free_ char *path = home ? xasprintf("%s/sanitize-key", folder) : NULL;

	if (!home)
		return error_text(err, -ENOENT,
				  "cannot store a key without a home folder: use --sanitize-key");
	if (access(path, F_OK) == 0)
		return read_key(path, key, err);
	mkdir(config, 0700);
	mkdir(folder, 0700);
	return make_key(path, key, err);
}

static int find_key(struct sanitize_options *o, const struct sanitize_settings *settings,
		    const struct identity *user, const char *home, struct error *err)
{
	struct identity before = identity_assume_files(user);
	int ret = before.failure;

	if (ret)
		error_set(err, ret, "cannot read files as user %u", user->uid);
	else
		ret = settings->key_path ? read_key(settings->key_path, o->key, err)
					 : own_key(home, o->key, err);
	identity_restore_files(&before);
	return ret;
}

/* Appends a count such as "3 paths", preceded by a comma unless it is the first. */
static void add_count(struct strbuf *text, uint64_t count, const char *one, const char *many)
{
	strbuf_addf(text, "%s%" PRIu64 " %s", text->size ? ", " : "", count,
		    text_counted(count, one, many));
}

static void say_counts(const struct sanitize_options *o, const struct sanitize_counts *counts,
		       const char *label)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++) {
		if (counts->removed[i])
			add_count(&text, counts->removed[i], counted[i].one, counted[i].many);
	}
	if (o->names)
		add_count(&text, counts->hashed, "name hashed", "names hashed");
	if (counts->unknown)
		add_count(&text, counts->unknown, "unknown value", "unknown values");
	command_say_as(label, "removed: %s", text.size ? strbuf_text(&text) : "nothing");
}

static int search(const struct profile *p, const struct profile *from,
		  const struct sanitize_options *o, const char *label, struct error *err)
{
	struct sanitize_findings findings = {0};
	size_t count;

	sanitize_search(&findings, p, from, o, SIZE_MAX);
	count = findings.rows.count;
	for (size_t i = 0; i < count && i < FINDINGS_MAX - 1; i++)
		command_say_as(label, "found %s: %.200s", findings.rows.items[i].what,
			       findings.rows.items[i].text);
	sanitize_findings_release(&findings);
	if (!count)
		return 0;
	error_text(err, -EPERM, "not sanitized: %zu %s the owner; nothing was written", count,
		   text_counted(count, "string identifies", "strings identify"));
	return 1;
}

int sanitizing_run(struct profile **p, const struct sanitize_settings *settings, const char *label,
		   struct error *err)
{
	struct sanitize_options options = settings->options;
	struct identity user = identity_of_invoker();
	_cleanup_(known_users_release) struct known_users known = find_users(user.uid);
	char host[HOST_SIZE] = "";
	struct profile *from = *p, *into = NULL;
	struct sanitize_counts counts;
	int ret = 0;

	gethostname(host, sizeof(host) - 1);
	options.users = known.rows.items;
	options.user_count = known.rows.count;
	options.host = host;
	if (settings->is_asked && options.names)
		ret = find_key(&options, settings, &user, known.rows.items[0].home, err);
	if (!ret && settings->is_asked)
		ret = sanitize(&into, from, &options, &counts, err);
	if (ret)
		return ret;
	if (into)
		say_counts(&options, &counts, label);
	if (settings->checks)
		ret = search(into ? into : from, from, &options, label, err);
	if (into) {
		profile_free(from);
		*p = into;
	}
	return ret;
}
