/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/path_text.h"

#include <ctype.h>
#include <string.h>

/* Suffixes of sources and of what is made of them. */
static const char *const suffixes[] = {
	"S",   "a",   "asm",   "bin",  "c",    "cc",   "cfg",	 "class", "conf", "cpp",  "css",
	"csv", "cxx", "db",    "dll",  "exe",  "go",   "h",	 "hh",	  "hpp",  "html", "hxx",
	"inc", "ini", "jar",   "java", "js",   "json", "jsx",	 "ko",	  "kt",	  "log",  "lua",
	"md",  "mjs", "mm",    "o",    "php",  "pl",   "pm",	 "py",	  "pyc",  "pyx",  "rb",
	"rs",  "s",   "scala", "sh",   "so",   "sql",  "sqlite", "swift", "tmp",  "toml", "ts",
	"tsx", "txt", "wasm",  "xml",  "yaml", "yml",  "zig",
};

bool path_begins_with(const char *path, size_t size, const char *prefix)
{
	size_t length = strlen(prefix);

	return size >= length && memcmp(path, prefix, length) == 0;
}

bool path_is_end(char c)
{
	return (unsigned char)c <= ' ' || strchr("\"'`<>|;,()[]{}=*?&", c);
}

bool path_is_name_end(const char *path, size_t size, size_t at)
{
	return at == size || path[at] == '/' || path[at] == ':' || path_is_end(path[at]);
}

bool path_is_separator(char c)
{
	return c == '/' || c == '\\';
}

size_t path_machine_end(const char *text, size_t size, size_t at)
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
	/* A file may be nothing but a suffix: ".js" */
	if (!dot)
		return false;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strlen(suffixes[i]) == size - dot &&
		    memcmp(suffixes[i], name + dot, size - dot) == 0)
			return true;
	}
	return false;
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

/* "~/x.c" and "-I~/x.h" are what home folders became. */
static bool begins_at_home(const char *token, size_t size)
{
	size_t at = 0;

	if (token[0] == '-') {
		while (at < size && (isalnum((unsigned char)token[at]) || token[at] == '-'))
			at++;
	}
	return at + 1 < size && token[at] == '~' && token[at + 1] == '/';
}

size_t path_relative_end(const char *text, size_t size, size_t at)
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
