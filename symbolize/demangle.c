/* SPDX-License-Identifier: MIT */
#include "symbolize/demangle.h"

#include <setjmp.h>

/* libiberty has an xmemdup() of its own. */
#define xmemdup libiberty_xmemdup
#include <libiberty/demangle.h>
#undef xmemdup

/*
 * Shortens function names to scopes and template arguments, without parameters, because debug
 * information often provides no more for inlined functions.
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

static bool is_namespace(const struct scan *s)
{
	return starts_with(s, "(anonymous namespace)");
}

/*
 * Returns the position after the parameters of an enclosing function, "f(int) const::"; NULL if the
 * parentheses enclose something else.
 */
static const char *skip_parameters(const struct scan *s)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &"};
	struct scan rest = {skip_brackets(s->at, s->end), s->end};

	if (!rest.at || is_namespace(s))
		return NULL;
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++) {
		if (starts_with(&rest, qualifiers[i]))
			rest.at += strlen(qualifiers[i]);
	}
	return starts_with(&rest, "::") ? rest.at : NULL;
}

static bool copy_brackets(struct scan *s, struct strbuf *out)
{
	const char *start = s->at, *end = skip_brackets(start, s->end), *behind;

	if (*start != '(')
		return false;
	behind = skip_parameters(s);
	s->at = behind ? behind : end ? end : s->end;
	if (!behind)
		strbuf_add(out, start, (size_t)(s->at - start));
	return true;
}

/*
 * Appends a demangled name without the parameters of enclosing functions and lambdas:
 * "f(int)::{lambda(char)#1}::operator()" → "f::{lambda#1}::operator()". `has_parameters`: it has
 * some of its own, which are dropped with what follows them.
 */
