/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/private_words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

#define WORD_MIN 2
/* Shorter names are parts of too many words: "tom" of "custom", "eric" of "numeric". */
#define ANYWHERE_MIN 5
/* Replaced text may form a name with its neighbours. */
#define PASSES_MAX 16

/* Accounts, machines and folders of many systems. */
static const char *const common[] = {
	"admin",     "administrator", "alpine",	   "apache", "app",	  "apps",      "arch",
	"azureuser", "backup",	      "bin",	   "build",  "buildbot",  "builder",   "centos",
	"ci",	     "cloud-user",    "code",	   "common", "core",	  "daemon",    "data",
	"debian",    "default",	      "deploy",	   "dev",    "devel",	  "developer", "docker",
	"ec2-user",  "fedora",	      "ftp",	   "games",  "git",	  "go",	       "guest",
	"home",	     "host",	      "http",	   "java",   "jenkins",	  "kali",      "kernel",
	"lib",	     "linux",	      "linuxbrew", "local",  "localhost", "mail",      "main",
	"make",	     "man",	      "me",	   "mysql",  "nginx",	  "node",      "nobody",
	"opc",	     "ops",	      "opt",	   "pi",     "postgres",  "project",   "projects",
	"public",    "python",	      "redis",	   "rocky",  "root",	  "runner",    "rust",
	"service",   "services",      "share",	   "shared", "source",	  "src",       "staff",
	"students",  "svn",	      "sync",	   "system", "test",	  "tester",    "tests",
	"tmp",	     "tools",	      "ubuntu",	   "user",   "users",	  "vagrant",   "work",
	"workspace", "www",	      "www-data",
};

enum letter_class { CLASS_OTHER, CLASS_DIGIT, CLASS_LETTER };

void private_words_release(struct private_words *w)
{
	vec_for_each(&w->rows, struct private_word *, word) {
		free(word->text);
		free(word->becomes);
	}
	vec_release(&w->rows);
}

static bool is_common(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		if (strlen(common[i]) == size && strncasecmp(common[i], text, size) == 0)
			return true;
	}
	return false;
}

static bool has_letter(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (isalnum((unsigned char)text[i]) || (text[i] & 0x80))
			return true;
	}
	return false;
}

void private_words_add(struct private_words *w, enum private_kind kind, const char *text,
		       size_t size, const char *becomes)
{
	static const char *const usual[] = {[PRIVATE_USER] = "user", [PRIVATE_HOST] = "host"};
	struct private_word row = {.size = size, .kind = kind};

	if (size < WORD_MIN || is_common(text, size) || !has_letter(text, size))
		return;
	vec_for_each(&w->rows, const struct private_word *, word) {
		if (word->size == size && strncasecmp(word->text, text, size) == 0)
			return;
	}
	row.text = xstrndup(text, size);
	for (size_t i = 0; i < size; i++)
		row.text[i] = (char)tolower((unsigned char)row.text[i]);
	row.becomes = xstrdup(becomes ? becomes : usual[kind]);
	w->begins[kind][(unsigned char)row.text[0]] = true;
	vec_push(&w->rows, row);
}

static enum letter_class class_of(char c)
{
	if (isdigit((unsigned char)c))
		return CLASS_DIGIT;
	return isalpha((unsigned char)c) || (c & 0x80) ? CLASS_LETTER : CLASS_OTHER;
}

/* True if a part of a word may end between these bytes: "a_b", "a1", "aB". */
static bool is_seam(char before, char after)
{
	if (class_of(before) != class_of(after) || class_of(before) == CLASS_OTHER)
		return true;
	return islower((unsigned char)before) && isupper((unsigned char)after);
}

static bool is_after_lib(const char *text, size_t at)
{
	return at >= 3 && strncasecmp(text + at - 3, "lib", 3) == 0 &&
	       (at == 3 || is_seam(text[at - 4], text[at - 3]));
}

static bool stands_at(const struct private_word *word, const char *text, size_t size, size_t at)
{
	size_t end = at + word->size;

	if (word->size > size - at || strncasecmp(text + at, word->text, word->size) != 0)
		return false;
	if (word->size >= ANYWHERE_MIN)
		return true;
	return (!at || is_seam(text[at - 1], text[at]) || is_after_lib(text, at)) &&
	       (end == size || is_seam(text[end - 1], text[end]));
}

/* The longest one. */
static const struct private_word *find(const struct private_words *w, const bool *wanted,
				       const char *text, size_t size, size_t at)
{
	unsigned char first = (unsigned char)tolower((unsigned char)text[at]);
	const struct private_word *best = NULL;

	if (!(wanted[PRIVATE_USER] && w->begins[PRIVATE_USER][first]) &&
	    !(wanted[PRIVATE_HOST] && w->begins[PRIVATE_HOST][first]))
		return NULL;
	vec_for_each(&w->rows, const struct private_word *, word) {
		if (wanted[word->kind] && stands_at(word, text, size, at) &&
		    (!best || word->size > best->size))
			best = word;
	}
	return best;
}

static uint64_t replace_once(const struct private_words *w, const bool *wanted, struct strbuf *out,
			     const char *text, size_t size, uint64_t *counts)
{
	uint64_t replaced = 0;

	for (size_t at = 0; at < size; at++) {
		const struct private_word *word = find(w, wanted, text, size, at);

		if (!word) {
			strbuf_addch(out, text[at]);
			continue;
		}
		strbuf_adds(out, word->becomes);
		counts[word->kind]++;
		replaced++;
		at += word->size - 1;
	}
	return replaced;
}

void private_words_replace(const struct private_words *w, const bool wanted[PRIVATE_KIND_COUNT],
			   struct strbuf *out, const char *text, size_t size,
			   uint64_t counts[PRIVATE_KIND_COUNT])
{
	_cleanup_(strbuf_release) struct strbuf result = {0}, next = {0};
	uint64_t replaced = w->rows.count;

	strbuf_add(&result, text, size);
	for (unsigned int pass = 0; replaced && pass < PASSES_MAX; pass++) {
		struct strbuf before = result;

		strbuf_reset(&next);
		replaced = replace_once(w, wanted, &next, strbuf_text(&before), before.size,
					counts);
		result = next;
		next = before;
	}
	strbuf_add(out, strbuf_text(&result), result.size);
}
