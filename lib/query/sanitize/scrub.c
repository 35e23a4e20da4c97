/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/scrub.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/query/sanitize/net_addresses.h"
#include "lib/query/sanitize/path_text.h"

static const char *const system_folders[] = {"/usr/",	 "/lib/", "/lib64/", "/lib32/",
					     "/libx32/", "/bin/", "/sbin/"};
/* Below a system folder, and yet one's own. */
static const char *const own_folders[] = {"/usr/local/", "/usr/home/", "/usr/src/"};
static const char kernel_modules[] = "/lib/modules/";

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void scrubber_release(struct scrubber *s)
{
	home_folders_release(&s->homes);
	private_words_release(&s->words);
}

static bool is_in_one_of(const char *path, size_t size, const char *const *folders, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (path_begins_with(path, size, folders[i]))
			return true;
	}
	return false;
}

bool scrub_is_public_path(const char *path, size_t size)
{
	return is_in_one_of(path, size, system_folders, COUNT_OF(system_folders)) &&
	       !is_in_one_of(path, size, own_folders, COUNT_OF(own_folders)) &&
	       !memmem(path, size, "/../", 4);
}

void scrubber_add_home(struct scrubber *s, const char *path)
{
	size_t size = path ? strlen(path) : 0;

	while (size && path[size - 1] == '/')
		size--;
	if (size > 1 && *path == '/' && !scrub_is_public_path(path, size))
		home_folders_add(&s->homes, path, size);
}

static void add_user(struct scrubber *s, const char *name, size_t size)
{
	private_words_add(&s->words, PRIVATE_USER, name, size, NULL);
}

/* Adds the parts of "INITECH/bob" and "bob@initech.com", too. */
static void add_users(struct scrubber *s, const char *names, size_t size)
{
	for (size_t at = 0, start = 0; at <= size; at++) {
		if (at < size && !strchr("/\\@+", names[at]))
			continue;
		add_user(s, names + start, at - start);
		start = at + 1;
	}
}

void scrubber_add_user(struct scrubber *s, const char *name)
{
	if (name)
		add_users(s, name, strlen(name));
}

/* Adds what people make of the words of a name: "Bob Miller", "bob.miller", "bobmiller". */
static void add_joined(struct scrubber *s, const char *words)
{
	static const char *const between[] = {" ", ".", "_", "-", ""};

	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		_cleanup_(strbuf_release) struct strbuf joined = {0};

		for (const char *at = words; *at; at++) {
			if (*at == ' ')
				strbuf_adds(&joined, between[i]);
			else
				strbuf_addch(&joined, *at);
		}
		add_user(s, strbuf_text(&joined), joined.size);
	}
}

/*
 * One word of a name tells nobody from others, and may be that of a function ("Frame", "Page"), as
 * an initial before it may ("JFrame"): first and last ones are taken away together, in either
 * order.
 */
void scrubber_add_full_name(struct scrubber *s, const char *name)
{
	const char *last = name ? strrchr(name, ' ') : NULL;
	int first = name ? (int)strcspn(name, " ") : 0;
	_cleanup_free_ char *ends = NULL, *turned = NULL;

	if (!last || !first || !last[1])
		return;
	ends = xasprintf("%.*s %s", first, name, last + 1);
	turned = xasprintf("%s %.*s", last + 1, first, name);
	add_joined(s, name);
	add_joined(s, ends);
	add_joined(s, turned);
}

/* True for domains of one network: "lan", "local", "internal". */
static bool is_common_domain(const char *domain)
{
	return !strchr(domain, '.') || strcmp(domain, "home.arpa") == 0;
}

void scrubber_add_host(struct scrubber *s, const char *name)
{
	const char *dot = name ? strchr(name, '.') : NULL;

	if (!name)
		return;
	private_words_add(&s->words, PRIVATE_HOST, name, strlen(name), NULL);
	private_words_add(&s->words, PRIVATE_HOST, name, strcspn(name, "."), NULL);
	if (dot && !is_common_domain(dot + 1))
		private_words_add(&s->words, PRIVATE_HOST, dot + 1, strlen(dot + 1), NULL);
}

static size_t version_size(const char *release, size_t size)
{
	size_t end = 0;

	while (end < size && (isdigit((unsigned char)release[end]) || release[end] == '.'))
		end++;
	return end;
}

void scrubber_add_release(struct scrubber *s, const char *release, size_t size)
{
	size_t version = version_size(release, size);
	_cleanup_free_ char *plain = xstrndup(release, version);

	if (version && version < size)
		private_words_add(&s->words, PRIVATE_HOST, release, size, plain);
}

/*
 * Returns the end of the path that begins at the slash text[at]; `at` if none does. After a word, a
 * slash begins a path only if a home folder follows.
 */
static size_t path_end(const struct scrubber *s, const char *text, size_t size, size_t at)
{
	size_t end = path_machine_end(text, size, at);

	if (text[at] != '/')
		return at;
	if (at && (isalnum((unsigned char)text[at - 1]) || strchr("_-.~/", text[at - 1])) &&
	    !home_folders_size(&s->homes, text + at, size - at))
		return at;
	while (end < size && !path_is_end(text[end]) && (text[end] != ':' || end == at))
		end++;
	return end - at > 1 ? end : at;
}