static void short_name_add(struct strbuf *out, const char *name, size_t size, bool has_parameters)
{
	struct scan s = {name, name + size};
	size_t angles = 0;

	while (s.at < s.end) {
		if (copy_operator(&s, name, out))
			continue;
		if (has_parameters && !angles && *s.at == '(' && !is_namespace(&s) &&
		    !skip_parameters(&s))
			break;
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
	bool is_too_long;
	bool has_parameters;
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

/*
 * Parses with parameters first: without them, libiberty accepts names followed by garbage, but
 * rejects those of functions with constraints.
 */
static bool demangle_cplusplus(const char *name, struct output *out)
{
	const int with_parameters = CPLUSPLUS | DMGL_PARAMS | DMGL_RET_DROP;

	if (!cplus_demangle_v3_callback(name, with_parameters, append, out))
		return false;
	out->size = 0;
	if (cplus_demangle_v3_callback(name, CPLUSPLUS, append, out))
		return true;
	out->size = 0;
	out->has_parameters = true;
	return cplus_demangle_v3_callback(name, with_parameters, append, out);
}

static bool demangle_into(const char *name, struct output *out)
{
	out->is_too_long = setjmp(out->too_long);
	if (out->is_too_long)
		return false;
	out->size = 0;
	out->has_parameters = false;
	if ((text_starts_with(name, "_R") || is_legacy_rust(name)) &&
	    rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, out))
		return out->size;
	out->size = 0;
	return is_cplusplus(name) && demangle_cplusplus(name, out) && out->size;
}

/*
 * Demangles the beginning of a C++ name if libiberty rejects the whole. Compilers introduce new
 * kinds of template arguments and constraints faster than demanglers support them.
 */

/* Maximum length of a name to try. */
#define PART_MAX 256

/* A completion for a part of a name. */
struct part_end {
	const char *text;
	const char *missing; /* replaces the rest; goes before the end of a list of arguments */
};

static const struct part_end nested_ends[] = {{"v", NULL},
					      {"vv", NULL},
					      {"EEvv", ", …>"},
					      {"EEv", ", …>"},
					      {"Ev", "::…"}},
			     plain_ends[] = {{"v", NULL}, {"vv", NULL}, {"Evv", ", …>"}};

/* False if a list of arguments was expected, but parsed as an identifier. */
static bool is_list(const struct output *part, const char *missing)
{
	return !missing || *missing != ',' || part->text[part->size - 1] == '>';
}

/* Adds "f<int, …>" for "f<int>", and "f<…>" for "f<>". */
static void add_part(struct strbuf *out, const struct output *part, const char *missing)
{
	size_t size = part->size;

	if (missing && *missing == ',') {
		size--;
		/* "> >" closes two lists. */
		size -= part->text[size - 1] == ' ';
		missing += part->text[size - 1] == '<' ? strlen(", ") : 0;
	}
	short_name_add(out, part->text, size, part->has_parameters);
	if (missing)
		strbuf_adds(out, missing);
}

/* True if template arguments or a tag follow, so the name is still within a type. */
static bool is_inside_type(char next)
{
	return next == 'I' || next == 'B';
}

/* Returns false if the parameters at the end have become part of an identifier. */
static bool is_parameter(char *name, const struct output *known)
{
	struct output other;

	for (size_t end = strlen(name); name[end - 1] == 'v'; end--)
		name[end - 1] = 'i';
	return demangle_into(name, &other) && other.size == known->size &&
	       memcmp(other.text, known->text, other.size) == 0;
}

/* Demangles the longest prefix, after "_Z", that libiberty accepts. */
static bool demangle_part(const char *at, const char *behind, struct strbuf *readable)
{
	bool is_nested = *at == 'N';
	const struct part_end *ends = is_nested ? nested_ends : plain_ends;
	size_t count = is_nested ? 5 : 3;
	struct output out;

	for (size_t size = strnlen(at, PART_MAX); size; size--) {
		for (size_t i = 0; i < count && !is_inside_type(at[size]); i++) {
			char name[PART_MAX + 16];

			snprintf(name, sizeof(name), "_Z%.*s%s", (int)size, at, ends[i].text);
			if (!demangle_into(name, &out) || !is_parameter(name, &out) ||
			    !is_list(&out, ends[i].missing))
				continue;
			/* Not generated by C++ compilers. */
			if (at[size] == '_')
				return false;
			add_part(readable, &out, ends[i].missing);
			if (!ends[i].missing)
				strbuf_adds(readable, behind);
			return true;
		}
	}
	return false;
}

static bool demangle_unreadable(const char *name, struct strbuf *readable)
{
	const char *at = name + 2;
	bool is_local = *at == 'Z';

	if (!text_starts_with(name, "_Z"))
		return false;
	at += strspn(at, "Z");
	at += *at == 'L';
	return (isdigit((unsigned char)*at) || *at == 'N' || *at == 'S') &&
	       demangle_part(at, is_local ? "::…" : "", readable);
}

/*
 * GCC embeds the whole name of a coroutine in the name of its frame, and only the embedded one has
 * the template's arguments: "_ZN1a4leafEPNS_22_ZN1a4leafIjEE1tT_.FrameE.actor".
 */
static void use_coroutine(char *name)
{
	static const char frame[] = ".Frame";
	char *end = strstr(name, frame);
	size_t size = 0, unit = 1;
	char *start = end;

	while (start && start > name && !text_starts_with(start, "_Z"))
		start--;
	if (!start || start == name || !isdigit((unsigned char)start[-1]))
		return;
	for (const char *digit = start - 1; isdigit((unsigned char)*digit) && unit <= MAX_MANGLED;
	     digit--, unit *= 10)
		size += (size_t)(*digit - '0') * unit;
	if (size != (size_t)(end - start) + strlen(frame))
		return;
	*end = '\0';
	memmove(name, start, (size_t)(end - start) + 1);
}

/*
 * Names in D. A name can repeat parts of itself; each repetition can double its length, and
 * libiberty has no limit.
 */
#define D_REPETITIONS 24

/*
 * Drops the parameters of functions, which do not follow a "!": "a.f!(int)(char) const" →
 * "a.f!(int)"
 */
static void add_without_parameters(struct strbuf *out, const char *text)
{
	const char *end = text + strlen(text), *at = text;

	while (at < end) {
		const char *behind = *at == '(' ? skip_brackets(at, end) : NULL;

		if (!behind) {
			strbuf_addch(out, *at++);
		} else if (at > text && at[-1] == '!') {
			strbuf_add(out, at, (size_t)(behind - at));
			at = behind;
		} else {
			at = behind + strcspn(behind, ".");
		}
	}
}

/* Reads the scopes in front of the first template: "_D3std4sort__T…" → "std.sort.…" */
static bool demangle_d_scopes(const char *at, struct strbuf *readable)
{
	const char *end = at + strlen(at);

	while (isdigit((unsigned char)*at)) {
		char *name;
		unsigned long size = strtoul(at, &name, 10);

		if (!size || size > (size_t)(end - name))
			return false;
		strbuf_add(readable, name, size);
		strbuf_addch(readable, '.');
		at = name + size;
	}
	strbuf_adds(readable, "…");
	return readable->size > strlen("…");
}

static bool demangle_d(const char *name, struct strbuf *readable)
{
	size_t repetitions = 0;
	_cleanup_free_ char *text = NULL;

	for (const char *at = name; *at; at++)
		repetitions += *at == 'Q';
	if (repetitions <= D_REPETITIONS)
		text = dlang_demangle(name, 0);
	if (!text)
		return isdigit((unsigned char)name[2]) && demangle_d_scopes(name + 2, readable);
	add_without_parameters(readable, text);
	return true;
}

/*
 * Cuts the numbered parts of a function, and the number of the file to which a function is local.
 */
static bool cut_part(char *name)
{
	static const char *const marks[] = {".__part.", ".__uniq."};
	bool is_cut = false;

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		char *mark = strstr(name, marks[i]);

		if (!mark || mark == name || !isdigit((unsigned char)mark[strlen(marks[i])]))
			continue;
		*mark = '\0';
		is_cut = true;
	}
	return is_cut;
}

/*
 * Strips the suffixes of copies and parts of a function: ".constprop.0", ".cold". Names in Rust's
 * first scheme contain dots themselves.
 */
static void cut_clone(char *name)
{
	char *dot = strchr(name, '.');

	if (dot && !is_legacy_rust(name))
		*dot = '\0';
}

