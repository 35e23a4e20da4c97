/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/text.h"

/*
 * Shortens function names to scopes and template arguments, without parameters, because debug
 * information often has no more for inlined functions.
 */

struct scan {
	const char *at, *end;
};

static bool starts_with(const struct scan *s, const char *text)
{
	size_t size = strlen(text);

	return (size_t)(s->end - s->at) >= size && memcmp(s->at, text, size) == 0;
}

/* Copies `text` if the name continues with it. */
static bool copy(struct scan *s, struct strbuf *out, const char *text)
{
	if (!starts_with(s, text))
		return false;
	strbuf_adds(out, text);
	s->at += strlen(text);
	return true;
}

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Returns the position after the bracket that closes the one at `at`; NULL if none does. */
static const char *skip_brackets(const char *at, const char *end)
{
	size_t depth = 0;

	for (; at < end; at++) {
		if (*at == '(')
			depth++;
		else if (*at == ')' && --depth == 0)
			return at + 1;
	}
	return NULL;
}

/* Copies an operator's name, which may contain brackets and angles. */
static bool copy_operator(struct scan *s, const char *start, struct strbuf *out)
{
	static const char *const names[] = {
		"<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "<", ">",
	};

	if ((s->at > start && is_identifier(s->at[-1])) || !starts_with(s, "operator") ||
	    (s->at + 8 < s->end && is_identifier(s->at[8])))
		return false;
	copy(s, out, "operator");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (copy(s, out, names[i]))
			break;
	}
	return true;
}

/* Shortens "{lambda(int)#1}" to "{lambda#1}". */
static bool copy_lambda(struct scan *s, struct strbuf *out)
{
	const char *behind;

	if (!starts_with(s, "{lambda("))
		return false;
	behind = skip_brackets(s->at + strlen("{lambda"), s->end);
	if (!behind)
		return false;
	copy(s, out, "{lambda");
	s->at = behind;
	return true;
}

/* Skips the parameters of an enclosing function: "f(int) const::". */
static bool copy_brackets(struct scan *s, struct strbuf *out)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &"};
	const char *start = s->at;
	struct scan rest = *s;
	bool is_namespace;

	if (*start != '(')
		return false;
	is_namespace = starts_with(s, "(anonymous namespace)");
	rest.at = skip_brackets(start, s->end);
	s->at = rest.at ? rest.at : s->end;
	if (!rest.at || is_namespace) {
		strbuf_add(out, start, (size_t)(s->at - start));
		return true;
	}
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++) {
		if (starts_with(&rest, qualifiers[i]))
			rest.at += strlen(qualifiers[i]);
	}
	if (starts_with(&rest, "::"))
		s->at = rest.at;
	else
		strbuf_add(out, start, (size_t)(s->at - start));
	return true;
}

/*
 * Appends a demangled name without the parameters of enclosing functions and lambdas; it has none
 * of its own: "f(int)::{lambda(char)#1}::operator()" → "f::{lambda#1}::operator()".
 */
static void short_name_add(struct strbuf *out, const char *name, size_t size)
{
	struct scan s = {name, name + size};
	size_t angles = 0;

	while (s.at < s.end) {
		if (copy_operator(&s, name, out))
			continue;
		if (!angles && (copy_brackets(&s, out) || copy_lambda(&s, out)))
			continue;
		if (*s.at == '<')
			angles++;
		else if (*s.at == '>' && angles && (s.at == name || s.at[-1] != '-'))
			angles--;
		strbuf_addch(out, *s.at++);
	}
}

/*
 * libiberty uses up to 220 bytes of stack for each byte of a C++ name: less than a megabyte. Its
 * own limit, which DMGL_NO_RECURSE_LIMIT lifts, rejects all names of more than 1,024 bytes.
 */
#define MAX_MANGLED 4096
#define CPLUSPLUS (DMGL_ANSI | DMGL_NO_RECURSE_LIMIT)
/* Substitutions double the size: 100 bytes can expand to more than any memory holds. */
#define MAX_READABLE 8192

struct output {
	char text[MAX_READABLE];
	size_t size;
	jmp_buf too_long;
};

/*
 * Stops at the limit by longjmp(): libiberty offers no other way and could continue almost forever.
 * It keeps all its state on the stack here, so nothing leaks.
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

/*
 * True for Rust's first scheme, which looks like C++ with a hash as last component:
 * "…17h0123456789abcdefE".
 */
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

/* Parses with parameters first: without them, libiberty accepts names followed by garbage. */
static bool demangle_cplusplus(const char *name, struct output *out)
{
	if (!cplus_demangle_v3_callback(name, CPLUSPLUS | DMGL_PARAMS, append, out))
		return false;
	out->size = 0;
	return cplus_demangle_v3_callback(name, CPLUSPLUS, append, out);
}

/* Names of functions compiled from Python by Cython and mypyc. */

static bool is_all_identifier(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (!is_identifier(*at))
			return false;
	}
	return *text && !isdigit((unsigned char)*text);
}

