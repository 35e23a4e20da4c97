/* SPDX-License-Identifier: MIT */

#include "symbolize/demangle.h"

/* Demanglers for names that libiberty does not support. */

/* Maximum length of a name; longer ones are damage. */
#define MAX_LENGTH 4096

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
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
		if (*number > MAX_LENGTH)
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
 * Reads a function's own name. Returns NULL if there is none, or if it might also begin with a
 * scope: a function's number then looks like the length of a scope.
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
static bool read_cython(const char *at, enum cython_kind kind, struct strbuf *out)
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
		strbuf_add(out, text, size);
		strbuf_addch(out, '.');
	}
	if (!own)
		return false;
	strbuf_adds(out, own);
	return true;
}

/* Converts "M___m_back" to "M.m_back"; "___3_" is "___" in a name. */
static bool read_mypyc(const char *at, struct strbuf *out)
{
	static const char separator[] = "___", literal[] = "___3_";
	const char *start = at;

	if (!is_all_identifier(at))
		return false;
	while (*at) {
		if (text_starts_with(at, literal)) {
			strbuf_adds(out, separator);
			at += sizeof(literal) - 1;
		} else if (text_starts_with(at, separator)) {
			at += sizeof(separator) - 1;
			if (at - start == sizeof(separator) - 1 || !*at ||
			    isdigit((unsigned char)*at))
				return false;
			strbuf_addch(out, '.');
		} else {
			strbuf_addch(out, *at++);
		}
	}
	return true;
}

static bool read_python(const char *name, struct strbuf *out)
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

