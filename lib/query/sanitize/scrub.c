/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/sanitize_internal.h"

#include <strings.h>

/* Folders whose entries are named after users. */
static const char *const parents[] = {"/home/", "/Users/", "/var/home/", "/export/home/",
				      "/usr/home/"};
/* Their subfolders may contain the homes of a group of users, or of a domain. */
static const char *const groups[] = {"users", "staff",	"students", "people",
				     "nfs",   "domain", "domains"};
/* Folders with a subfolder for each domain. */
static const char *const joined_accounts[] = {"local", "likewise-open", "pbis"};
/* Suffixes of domains that cannot be users' names. */
static const char *const home_folders_suffixes[] = {
	".com", ".org",	     ".net",   ".edu",	".gov", ".local", ".lan",  ".corp",   ".priv",
	".int", ".internal", ".intra", ".home", ".ad",	".test",  ".arpa", ".example"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void home_folders_release(struct home_folders *h)
{
	vec_for_each(&h->rows, char **, home)
		free(*home);
	vec_release(&h->rows);
	vec_for_each(&h->groups, char **, group)
		free(*group);
	vec_release(&h->groups);
}

static bool is_one_of(const char *text, size_t size, const char *const *list, size_t count)
{
	return items_find(list, count, it, strlen(*it) == size && memcmp(*it, text, size) == 0);
}

static bool is_domain(const char *name, size_t size)
{
	size_t upper = 0;

	if (memchr(name, '@', size))
		return false;
	for (size_t i = 0; i < COUNT_OF(home_folders_suffixes); i++) {
		size_t length = strlen(home_folders_suffixes[i]);

		if (size > length &&
		    strncasecmp(name + size - length, home_folders_suffixes[i], length) == 0)
			return true;
	}
	/* Upper case occurs on Windows; useradd rejects it. */
	for (size_t i = 0; i < size; i++) {
		if (islower((unsigned char)name[i]))
			return false;
		upper += isupper((unsigned char)name[i]) != 0;
	}
	return upper > 1;
}

static bool is_group(const struct home_folders *h, const char *name, size_t size)
{
	return vec_find(&h->groups, group,
			strlen(*group) == size && memcmp(*group, name, size) == 0) ||
	       is_one_of(name, size, groups, COUNT_OF(groups)) || is_domain(name, size);
}

static size_t part_end(const char *path, size_t size, size_t at)
{
	while (at < size && path[at] != '/')
		at++;
	return at;
}

/* Returns the end of the next part; `at` if there is none. */
static size_t next_part(const char *path, size_t size, size_t at)
{
	size_t start = at;

	while (start < size && path[start] == '/')
		start++;
	return start < size ? part_end(path, size, start) : at;
}

static size_t usual_size(const struct home_folders *h, const char *path, size_t size, size_t start)
{
	size_t end = part_end(path, size, start), group = start;

	if (end == start)
		return 0;
	if (is_one_of(path + start, end - start, joined_accounts, COUNT_OF(joined_accounts))) {
		size_t domain = next_part(path, size, end);

		/* A user may have such a name, but a domain contains the folders of users. */
		if (domain == size || domain == end)
			return end;
		return next_part(path, size, domain);
	}
	if (is_group(h, path + group, end - group))
		end = next_part(path, size, end);
	return end;
}

static bool path_begins_with(const char *path, size_t size, const char *prefix);
static bool path_is_name_end(const char *path, size_t size, size_t at);

/* Returns the size of the home folder that contains an absolute path; 0 if none does. */
static size_t home_folders_size(const struct home_folders *h, const char *path, size_t size)
{
	vec_for_each(&h->rows, char *const *, home) {
		size_t length = strlen(*home);

		if (path_begins_with(path, size, *home) && path_is_name_end(path, size, length))
			return length;
	}
	if (path_begins_with(path, size, "/root") && path_is_name_end(path, size, 5))
		return 5;
	for (size_t i = 0; i < COUNT_OF(parents); i++) {
		if (path_begins_with(path, size, parents[i]))
			return usual_size(h, path, size, strlen(parents[i]));
	}
	return 0;
}

/* Returns the end of the last home folder in a path; 0 if there is none. */
static size_t home_folders_last_end(const struct home_folders *h, const char *path, size_t size)
{
	size_t end = 0;

	for (size_t at = 0; at < size; at++) {
		size_t home = path[at] == '/' ? home_folders_size(h, path + at, size - at) : 0;

		if (home)
			end = at + home;
	}
	return end;
}

static size_t parent_size(const char *path, size_t size)
{
	for (size_t i = 0; i < COUNT_OF(parents); i++) {
		if (path_begins_with(path, size, parents[i]))
			return strlen(parents[i]);
	}
	return 0;
}

/* Adds the users in a path. "/home/INITECH/bob" also shows that INITECH is not a user. */
static void home_folders_add(struct home_folders *h, const char *path, size_t size)
{
	size_t group = parent_size(path, size), end;

	vec_push(&h->rows, xstrndup(path, size));
	if (!group)
		return;
	end = part_end(path, size, group);
	if (end < size && end > group)
		vec_push(&h->groups, xstrndup(path + group, end - group));
}

/* Returns the offset in a home folder's path, of that size, at which the owner's parts begin. */
static size_t home_folders_owner_start(const char *path, size_t size)
{
	size_t start = parent_size(path, size);

	if (start)
		return start;
	for (start = size; start && path[start - 1] != '/';)
		start--;
	return start;
}

#define WORD_MIN 2
/* Shorter names are parts of too many words: "tom" in "custom", "eric" in "numeric". */
#define ANYWHERE_MIN 5
/* A replacement may form a name with the surrounding text. */
#define PASSES_MAX 16

/* Accounts, machines and folders common to many systems. */
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

static void private_words_release(struct private_words *w)
{
	vec_for_each(&w->rows, struct private_word *, word) {
		free(word->text);
		free(word->becomes);
	}
	vec_release(&w->rows);
}

static bool has_letter(const char *text, size_t size)
{
	return items_find(text, size, it, isalnum((unsigned char)*it) || (*it & 0x80));
}

/*
 * Adds a name. `becomes` NULL: "user" or "host". Ignores common names ("root", "ubuntu") and single
 * letters.
 */
static void private_words_add(struct private_words *w, enum private_kind kind, const char *text,
			      size_t size, const char *becomes)
{
	static const char *const usual[] = {[PRIVATE_USER] = "user", [PRIVATE_HOST] = "host"};
	struct private_word row = {.size = size, .kind = kind};

	if (size < WORD_MIN ||
	    array_find(common, it, strlen(*it) == size && strncasecmp(*it, text, size) == 0) ||
	    !has_letter(text, size))
		return;
	if (vec_find(&w->rows, word,
		     word->size == size && strncasecmp(word->text, text, size) == 0))
		return;
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

/* Finds the longest matching word. */
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

/*
 * Appends the text with names of the selected kinds replaced, and counts them. Ignores case. Long
 * names match anywhere, short ones only at the boundaries of words and their parts, as in
 * "bob_main", "startBob" and "libbob".
 */
static void private_words_replace(const struct private_words *w,
				  const bool wanted[PRIVATE_KIND_COUNT], struct strbuf *out,
				  const char *text, size_t size,
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

/* Addresses of people and machines within text. */

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("._-+", c));
}

/* Returns the size of "example.org", which must end in letters after a dot. */
static size_t domain_size(const char *text, size_t size)
{
	size_t end = 0, dot;

	while (end < size &&
	       (isalnum((unsigned char)text[end]) || text[end] == '-' || (text[end] == '.' && end)))
		end++;
	while (end && text[end - 1] == '.')
		end--;
	for (dot = end; dot && text[dot - 1] != '.'; dot--)
		;
	if (dot < 2 || end - dot < 2)
		return 0;
	for (size_t i = dot; i < end; i++) {
		if (!isalpha((unsigned char)text[i]))
			return 0;
	}
	return end;
}

/* Returns the size of "alice@example.org" at text[at]; 0 if there is none. */
static size_t mail_address_size(const char *text, size_t size, size_t at)
{
	size_t end = at, domain;

	if (at && is_name_byte(text[at - 1]))
		return 0;
	while (end < size && is_name_byte(text[end]))
		end++;
	if (end == at || end == size || text[end] != '@')
		return 0;
	domain = domain_size(text + end + 1, size - end - 1);
	return domain ? end + 1 + domain - at : 0;
}

static size_t ipv4_size(const char *text, size_t size, size_t at)
{
	size_t end = at;
	unsigned int first = 0;

	for (int part = 0; part < 4; part++) {
		unsigned int value = 0;
		size_t start;

		if (part && (end == size || text[end++] != '.'))
			return 0;
		for (start = end;
		     end < size && end - start < 3 && isdigit((unsigned char)text[end]); end++)
			value = value * 10 + (unsigned int)(text[end] - '0');
		if (end == start || value > 255)
			return 0;
		first = part ? first : value;
	}
	if (end < size && is_name_byte(text[end]) && text[end] != '.')
		return 0;
	return !first || first == 127 ? 0 : end - at;
}

struct ipv6 {
	size_t end;
	unsigned int groups;
	bool has_gap; /* "::" occurred */
	bool has_colon; /* a colon between two groups occurred */
	bool has_number; /* a group that begins with a digit occurred */
};

/* Parses consecutive groups of hexadecimal digits. */
static void take_groups(struct ipv6 *a, const char *text, size_t size)
{
	for (bool goes_on = true; goes_on;) {
		size_t start = a->end;

		while (a->end < size && isxdigit((unsigned char)text[a->end]))
			a->end++;
		if (a->end == start)
			return;
		a->groups += a->end - start > 4 ? 9 : 1;
		a->has_number |= isdigit((unsigned char)text[start]) != 0;
		goes_on = a->end + 1 < size && text[a->end] == ':';
		if (goes_on && !a->has_gap && text[a->end + 1] == ':') {
			a->has_gap = true;
			a->end += 2;
		} else if (goes_on && isxdigit((unsigned char)text[a->end + 1])) {
			a->has_colon = true;
			a->end++;
		} else {
			goes_on = false;
		}
	}
}

/* True for the first group of addresses that are valid only within a network. */
static bool is_local_group(const char *text)
{
	return strncasecmp(text, "fe80::", 6) == 0 ||
	       (tolower((unsigned char)text[0]) == 'f' && strchr("cdCD", text[1]) &&
		(isdigit((unsigned char)text[2]) || isdigit((unsigned char)text[3])));
}

/* Names of code such as "a::b" look similar, but none of their parts begins with a digit. */
static size_t ipv6_size(const char *text, size_t size, size_t at)
{
	struct ipv6 a = {.end = at};
	size_t left;

	if (size - at < 3 || (at && text[at - 1] == ':'))
		return 0;
	if (text[at] == ':' && text[at + 1] == ':') {
		a.has_gap = true;
		a.end += 2;
	}
	take_groups(&a, text, size);
	left = size - a.end;
	if (!a.groups || a.groups > 8 || a.has_gap == (a.groups == 8) ||
	    (left && is_name_byte(text[a.end]) && text[a.end] != '.') ||
	    (left > 1 && text[a.end] == '.' && isalnum((unsigned char)text[a.end + 1])) ||
	    (left > 1 && text[a.end] == ':' && text[a.end + 1] == ':') ||
	    (a.end - at == 3 && memcmp(text + at, "::1", 3) == 0))
		return 0;
	return a.has_number || a.has_colon || (size - at > 6 && is_local_group(text + at))
		       ? a.end - at
		       : 0;
}

/*
 * Returns the size of "10.1.2.3" or "fe80::1" at text[at]. 0 if there is none, for addresses common
 * to all machines, and for version numbers ("libx.so.1.2.3.4").
 */
static size_t ip_address_size(const char *text, size_t size, size_t at)
{
	if (at && (is_name_byte(text[at - 1]) || (text[at - 1] & 0x80)))
		return 0;
	return ipv4_size(text, size, at) ?: ipv6_size(text, size, at);
}

/* Finds paths within text. */

/* Suffixes of source files and of files built from them. */
static const char *const path_text_suffixes[] = {
	"S",   "a",   "asm",   "bin",  "c",    "cc",   "cfg",	 "class", "conf", "cpp",  "css",
	"csv", "cxx", "db",    "dll",  "exe",  "go",   "h",	 "hh",	  "hpp",  "html", "hxx",
	"inc", "ini", "jar",   "java", "js",   "json", "jsx",	 "ko",	  "kt",	  "log",  "lua",
	"md",  "mjs", "mm",    "o",    "php",  "pl",   "pm",	 "py",	  "pyc",  "pyx",  "rb",
	"rs",  "s",   "scala", "sh",   "so",   "sql",  "sqlite", "swift", "tmp",  "toml", "ts",
	"tsx", "txt", "wasm",  "xml",  "yaml", "yml",  "zig",
};

static bool path_begins_with(const char *path, size_t size, const char *prefix)
{
	size_t length = strlen(prefix);

	return size >= length && memcmp(path, prefix, length) == 0;
}

/* True for bytes that end a path within text. */
static bool path_is_end(char c)
{
	return (unsigned char)c <= ' ' || strchr("\"'`<>|;,()[]{}=*?&", c);
}

/* True if a folder's name ends there. */
static bool path_is_name_end(const char *path, size_t size, size_t at)
{
	return at == size || path[at] == '/' || path[at] == ':' || path_is_end(path[at]);
}

/* '/' or '\\' */
static bool path_is_separator(char c)
{
	return c == '/' || c == '\\';
}

/*
 * Returns the end of "//user:password@machine:80" after a colon, as in a URL; `at` if there is
 * none.
 */
static size_t path_machine_end(const char *text, size_t size, size_t at)
{
	size_t end = at + 2;

	if (!at || text[at - 1] != ':' || !path_begins_with(text + at, size - at, "//"))
		return at;
	while (end < size && text[end] != '/' && !path_is_end(text[end]))
		end++;
	return end > at + 2 ? end : at;
}

static bool has_known_suffix(const char *name, size_t size)
{
	size_t dot = size;

	while (dot && name[dot - 1] != '.')
		dot--;
	/* A file may consist of only a suffix: ".js" */
	if (!dot)
		return false;
	return array_find(path_text_suffixes, it,
			  strlen(*it) == size - dot && memcmp(*it, name + dot, size - dot) == 0);
}

/* True if a token with separators looks like a path. */
static bool looks_like_path(const char *token, size_t size)
{
	static const char *const begins[] = {"./", "../", "home/", "Users/"};
	size_t part = 0;

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		if (path_begins_with(token, size, begins[i]))
			return true;
	}
	if (token[0] == '\\' && size > 2)
		return true;
	for (size_t i = 0; i < size; i++)
		part = path_is_separator(token[i]) ? i + 1 : part;
	return has_known_suffix(token + part, size - part);
}