/* Reads a number without leading zeros. Returns the position after it; NULL if there is none. */
static const char *read_number(const char *at, size_t *number)
{
	*number = 0;
	if (*at == '0')
		return NULL;
	for (; isdigit((unsigned char)*at); at++) {
		*number = *number * 10 + (size_t)(*at - '0');
		if (*number > MAX_MANGLED)
			return NULL;
	}
	return *number ? at : NULL;
}

/* Reads a scope, "3Box_". Returns the position after it; NULL if there is none. */
static const char *read_scope(const char *at, const char **name, size_t *size)
{
	*name = read_number(at, size);
	if (!*name || isdigit((unsigned char)**name) || strnlen(*name, *size + 1) <= *size ||
	    (*name)[*size] != '_')
		return NULL;
	return *name + *size + 1;
}

enum cython_kind {
	CYTHON_PLAIN, /* the name itself */
	CYTHON_NUMBERED, /* after a number */
	CYTHON_HALF, /* after a number, unless it is the first of its scope */
};

/*
 * Reads a function's own name. NULL if there is none, or if it might also begin with a scope: a
 * function's number then looks like the length of a scope.
 */
static const char *read_own(const char *at, enum cython_kind kind, bool is_scoped)
{
	const char *text, *next;
	size_t number, size;

	if (!isdigit((unsigned char)*at))
		return kind == CYTHON_NUMBERED || !is_scoped || !is_all_identifier(at) ? NULL : at;
	if (kind == CYTHON_PLAIN)
		return NULL;
	next = read_scope(at, &text, &size);
	if (kind == CYTHON_HALF && next)
		return NULL;
	at = read_number(at, &number);
	return at && is_scoped && is_all_identifier(at) ? at : NULL;
}

/* Reads "4cmod_3Box_2call_back" as "cmod.Box.call_back". */
static bool read_cython(const char *at, enum cython_kind kind, struct output *out)
{
	const char *text, *next, *own = NULL;
	size_t size;

	for (;; at = next) {
		own = read_own(at, kind, out->size > 0);
		next = read_scope(at, &text, &size);
		if (!next)
			break;
		/* If no scope follows, this is the function's own name: "5outer_x". */
		if (kind == CYTHON_NUMBERED && !isdigit((unsigned char)*next))
			break;
		/*
		 * "2ab_c" may be c in ab, or the second function, ab_c. The number of a function's
		 * other half is odd.
		 */
		if (kind == CYTHON_HALF && out->size && size % 2 == 0 &&
		    !isdigit((unsigned char)*next) && !text_starts_with(next, "__"))
			return false;
		append(text, size, out);
		append(".", 1, out);
	}
	if (!own)
		return false;
	append(own, strlen(own), out);
	return true;
}

/* Reads "M___m_back" as "M.m_back"; "___3_" is "___" in a name. */
static bool read_mypyc(const char *at, struct output *out)
{
	static const char separator[] = "___", literal[] = "___3_";
	const char *start = at;

	if (!is_all_identifier(at))
		return false;
	while (*at) {
		if (text_starts_with(at, literal)) {
			append(separator, sizeof(separator) - 1, out);
			at += sizeof(literal) - 1;
		} else if (text_starts_with(at, separator)) {
			at += sizeof(separator) - 1;
			if (at - start == sizeof(separator) - 1 || !*at ||
			    isdigit((unsigned char)*at))
				return false;
			append(".", 1, out);
		} else {
			append(at++, 1, out);
		}
	}
	return true;
}

static const char cython_prefix[] = "__pyx_", mypyc_prefix[] = "CPy";

static bool demangle_python(const char *name, struct output *out)
{
	static const struct {
		const char *prefix;
		enum cython_kind kind;
	} kinds[] = {
		{"__pyx_pw_", CYTHON_NUMBERED},
		{"__pyx_pf_", CYTHON_HALF},
		{"__pyx_gb_", CYTHON_NUMBERED},
		{"__pyx_f_", CYTHON_PLAIN},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (text_starts_with(name, kinds[i].prefix))
			return read_cython(name + strlen(kinds[i].prefix), kinds[i].kind, out);
	}
	if (text_starts_with(name, "CPyDef_"))
		return read_mypyc(name + strlen("CPyDef_"), out);
	return text_starts_with(name, "CPyPy_") && read_mypyc(name + strlen("CPyPy_"), out);
}

static bool is_python(const char *name)
{
	return text_starts_with(name, cython_prefix) || text_starts_with(name, mypyc_prefix);
}

static bool demangle_into(const char *name, struct output *out)
{
	if (setjmp(out->too_long))
		return false;
	if (is_python(name))
		return demangle_python(name, out);
	if ((text_starts_with(name, "_R") || is_legacy_rust(name)) &&
	    rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out))
		return true;
	out->size = 0;
	return is_cplusplus(name) && demangle_cplusplus(name, out);
}