/* Reads the name without the suffixes of a function's copies. */
static bool demangle_python(const char *name, size_t size, struct strbuf *out)
{
	_cleanup_free_ char *own = NULL;

	if (!text_starts_with(name, "__pyx_") && !text_starts_with(name, "CPy"))
		return false;
	own = xstrndup(name, MIN(strcspn(name, "."), size));
	return read_python(own, out);
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

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/*
 * Swift's names, up to the function's own: "$s4main5ShapeC4areaSdyF" → "main.Shape.area". Later
 * parts of a name refer to words of earlier ones by letter.
 */

#define SWIFT_WORDS 26

struct swift {
	const char *at, *end;
	struct {
		size_t start, size; /* in `out` */
	} words[SWIFT_WORDS];
	size_t word_count;
	struct strbuf *out;
};

/* Notes the words of an identifier in the output: "camelCase" has two. */
static void add_words(struct swift *s, size_t from)
{
	const char *text = strbuf_text(s->out);
	size_t start = SIZE_MAX;

	for (size_t i = from; i <= s->out->size; i++) {
		char c = i < s->out->size ? text[i] : '\0';
		bool is_end = c == '_' || !c || (i > from && !is_upper(text[i - 1]) && is_upper(c));

		if (start != SIZE_MAX && is_end) {
			if (i - start >= 2 && s->word_count < SWIFT_WORDS) {
				s->words[s->word_count].start = start;
				s->words[s->word_count++].size = i - start;
			}
			start = SIZE_MAX;
		}
		if (start == SIZE_MAX && c && c != '_' && !is_digit(c))
			start = i;
	}
}

static bool add_word(struct swift *s, size_t number)
{
	_cleanup_free_ char *word = NULL;

	if (number >= s->word_count || s->out->size > MAX_LENGTH)
		return false;
	word = xstrndup(strbuf_text(s->out) + s->words[number].start, s->words[number].size);
	strbuf_adds(s->out, word);
	return true;
}

static bool read_text(struct swift *s)
{
	size_t size, from = s->out->size;
	const char *text = read_number(s->at, &size);

	if (!text || size > (size_t)(s->end - text))
		return false;
	strbuf_add(s->out, text, size);
	add_words(s, from);
	s->at = text + size;
	return true;
}

/* Appends an identifier: "4area", "0A5Shape" (the first word, and Shape), "0bA0" (two words). */
static bool read_swift_identifier(struct swift *s)
{
	bool has_words = *s->at == '0';

	/* "00" starts text of other scripts. */
	if (!is_digit(*s->at) || text_starts_with(s->at, "00"))
		return false;
	s->at += has_words;
	do {
		while (has_words && (is_lower(*s->at) || is_upper(*s->at))) {
			char letter = *s->at++;

			has_words = is_lower(letter);
			if (!add_word(s, (size_t)(letter - (has_words ? 'a' : 'A'))))
				return false;
		}
		if (*s->at == '0') {
			s->at++;
			return true;
		}
		if (!read_text(s))
			return false;
	} while (has_words);
	return true;
}

/* Returns the standard library's type with that letter. */
static const char *swift_type(char letter)
{
	static const char *const names[] = {"aArray",	 "bBool",   "DDictionary", "dDouble",
					    "fFloat",	 "hSet",    "iInt",	   "JCharacter",
					    "qOptional", "SString", "sSubstring",  "uUInt"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (names[i][0] == letter)
			return names[i] + 1;
	}
	return NULL;
}

/* Reads the module, or a type of the standard library. */
static bool read_swift_root(struct swift *s)
{
	const char *type = s->end - s->at > 2 && *s->at == 'S' ? swift_type(s->at[1]) : NULL;

	if (type) {
		strbuf_addf(s->out, "Swift.%s", type);
		s->at += 2;
		return true;
	}
	if (s->at < s->end && *s->at == 's') {
		strbuf_adds(s->out, "Swift");
		s->at++;
		return true;
	}
	return read_swift_identifier(s);
}

/* Drops the hash that distinguishes private functions of several files: "33_0123…LL". */
static void skip_private(struct swift *s)
{
	size_t size;
	const char *text = read_number(s->at, &size);

	if (text && size < (size_t)(s->end - text) && *text == '_' &&
	    text_starts_with(text + size, "LL"))
		s->at = text + size + 2;
}

/* Returns the role of a function without a name of its own. */
static const char *swift_role(const char *rest, bool is_type)
{
	size_t size = strlen(rest);

	if (strstr(rest, "fU"))
		return ".(closure)";
	if (!is_type || size < 2)
		return "";
	rest += size - 2;
	if (strcmp(rest, "fC") == 0 || strcmp(rest, "fc") == 0)
		return ".init";
	return strcmp(rest, "fD") == 0 || strcmp(rest, "fd") == 0 ? ".deinit" : "";
}

static bool demangle_swift(const char *name, size_t size, struct strbuf *out)
{
	struct swift s = {.out = out, .end = name + size};
	bool is_type = false;
	size_t parts = 0;

	name += *name == '_';
	if (!text_starts_with(name, "$s") && !text_starts_with(name, "$S"))
		return false;
	s.at = name + 2;
	if (!read_swift_root(&s))
		return false;
	while (s.at < s.end && is_digit(*s.at) && out->size < MAX_LENGTH) {
		strbuf_addch(out, '.');
		if (!read_swift_identifier(&s))
			return false;
		skip_private(&s);
		is_type = s.at < s.end && strchr("CVOP", *s.at);
		s.at += is_type;
		parts++;
	}
	strbuf_adds(out, swift_role(s.at, is_type));
	return parts > 0;
}

/* Free Pascal's names are all upper case, because case is not significant. */
static void add_pascal(struct strbuf *out, const char *name, size_t size)
{
	if (out->size)
		strbuf_addch(out, '.');
	for (size_t i = 0; i < size; i++)
		strbuf_addch(out, i ? (char)tolower((unsigned char)name[i]) : name[i]);
}

/* "P$APAS$_$TWORK_$__$$_SPIN$LONGINT" → "Twork.Spin", "SYSTEM_$$_MOVE$…" → "System.Move" */
static bool demangle_pascal(const char *name, size_t size, struct strbuf *out)
{
	static const char own_mark[] = "_$$_", scope_mark[] = "$_$";
	const char *own = memmem(name, size, own_mark, strlen(own_mark)), *next;
	bool is_program = text_starts_with(name, "P$");

	if (!own || !own[4] || own[4] == '$')
		return false;
	for (const char *at = name; at < own; at = next) {
		size_t part;

		next = memmem(at, (size_t)(own - at), scope_mark, strlen(scope_mark));
		next = next ? next + strlen(scope_mark) : own;
		if (at == name && is_program)
			continue;
		part = MIN(strcspn(at, "$"), (size_t)(own - at));
		/* "_$_" closes the name of a class. */
		add_pascal(out, at, part && at[part - 1] == '_' ? part - 1 : part);
	}
	add_pascal(out, own + strlen(own_mark), strcspn(own + strlen(own_mark), "$"));
	return true;
}

/* gfortran's "__mesh_MOD_refine" → "mesh::refine", without the suffixes of copies and inner ones */
static bool demangle_fortran(const char *name, size_t size, struct strbuf *out)
{
	static const char mark[] = "_MOD_";
	const char *module = name + strlen("__"), *end = memmem(name, size, mark, strlen(mark));

	if (!text_starts_with(name, "__") || !end || end <= module || !is_lower(*module) ||
	    items_find(module, (size_t)(end - module), it, is_upper(*it)))
		return false;
	strbuf_add(out, module, (size_t)(end - module));
	strbuf_adds(out, "::");
	end += strlen(mark);
	size = strcspn(end, ".");
	strbuf_add(out, end, size);
	return size;
}

/* GNU Prolog's "X0_spin__a3" → "spin/3", and "X1_243F__a0", in hexadecimal, → "$?/0" */
static bool demangle_prolog(const char *name, size_t size, struct strbuf *out)
{
	static const char mark[] = "__a";
	const char *at = name + strlen("X0_"), *end = name + size;

	if (!text_starts_with(name, "X0_") && !text_starts_with(name, "X1_"))
		return false;
	while (end > at && is_digit(end[-1]))
		end--;
	if (!*end || (size_t)(end - at) <= strlen(mark) ||
	    !text_starts_with(end - strlen(mark), mark))
		return false;
	for (size = (size_t)(end - at) - strlen(mark); size; size--, at++) {
		int high = lower_hex((char)tolower((unsigned char)at[0]));
		int low = lower_hex((char)tolower((unsigned char)at[1]));

		if (name[1] == '0') {
			strbuf_addch(out, *at);
			continue;
		}
		if (size-- < 2 || high < 2 || high > 7 || low < 0)
			return false;
		strbuf_addch(out, (char)(high << 4 | low));
		at++;
	}
	strbuf_addf(out, "/%s", end);
	return true;
}

bool demangle_others(const char *name, size_t size, struct strbuf *readable)
{
	static bool (*const readers[])(const char *, size_t, struct strbuf *) = {
		demangle_python, demangle_ocaml,   demangle_ghc,    demangle_swift,
		demangle_pascal, demangle_fortran, demangle_prolog,
	};

	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		strbuf_reset(readable);
		if (readers[i](name, size, readable) && readable->size)
			return true;
	}
	return false;
}