/* True for "~/x.c" and "-I~/x.h", the replacements of home folders. */
static bool begins_at_home(const char *token, size_t size)
{
	size_t at = 0;

	if (token[0] == '-') {
		while (at < size && (isalnum((unsigned char)token[at]) || token[at] == '-'))
			at++;
	}
	return at + 1 < size && token[at] == '~' && token[at + 1] == '/';
}

/*
 * Returns the end of the relative path that begins at text[at]; `at` if there is none. Relative
 * paths begin with "./", "../" or "home/", lead to a file with a known suffix, or are Windows
 * paths. "github.com/x/y.Run" and "kworker/0:1" are not paths.
 */
static size_t path_relative_end(const char *text, size_t size, size_t at)
{
	bool has_separator = false;
	size_t end = at;

	if (text[at] == '/' || (at && !path_is_end(text[at - 1]) && text[at - 1] != ':'))
		return at;
	for (; end < size && !path_is_end(text[end]) && text[end] != ':'; end++)
		has_separator |= path_is_separator(text[end]);
	if (!has_separator || begins_at_home(text + at, end - at) ||
	    !looks_like_path(text + at, end - at))
		return at;
	return end;
}

static const char *const system_folders[] = {"/usr/",	 "/lib/", "/lib64/", "/lib32/",
					     "/libx32/", "/bin/", "/sbin/"};
