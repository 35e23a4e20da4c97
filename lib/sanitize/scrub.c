/* SPDX-License-Identifier: MIT */
#include "lib/sanitize/scrub.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

#define WORD_MIN 2

/* "/home/alice/x.c": folders whose next part is a user's name. */
static const char *const home_folders[] = {"/home/", "/Users/", "/var/home/", "/export/home/",
					   "/usr/home/"};
static const char *const system_folders[] = {"/usr/",	"/lib/",       "/lib64/",
					     "/lib32/", "/libx32/",    "/bin/",
					     "/sbin/",	"/nix/store/", "/gnu/store/"};
/* Below a system folder, and yet one's own. */
static const char *const own_folders[] = {"/usr/local/", "/usr/home/", "/usr/src/"};
static const char *const common_users[] = {"root", "user", "host", "localhost", "home"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void scrubber_release(struct scrubber *s)
{
	vec_for_each(&s->homes, char **, home)
		free(*home);
	vec_release(&s->homes);
	vec_for_each(&s->words, struct scrub_word *, word)
		free(word->text);
	vec_release(&s->words);
}

static bool begins_with(const char *text, size_t size, const char *prefix)
{
	size_t length = strlen(prefix);

	return size >= length && memcmp(text, prefix, length) == 0;
}

static bool is_in_one_of(const char *path, size_t size, const char *const *folders, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (begins_with(path, size, folders[i]))
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

static void add_word(struct scrubber *s, const char *text, size_t size, const char *becomes)
{
	if (size < WORD_MIN)
		return;
	for (size_t i = 0; i < COUNT_OF(common_users); i++) {
		if (strlen(common_users[i]) == size &&
		    strncasecmp(common_users[i], text, size) == 0)
			return;
	}
	vec_for_each(&s->words, const struct scrub_word *, word) {
		if (word->size == size && memcmp(word->text, text, size) == 0)
			return;
	}
	vec_push(&s->words, (struct scrub_word){xstrndup(text, size), size, becomes});
}

void scrubber_add_home(struct scrubber *s, const char *path)
{
	size_t size = path ? strlen(path) : 0;

	while (size && path[size - 1] == '/')
		size--;
	if (size > 1 && *path == '/' && !scrub_is_public_path(path, size))
		vec_push(&s->homes, xstrndup(path, size));
}

void scrubber_add_user(struct scrubber *s, const char *name)
{
	if (name)
		add_word(s, name, strlen(name), "user");
}

void scrubber_add_host(struct scrubber *s, const char *name)
{
	if (!name)
		return;
	add_word(s, name, strlen(name), "host");
	add_word(s, name, strcspn(name, "."), "host");
}

/* Bytes that end a path in a text. */
static bool ends_path(char c)
{
	return (unsigned char)c <= ' ' || strchr("\"'`<>|;,()[]{}=*?&", c);
}

/* True if a folder's name ends there. */
static bool is_name_end(const char *path, size_t size, size_t at)
{
	return at == size || path[at] == '/' || path[at] == ':' || ends_path(path[at]);
}

/* Returns the size of the home folder in which an absolute path lies, 0: it lies in none. */
static size_t home_size(const struct scrubber *s, const char *path, size_t size)
{
	vec_for_each(&s->homes, char *const *, home) {
		size_t length = strlen(*home);

		if (begins_with(path, size, *home) && is_name_end(path, size, length))
			return length;
	}
	if (begins_with(path, size, "/root") && is_name_end(path, size, 5))
		return 5;
	for (size_t i = 0; i < COUNT_OF(home_folders); i++) {
		size_t at = strlen(home_folders[i]);

		if (!begins_with(path, size, home_folders[i]) || size == at || path[at] == '/')
			continue;
		while (at < size && path[at] != '/')
			at++;
		return at;
	}
	return 0;
}

/* Returns the end of the last home folder in a path, 0: there is none. */
static size_t last_home_end(const struct scrubber *s, const char *path, size_t size)
{
	size_t end = 0;

	for (size_t at = 0; at < size; at++) {
		size_t home = path[at] == '/' ? home_size(s, path + at, size - at) : 0;

		if (home)
			end = at + home;
	}
	return end;
}

/*
 * Returns the end of "//user:password@machine:80" behind a colon, as in the address of a page; `at`
 * if there is no such thing.
 */
static size_t machine_end(const char *text, size_t size, size_t at)
{
	size_t end = at + 2;

	if (!at || text[at - 1] != ':' || !begins_with(text + at, size - at, "//"))
		return at;
	while (end < size && text[end] != '/' && !ends_path(text[end]))
		end++;
	return end > at + 2 ? end : at;
}

/*
 * Returns the end of the path that begins at the slash text[at]; `at` if none does. Behind a word a
 * slash begins none, unless a home folder follows.
 */
static size_t path_end(const struct scrubber *s, const char *text, size_t size, size_t at)
{
	size_t end = machine_end(text, size, at);

	if (text[at] != '/')
		return at;
	if (at && (isalnum((unsigned char)text[at - 1]) || strchr("_-.~/", text[at - 1])) &&
	    !home_size(s, text + at, size - at))
		return at;
	while (end < size && !ends_path(text[end]) && (text[end] != ':' || end == at))
		end++;
	return end - at > 1 ? end : at;
}

void scrubber_learn(struct scrubber *s, const char *text, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		size_t end = path_end(s, text, size, at), home;

		if (end == at)
			continue;
		while (at + 1 < end && text[at + 1] == '/')
			at++;
		home = home_size(s, text + at, end - at);
		for (size_t name = home; home && name; name--) {
			if (text[at + name - 1] == '/') {
				add_word(s, text + at + name, home - name, "user");
				break;
			}
		}
		at = end - 1;
	}
}

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

static const struct scrub_word *find_word(const struct scrubber *s, const char *text, size_t size)
{
	const struct scrub_word *best = NULL;

	vec_for_each(&s->words, const struct scrub_word *, word) {
		bool is_wanted = *word->becomes == 'u' ? s->users : s->hosts;

		if (is_wanted && begins_with(text, size, word->text) &&
		    (size == word->size || !is_word_byte(text[word->size])) &&
		    (!best || word->size > best->size))
			best = word;
	}
	return best;
}

/* Appends a text in which all paths are as they shall be. */
static void add_words(struct scrubber *s, struct strbuf *out, const char *text, size_t size)
{
	for (size_t at = 0; at < size; at++) {
		const struct scrub_word *word = NULL;

		if (s->words.count && (!at || !is_word_byte(text[at - 1])))
			word = find_word(s, text + at, size - at);
		if (!word) {
			strbuf_addch(out, text[at]);
			continue;
		}
		strbuf_adds(out, word->becomes);
		*(*word->becomes == 'u' ? &s->changed_users : &s->changed_hosts) += 1;
		at += word->size - 1;
	}
}

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

/* Appends "b" of "a/b/", and of "C:\a\b". */
static void add_last_part(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	size_t start;

	while (size > 1 && is_separator(path[size - 1]))
		size--;
	start = size;
	while (start && !is_separator(path[start - 1]))
		start--;
	s->changed_paths += start != 0;
	add_words(s, out, path + start, size - start);
}

static void add_path(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	size_t home;

	while (size > 1 && path[0] == '/' && path[1] == '/') {
		path++;
		size--;
	}
	home = s->paths ? last_home_end(s, path, size) : 0;
	if (home && !memmem(path, size, "/..", 3)) {
		s->changed_paths++;
		strbuf_addch(out, '~');
		add_words(s, out, path + home, size - home);
	} else if (!s->paths || (!home && scrub_is_public_path(path, size))) {
		add_words(s, out, path, size);
	} else {
		add_last_part(s, out, path, size);
	}
}

/* Appends the path behind a machine's name, or that there was one. */
static void add_address(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	s->changed_hosts++;
	if (size)
		add_path(s, out, path, size);
	else
		strbuf_adds(out, "host");
}

void scrub_text(struct scrubber *s, struct strbuf *out, const char *text, size_t size)
{
	size_t done = 0;

	for (size_t at = 0; at < size; at++) {
		size_t end = path_end(s, text, size, at), path;

		if (end == at)
			continue;
		add_words(s, out, text + done, at - done);
		path = s->hosts ? machine_end(text, size, at) : at;
		if (path > at)
			add_address(s, out, text + path, end - path);
		else
			add_path(s, out, text + at, end - at);
		done = end;
		at = end - 1;
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