/*
 * Strips the suffixes of copies and parts of a function: ".constprop.0", ".cold". Names in Rust's
 * first scheme contain dots themselves.
 */
static void cut_clone(char *name)
{
	char *dot = strchr(name, '.');

	if (dot && !is_legacy_rust(name) &&
	    (text_starts_with(name, "_Z") || text_starts_with(name, "_R") || is_python(name)))
		*dot = '\0';
}

/* Returns the size of the name without the suffix of a function called through a stub. */
static size_t plain_size(const char *name, size_t size)
{
	static const char suffix[] = "@plt";
	const size_t suffix_size = sizeof(suffix) - 1;

	if (size > suffix_size && memcmp(name + size - suffix_size, suffix, suffix_size) == 0)
		return size - suffix_size;
	return size;
}

static int lower_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Returns the size of an OCaml name without its stamp, which each compilation numbers anew:
 * "map_456".
 */
static size_t without_stamp(const char *name, size_t size)
{
	size_t end = size;

	while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	return end > 1 && end < size && name[end - 1] == '_' ? end - 1 : size;
}

/*
 * Demangles camlStdlib__List__map_456 or, since OCaml 5.2, camlStdlib__List.map_456 to
 * Stdlib.List.map.
 */
static bool demangle_ocaml(const char *name, size_t size, struct strbuf *out)
{
	size_t end = without_stamp(name, size);

	if (!text_starts_with(name, "caml") || name[4] < 'A' || name[4] > 'Z')
		return false;
	for (size_t at = 4; at < end; at++) {
		bool is_escape = name[at] == '$' && end - at > 2;
		int high = is_escape ? lower_hex(name[at + 1]) : -1;
		int low = is_escape ? lower_hex(name[at + 2]) : -1;

		if (high >= 2 && low >= 0) {
			strbuf_addch(out, (char)(high << 4 | low));
			at += 2;
		} else if (name[at] == '_' && end - at > 2 && name[at + 1] == '_') {
			strbuf_addch(out, '.');
			at++;
		} else {
			strbuf_addch(out, name[at]);
		}
	}
	return true;
}

/*
 * Decodes GHC's one-character escapes; those of tuples and of arbitrary code points follow other
 * rules.
 */
static char z_decoded(const char *at)
{
	static const char lower[] = "za&zb|zc^zd$ze=zg>zh#zi.zl<zm-zn!zp+zq'zr\\zs/zt*zu_zv%zzz";
	static const char upper[] = "ZC:ZL(ZM[ZN]ZR)ZZZ";
	const char *table = *at == 'z' ? lower : upper;

	for (; *table; table += 3) {
		if (table[0] == at[0] && table[1] == at[1])
			return table[2];
	}
	return 0;
}

/*
 * Decodes package_Module_name_info: the package ends at the first "_", which is escaped elsewhere.
 * False for names that GHC would not generate.
 */
static bool demangle_ghc(const char *name, size_t size, struct strbuf *out)
{
	static const char suffix[] = "_info";
	const char *end = name + size - (sizeof(suffix) - 1), *module = memchr(name, '_', size);
	bool has_path = false;

	if (size <= sizeof(suffix) || strcmp(end, suffix) != 0 || !module || module >= end)
		return false;
	/* Names in a program's own modules lack the package: Main_main1_info. */
	module = name[0] >= 'A' && name[0] <= 'Z' ? name : module + 1;
	if (*module < 'A' || *module > 'Z')
		return false;
	for (const char *at = module; at < end; at++) {
		char c = *at == 'z' || *at == 'Z' ? z_decoded(at) : *at;

		if (!c)
			return false;
		has_path |= at[0] == 'z' && at[1] == 'i';
		at += c != *at || *at == 'z' || *at == 'Z';
		strbuf_addch(out, c == '_' && *at == '_' ? '.' : c);
	}
	return has_path || text_starts_with(name, "Main_");
}

/* Demangles names that neither C++ nor Rust would generate. */
static bool demangle_others(const char *name, size_t size, struct strbuf *readable)
{
	if (demangle_ocaml(name, size, readable))
		return true;
	strbuf_reset(readable);
	return demangle_ghc(name, size, readable);
}

bool demangle(const char *name, struct strbuf *readable)
{
	size_t size = strnlen(name, MAX_MANGLED + 1), plain;
	char mangled[MAX_MANGLED + 1];
	struct output out;

	strbuf_reset(readable);
	if (size > MAX_MANGLED)
		return false;
	if (name[0] != '_' && !is_python(name))
		return demangle_others(name, size, readable);
	plain = plain_size(name, size);
	memcpy(mangled, name, plain);
	mangled[plain] = '\0';
	cut_clone(mangled);
	out.size = 0;
	if (!demangle_into(mangled, &out) || !out.size)
		return false;
	if (is_python(mangled))
		strbuf_add(readable, out.text, out.size);
	else
		short_name_add(readable, out.text, out.size);
	strbuf_add(readable, name + plain, size - plain);
	return true;
}