void scrubber_learn(struct scrubber *s, const char *text, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		size_t end = path_end(s, text, size, at), home;

		if (end == at)
			continue;
		for (size_t slash = at; slash < end; slash++) {
			size_t owner;

			home = text[slash] == '/'
				       ? home_folders_size(&s->homes, text + slash, end - slash)
				       : 0;
			if (!home)
				continue;
			owner = home_folders_owner_start(text + slash, home);
			add_users(s, text + slash + owner, home - owner);
			slash += home - 1;
		}
		at = end - 1;
	}
}

/* Appends a text in which all paths are as they shall be. */
static void add_words(struct scrubber *s, struct strbuf *out, const char *text, size_t size)
{
	const bool wanted[PRIVATE_KIND_COUNT] = {
		[PRIVATE_USER] = s->users,
		[PRIVATE_HOST] = s->hosts,
	};
	uint64_t counts[PRIVATE_KIND_COUNT] = {0};
	size_t done = 0;

	for (size_t at = 0; at < size; at++) {
		size_t mail = s->users ? mail_address_size(text, size, at) : 0;
		size_t address = s->hosts && !mail ? ip_address_size(text, size, at) : 0;

		if (!mail && !address)
			continue;
		private_words_replace(&s->words, wanted, out, text + done, at - done, counts);
		strbuf_adds(out, mail ? "user@host" : "host");
		counts[mail ? PRIVATE_USER : PRIVATE_HOST]++;
		done = at + mail + address;
		at = done - 1;
	}
	private_words_replace(&s->words, wanted, out, text + done, size - done, counts);
	s->changed_users += counts[PRIVATE_USER];
	s->changed_hosts += counts[PRIVATE_HOST];
}

/* Appends "b" of "a/b/", and of "C:\a\b". */
static void add_last_part(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	size_t start;

	while (size > 1 && path_is_separator(path[size - 1]))
		size--;
	start = size;
	while (start && !path_is_separator(path[start - 1]))
		start--;
	s->changed_paths += start != 0;
	add_words(s, out, path + start, size - start);
}

/* Modules lie in a folder with the name of the kernel's build. */
static void add_public_path(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	const char *folder = s->hosts ? memmem(path, size, kernel_modules, strlen(kernel_modules))
				      : NULL;
	size_t head = folder ? (size_t)(folder - path) + strlen(kernel_modules) : 0, end = head;
	size_t version = folder ? version_size(path + head, size - head) : 0;

	while (folder && end < size && path[end] != '/')
		end++;
	add_words(s, out, path, head + version);
	s->changed_hosts += head + version < end;
	add_words(s, out, path + end, size - end);
}

static void add_path(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	size_t home;

	while (size > 1 && path[0] == '/' && path[1] == '/') {
		path++;
		size--;
	}
	home = s->paths ? home_folders_last_end(&s->homes, path, size) : 0;
	if (home && !memmem(path, size, "/..", 3)) {
		s->changed_paths++;
		strbuf_addch(out, '~');
		add_words(s, out, path + home, size - home);
	} else if (!s->paths || (!home && scrub_is_public_path(path, size))) {
		add_public_path(s, out, path, size);
	} else {
		add_last_part(s, out, path, size);
	}
}

/* Appends the path after a machine's name, or a mark in its place. */
static void add_address(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	s->changed_hosts++;
	if (size)
		add_path(s, out, path, size);
	else
		strbuf_adds(out, "host");
}

/* "-I/home/bob/x.h" is no relative path. */
static size_t relative_end(const struct scrubber *s, const char *text, size_t size, size_t at)
{
	size_t end = s->paths ? path_relative_end(text, size, at) : at, slash = at;

	while (slash < end && !path_is_separator(text[slash]))
		slash++;
	return slash < end && home_folders_size(&s->homes, text + slash, end - slash) ? at : end;
}

void scrub_text(struct scrubber *s, struct strbuf *out, const char *text, size_t size)
{
	size_t done = 0;

	for (size_t at = 0; at < size; at++) {
		size_t end = path_end(s, text, size, at), path;
		size_t relative = end == at ? relative_end(s, text, size, at) : at;

		if (end == at && relative == at)
			continue;
		add_words(s, out, text + done, at - done);
		path = s->hosts ? path_machine_end(text, size, at) : at;
		if (relative > at)
			add_last_part(s, out, text + at, relative - at);
		else if (path > at)
			add_address(s, out, text + path, end - path);
		else
			add_path(s, out, text + at, end - at);
		done = end > relative ? end : relative;
		at = done - 1;
	}
	add_words(s, out, text + done, size - done);
}

void scrub_path(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	if (size && *path == '[')
		scrub_text(s, out, path, size);
	else if (size && (*path == '/' || !s->paths))
		add_path(s, out, path, size);
	else
		add_last_part(s, out, path, size);
}
