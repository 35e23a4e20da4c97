/* SPDX-License-Identifier: MIT */
#include "cmd/run/sanitizing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/sanitize/search.h"

#define FINDINGS_MAX 3
#define HOST_SIZE 256

static const char *const counted[SANITIZE_CLASS_COUNT] = {
#define COUNTED_ROW(id, name, is_default, text) [SANITIZE_##id] = text,
	SANITIZE_CLASSES(COUNTED_ROW)
#undef COUNTED_ROW
};

static int make_key(const char *path, uint8_t *key, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
				      0600);

	if (fd < 0)
		return error_set(err, -errno, "make the key %s", path);
	if (getrandom(key, KEYED_HASH_KEY_SIZE, 0) != KEYED_HASH_KEY_SIZE ||
	    write(fd, key, KEYED_HASH_KEY_SIZE) != KEYED_HASH_KEY_SIZE) {
		unlink(path);
		return error_set(err, -EIO, "make the key %s", path);
	}
	return 0;
}

static int read_key(const char *path, uint8_t *key, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t size;

	if (fd < 0)
		return error_set(err, -errno, "read the key %s", path);
	size = read(fd, key, KEYED_HASH_KEY_SIZE);
	if (size < 0)
		return error_set(err, -errno, "read the key %s", path);
	if (size < KEYED_HASH_KEY_SIZE)
		return error_text(err, -EINVAL, "%s: a key has at least %d bytes", path,
				  KEYED_HASH_KEY_SIZE);
	return 0;
}

static int own_key(const char *home, uint8_t *key, struct error *err)
{
	_cleanup_free_ char *config = home ? xasprintf("%s/.config", home) : NULL;
	_cleanup_free_ char *folder = home ? xasprintf("%s/prof", config) : NULL;
	_cleanup_free_ char *path = home ? xasprintf("%s/sanitize-key", folder) : NULL;

	if (!home)
		return error_text(err, -ENOENT, "no home folder for a key: give --sanitize-key");
	if (access(path, F_OK) == 0)
		return read_key(path, key, err);
	mkdir(config, 0700);
	mkdir(folder, 0700);
	return make_key(path, key, err);
}

static int find_key(struct sanitize_options *o, const struct sanitize_settings *settings,
		    const struct identity *user, struct error *err)
{
	struct identity before = identity_assume_files(user);
	int ret = before.failure;

	if (ret)
		error_set(err, ret, "read files as user %u", user->uid);
	else
		ret = settings->key_path ? read_key(settings->key_path, o->key, err)
					 : own_key(o->home, o->key, err);
	identity_restore_files(&before);
	return ret;
}

static void say_counts(const struct sanitize_options *o, const struct sanitize_counts *counts,
		       const char *label)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++) {
		if (counts->removed[i])
			strbuf_addf(&text, "%s%" PRIu64 " %s", text.size ? ", " : "",
				    counts->removed[i], counted[i]);
	}
	if (o->names)
		strbuf_addf(&text, "%s%" PRIu64 " names hashed", text.size ? ", " : "",
			    counts->hashed);
	if (counts->unknown)
		strbuf_addf(&text, "%s%" PRIu64 " values that nobody knows", text.size ? ", " : "",
			    counts->unknown);
	command_say_as(label, "taken away: %s", text.size ? strbuf_text(&text) : "nothing");
}

static int search(const struct profile *p, const struct profile *from,
		  const struct sanitize_options *o, const char *label, struct error *err)
{
	struct sanitize_findings findings = {0};
	size_t count;

	sanitize_search(&findings, p, from, o, SIZE_MAX);
	count = findings.rows.count;
	for (size_t i = 0; i < count && i < FINDINGS_MAX - 1; i++)
		command_say_as(label, "%s is in it: %.200s", findings.rows.items[i].what,
			       findings.rows.items[i].text);
	sanitize_findings_release(&findings);
	if (!count)
		return 0;
	error_text(err, -EPERM, "not sanitized: %zu texts tell whose it is; nothing was written",
		   count);
	return 1;
}

int sanitizing_run(struct profile **p, const struct sanitize_settings *settings, const char *label,
		   struct error *err)
{
	struct sanitize_options options = settings->options;
	struct identity user = identity_of_invoker();
	const struct passwd *entry = getpwuid(user.uid);
	_cleanup_free_ char *name = entry ? xstrdup(entry->pw_name) : NULL;
	_cleanup_free_ char *home = entry ? xstrdup(entry->pw_dir) : NULL;
	char host[HOST_SIZE] = "";
	struct profile *from = *p, *into = NULL;
	struct sanitize_counts counts;
	int ret = 0;

	gethostname(host, sizeof(host) - 1);
	options.user = name;
	options.home = home;
	options.host = host;
	if (settings->is_asked && options.names)
		ret = find_key(&options, settings, &user, err);
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
