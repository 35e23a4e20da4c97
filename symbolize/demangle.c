/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/text.h"
#include "symbolize/short_name.h"

/* libiberty keeps some 100 bytes of stack for each byte of the name. */
#define MAX_MANGLED 4096
/* Substitutions double: 100 bytes can stand for more than any memory holds. */
#define MAX_READABLE 8192

struct output {
	char text[MAX_READABLE];
	size_t size;
	jmp_buf too_long;
};

/*
 * libiberty offers no way to stop and would go on producing output almost forever. It keeps all its
 * state on the stack here, so leaving it by longjmp() leaks nothing.
 */
static void append(const char *text, size_t size, void *opaque)
{
	struct output *out = opaque;

	if (!size)
		return;
	if (size > MAX_READABLE - out->size)
		longjmp(out->too_long, 1);
	memcpy(out->text + out->size, text, size);
	out->size += size;
}

static bool is_hex_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Rust's first scheme looks like C++ with a hash as last component: "…17h0123456789abcdefE". */
static bool is_legacy_rust(const char *name)
{
	const char *end = name + strlen(name);
	const char *suffix = strchr(name, '.');

	if (!text_starts_with(name, "_ZN"))
		return false;
	/* Link-time optimization appends "….llvm.1234". */
	while (suffix && suffix > name && suffix[-1] != 'E')
		suffix = strchr(suffix + 1, '.');
	if (suffix)
		end = suffix;
	if (end - name < 3 + 20 || end[-1] != 'E' || strncmp(end - 20, "17h", 3) != 0)
		return false;
	for (const char *digit = end - 17; digit < end - 1; digit++) {
		if (!is_hex_digit(*digit))
			return false;
	}
	return true;
}

static bool is_cplusplus(const char *name)
{
	return text_starts_with(name, "_Z") || text_starts_with(name, "_GLOBAL__");
}

/* Parses with parameters first: without them, names followed by rubbish would be accepted, too. */
static bool demangle_cplusplus(const char *name, struct output *out)
{
	if (!cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out))
		return false;
	out->size = 0;
	return cplus_demangle_v3_callback(name, DMGL_ANSI, append, out);
}

static bool demangle_into(const char *name, struct output *out)
{
	if (setjmp(out->too_long))
		return false;
	if ((text_starts_with(name, "_R") || is_legacy_rust(name)) &&
	    rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out))
		return true;
	out->size = 0;
	return is_cplusplus(name) && demangle_cplusplus(name, out);
}

/*
 * Cuts the suffixes of copies and parts of a function: ".constprop.0", ".cold". Rust's first scheme
 * has dots of its own.
 */
static void cut_clone(char *name)
{
	char *dot = strchr(name, '.');

	if (dot && !is_legacy_rust(name) &&
	    (text_starts_with(name, "_Z") || text_starts_with(name, "_R")))
		*dot = '\0';
}

/* Size of the name without the suffix of a function called through a stub. */
static size_t plain_size(const char *name, size_t size)
{
	static const char suffix[] = "@plt";
	const size_t suffix_size = sizeof(suffix) - 1;

	if (size > suffix_size && memcmp(name + size - suffix_size, suffix, suffix_size) == 0)
		return size - suffix_size;
	return size;
}

bool demangle(const char *name, struct strbuf *readable)
{
	size_t size = strnlen(name, MAX_MANGLED + 1), plain;
	char mangled[MAX_MANGLED + 1];
	struct output out;

	strbuf_reset(readable);
	if (name[0] != '_' || size > MAX_MANGLED)
		return false;
	plain = plain_size(name, size);
	memcpy(mangled, name, plain);
	mangled[plain] = '\0';
	cut_clone(mangled);
	out.size = 0;
	if (!demangle_into(mangled, &out) || !out.size)
		return false;
	short_name_add(readable, out.text, out.size);
	strbuf_add(readable, name + plain, size - plain);
	return true;
}