/* GNAT's operators, by their names in symbols. libiberty's ada_demangle() is not safe. */
static const char *ada_operator(const char *name, size_t size)
{
	static const char *const operators[][2] = {
		{"Oabs", "abs"},    {"Oand", "and"},  {"Omod", "mod"},	  {"Onot", "not"},
		{"Oor", "or"},	    {"Orem", "rem"},  {"Oxor", "xor"},	  {"Oeq", "="},
		{"One", "/="},	    {"Olt", "<"},     {"Ole", "<="},	  {"Ogt", ">"},
		{"Oge", ">="},	    {"Oadd", "+"},    {"Osubtract", "-"}, {"Oconcat", "&"},
		{"Omultiply", "*"}, {"Odivide", "/"}, {"Oexpon", "**"},
	};

	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		if (strlen(operators[i][0]) == size && memcmp(name, operators[i][0], size) == 0)
			return operators[i][1];
	}
	return NULL;
}

/* Returns the size without the number of an overloaded function, and the mark of a task's body. */
static size_t plain_ada_size(const char *name, size_t size)
{
	static const char task[] = "TKB";
	size_t digits = size, mark = strlen(task);

	while (digits && isdigit((unsigned char)name[digits - 1]))
		digits--;
	if (digits < size && digits > 2 && memcmp(name + digits - 2, "__", 2) == 0)
		size = digits - 2;
	return size > mark && memcmp(name + size - mark, task, mark) == 0 ? size - mark : size;
}

void demangle_ada(const char *name, struct strbuf *readable)
{
	size_t size = plain_ada_size(name, strcspn(name, "."));
	const char *operator;
	bool is_first = true;

	for (size_t i = text_starts_with(name, "_ada_") ? strlen("_ada_") : 0; i < size; i++) {
		if (text_starts_with(name + i, "__") && i && i + 2 < size) {
			strbuf_addch(readable, '.');
			i++;
			operator= ada_operator(name + i + 1, size - i - 1);
			if (operator) {
				strbuf_addf(readable, "\"%s\"", operator);
				break;
			}
			is_first = true;
			continue;
		}
		strbuf_addch(readable, is_first ? (char)toupper((unsigned char)name[i]) : name[i]);
		is_first = name[i] == '_';
	}
}

/* The libraries of GNAT: "ada__exceptions__triggered_by_abort"; main programs: "_ada_work" */
static bool demangle_gnat(const char *name, struct strbuf *readable)
{
	static const char *const libraries[] = {"ada__", "gnat__", "interfaces__", "system__",
						"_ada_"};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		if (text_starts_with(name, libraries[i])) {
			demangle_ada(name, readable);
			return true;
		}
	}
	return false;
}

/*
 * Names in Rust's first scheme that another tool demangled as those of C++:
 * "_$LT$T$u20$as$u20$core..fmt..Debug$GT$::fmt::h0123456789abcdef". They are mangled again.
 */
static bool demangle_half(const char *name, struct strbuf *readable)
{
	_cleanup_(strbuf_release) struct strbuf mangled = {0};
	struct output out;

	strbuf_adds(&mangled, "_ZN");
	for (const char *part = name, *end; part; part = end ? end + 2 : NULL) {
		size_t size;

		end = strstr(part, "::");
		size = end ? (size_t)(end - part) : strlen(part);
		if (!size)
			return false;
		strbuf_addf(&mangled, "%zu%.*s", size, (int)size, part);
	}
	strbuf_addch(&mangled, 'E');
	if (!is_legacy_rust(strbuf_text(&mangled)) || !demangle_into(mangled.text, &out))
		return false;
	short_name_add(readable, out.text, out.size, out.has_parameters);
	return true;
}

static bool demangle_plain(char *name, struct strbuf *readable)
{
	struct output out;

	if (text_starts_with(name, "_D") &&
	    (isdigit((unsigned char)name[2]) || strcmp(name, "_Dmain") == 0)) {
		cut_clone(name);
		return demangle_d(name, readable);
	}
	if (!is_cplusplus(name) && !text_starts_with(name, "_R"))
		return demangle_gnat(name, readable) || demangle_half(name, readable) ||
		       demangle_others(name, strlen(name), readable);
	use_coroutine(name);
	cut_clone(name);
	if (demangle_into(name, &out)) {
		short_name_add(readable, out.text, out.size, out.has_parameters);
		return true;
	}
	return !out.is_too_long && demangle_unreadable(name, readable);
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

bool demangle(const char *name, struct strbuf *readable)
{
	size_t size = strnlen(name, MAX_MANGLED + 1), plain;
	char mangled[MAX_MANGLED + 1];
	bool is_cut;

	strbuf_reset(readable);
	if (size > MAX_MANGLED)
		return false;
	plain = plain_size(name, size);
	memcpy(mangled, name, plain);
	mangled[plain] = '\0';
	is_cut = cut_part(mangled);
	if (!demangle_plain(mangled, readable)) {
		strbuf_reset(readable);
		if (!is_cut)
			return false;
		strbuf_adds(readable, mangled);
	}
	strbuf_add(readable, name + plain, size - plain);
	return readable->size <= MAX_READABLE;
}