/* Folders below system folders that are nevertheless private. */
static const char *const own_folders[] = {"/usr/local/", "/usr/home/", "/usr/src/"};
static const char kernel_modules[] = "/lib/modules/";

void scrubber_release(struct scrubber *s)
{
	home_folders_release(&s->homes);
	private_words_release(&s->words);
}

static bool is_in_one_of(const char *path, size_t size, const char *const *folders, size_t count)
{
	return items_find(folders, count, it, path_begins_with(path, size, *it));
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

/* Also adds the parts of "INITECH/bob" and "bob@initech.com". */
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

/* Adds common forms of a name's words: "Bob Miller", "bob.miller", "bobmiller". */
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
 * A single word of a name does not identify anyone, and may be part of a function's name ("Frame",
 * "Page"), as may an initial with it ("JFrame"): first and last names are only removed together, in
 * either order.
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

/* True for domains local to a network: "lan", "local", "internal". */
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

/* Appends a text whose paths are already scrubbed. */
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

/* Appends "b" for "a/b/" and for "C:\a\b". */
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

/* The folder of modules is named after the kernel's release. */
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

/* Appends the path after a machine's name, or a placeholder. */
static void add_address(struct scrubber *s, struct strbuf *out, const char *path, size_t size)
{
	s->changed_hosts++;
	if (size)
		add_path(s, out, path, size);
	else
		strbuf_adds(out, "host");
}

/* "-I/home/bob/x.h" is not a relative path. */
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
