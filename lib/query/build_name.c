/* SPDX-License-Identifier: MIT */
#include "lib/query/build_name.h"

/* Digits after the "::h" of a Rust function. */
#define HASH_DIGITS 16

static const char clone[] = " [clone ";

static bool ends_with(const char *name, size_t size, const char *suffix)
{
	size_t length = strlen(suffix);

	return size > length && memcmp(name + size - length, suffix, length) == 0;
}

/* True for a name of letters, digits and "_" alone, with "__" or "_MOD_" between its parts. */
static bool has_linker_scopes(const char *name, size_t size)
{
	const char *mark = size > 2 ? memmem(name + 1, size - 2, "__", 2) : NULL;

	return !items_find(name, size, it, !isalnum((unsigned char)*it) && *it != '_') &&
	       (mark || (size > 5 && memmem(name, size, "_MOD_", 5)));
}

/* Strips one suffix of "parse.isra.0" or "parse.cold". Returns the remaining size. */
static size_t without_suffix(const char *name, size_t size)
{
	static const char *const numbered[] = {".constprop", ".isra",	  ".part",   ".cold",
					       ".llvm",	     ".lto_priv", ".__part", ".__uniq"};
	static const char *const plain[] = {".cold",	".actor",   ".resume",
					    ".destroy", ".cleanup", ".abi0"};
	size_t end = size;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (ends_with(name, size, plain[i]))
			return size - strlen(plain[i]);
	}
	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (end == size || !end || name[end - 1] != '.')
		return size;
	end--;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		if (ends_with(name, end, numbered[i]))
			return end - strlen(numbered[i]);
	}
	/* GNAT and gfortran number functions that lie in others: "m__outer__inner.5". */
	return has_linker_scopes(name, end) ? end : size;
}

/* True for "fib__a", as Nim before version 2 joins names and modules: a letter and others follow.
 */
static bool ends_with_module(const char *name, size_t size)
{
	size_t start = size;

	while (start && isalnum((unsigned char)name[start - 1]))
		start--;
	return start > 2 && start < size && isalpha((unsigned char)name[start]) &&
	       name[start - 1] == '_' && name[start - 2] == '_';
}

/*
 * Strips the number of a function of Nim's, "fib__a_u5" or, before version 2, "fib__a_5". C's
 * "load__port_u32" is a type.
 */
static size_t without_nim_number(const char *name, size_t size)
{
	size_t end = size, kept;
	unsigned int number = 0;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	if (size - end > 9 || end == size)
		return size;
	kept = ends_with(name, end, "_u") ? end - 2 : ends_with(name, end, "_") ? end - 1 : 0;
	if (!kept || !has_linker_scopes(name, kept) ||
	    (name[end - 1] == '_' && !ends_with_module(name, kept)))
		return size;
	for (size_t i = end; i < size; i++)
		number = 10 * number + (unsigned int)(name[i] - '0');
	return number >= 8 && !(number & (number - 1)) ? size : kept;
}

static size_t without_hash(const char *name, size_t size)
{
	size_t digits = 0;

	while (digits < size && isxdigit((unsigned char)name[size - 1 - digits]))
		digits++;
	if (digits != HASH_DIGITS || !ends_with(name, size - digits, "::h"))
		return size;
	return size - digits - strlen("::h");
}

/* Strips demanglers' suffixes: "parse [clone .isra.0] [clone .cold]". */
static size_t without_clone(const char *name, size_t size)
{
	size_t at = size;

	if (!size || name[size - 1] != ']')
		return size;
	while (at && name[at - 1] != '[')
		at--;
	if (at < 2 || size - at + 2 < strlen(clone) ||
	    memcmp(name + at - 2, clone, strlen(clone)) != 0)
		return size;
	return at > 2 ? at - 2 : size;
}

size_t build_name_size(const char *name)
{
	size_t size = strlen(name), before;

	do {
		before = size;
		size = without_clone(name, size);
		size = without_suffix(name, size);
		size = without_nim_number(name, size);
		size = without_hash(name, size);
	} while (size != before);
	return size;
}

const char *build_place(const char *module, const char *file)
{
	const char *slash = strrchr(file, '/');

	if (*module)
		return module;
	return slash ? slash + 1 : file;
}
