/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/*
 * HotSpot: names in perf maps are signatures such as "int W.fib(int)", which do not identify the
 * language.
 *
 * Functions that prof finds itself are named "package.Class.method", or "package.Class.method(int)"
 * with types. Compilers of other languages encode their functions' names in those of classes and
 * methods, each by its own rules; the file's suffix or a mark identifies the language.
 */

static const char *const tiers[] = {"Other",  "Interpreter", "C1",	  "C2",
				    "Native", "Stub",	     "Uncertain", NULL};

/* Not terminated. */
struct piece {
	const char *at;
	size_t size;
};

/* The parts of a method's name. */
struct method {
	struct piece class, name;
	struct piece types; /* "(int)"; empty: not wanted */
	struct piece file; /* empty: unknown */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is(struct piece p, const char *text)
{
	return p.size == strlen(text) && memcmp(p.at, text, p.size) == 0;
}

static bool begins(struct piece p, const char *text)
{
	return code_name_starts_with(p.at, p.size, text);
}

static struct piece behind(struct piece p, size_t count)
{
	return (struct piece){p.at + count, p.size - count};
}

static bool cut_begin(struct piece *p, const char *text)
{
	if (!begins(*p, text))
		return false;
	*p = behind(*p, strlen(text));
	return true;
}

static bool ends(struct piece p, const char *text)
{
	size_t size = strlen(text);

	return p.size >= size && memcmp(p.at + p.size - size, text, size) == 0;
}

static bool cut_end(struct piece *p, const char *text)
{
	if (!ends(*p, text))
		return false;
	p->size -= strlen(text);
	return true;
}

/* Removes digits from the end. False if there are none. */
static bool cut_number(struct piece *p)
{
	size_t size = p->size;

	while (p->size && is_digit(p->at[p->size - 1]))
		p->size--;
	return p->size < size;
}

/* Removes the text and everything after it, if present. */
static bool cut_from(struct piece *p, const char *text)
{
	const char *at = p->size ? memmem(p->at, p->size, text, strlen(text)) : NULL;

	if (at)
		p->size = (size_t)(at - p->at);
	return at;
}

/* Returns the text after the last such character; the whole text if there is none. */
static struct piece behind_last(struct piece p, char c)
{
	const char *at = p.size ? memrchr(p.at, c, p.size) : NULL;

	return at ? behind(p, (size_t)(at - p.at) + 1) : p;
}

static void add(struct strbuf *out, struct piece p)
{
	strbuf_add(out, p.at, p.size);
}

/* An escape sequence in names of the class file, and its meaning. */
struct escape {
	const char *text;
	char meaning;
};

/* Returns the escape at the beginning of the text; NULL if there is none. */
static const struct escape *find_escape(struct piece p, const struct escape *escapes, size_t count)
{
	return items_find(escapes, count, it, begins(p, it->text));
}

/* JRuby */

#define RUBY_MARK "\xef\xb8\x8f\xe2\x9d\xa4"
#define NO_BREAK "\xc2\xa0"

/* Forms of compiled scopes' names: MARK KIND NAME NUMBER, with separators. */
static const struct ruby_form {
	/* suffix of a variant that takes its arguments as an array */
	const char *mark, *between, *number, *again;
	const char *method, *block;
} ruby_forms[] = {
	{RUBY_MARK, NO_BREAK, "#", NO_BREAK "**", "def", "{}"}, /* 10 */
	{"RUBY", "$", "", "$__VARARGS__", "method", "block"}, /* 9 */
};

/* Appends a name, decoding characters that the JVM forbids. False if it is not one of JRuby's. */
static bool add_ruby_name(struct strbuf *out, struct piece name)
{
	static const char escapes[] = "-|,?!%{}^_", meanings[] = "\\/.;:$[]<>";
	const char *escape;

	if (!cut_begin(&name, "\\=")) {
		add(out, name);
		return name.size && !memchr(name.at, '\\', name.size);
	}
	for (size_t i = 0; i < name.size; i++) {
		if (name.at[i] != '\\') {
			strbuf_addch(out, name.at[i]);
			continue;
		}
		escape = ++i < name.size ? memchr(escapes, name.at[i], sizeof(escapes) - 1) : NULL;
		if (!escape)
			return false;
		strbuf_addch(out, meanings[escape - escapes]);
	}
	return name.size;
}

/* Appends the name of a scope, "KIND" or "KIND NAME", in the form of Ruby's own backtraces. */
static bool add_ruby_scope(struct strbuf *out, struct piece scope, const struct ruby_form *form)
{
	static const char *const bodies[] = {"class", "module"};

	if (is(scope, "metaclass")) {
		strbuf_adds(out, "singleton class");
		return true;
	}
	if (cut_begin(&scope, form->method) && cut_begin(&scope, form->between))
		return add_ruby_name(out, scope);
	if (cut_begin(&scope, form->block) && cut_begin(&scope, form->between)) {
		strbuf_adds(out, "block in ");
		return add_ruby_name(out, scope);
	}
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
		struct piece name = scope;

		if (!cut_begin(&name, bodies[i]) || !cut_begin(&name, form->between))
			continue;
		strbuf_addf(out, "<%s:", bodies[i]);
		if (!add_ruby_name(out, name))
			return false;
		strbuf_addch(out, '>');
		return true;
	}
	return false;
}

static bool decode_ruby_scope(struct piece name, struct strbuf *out, enum code_role *role)
{
	for (size_t i = 0; i < sizeof(ruby_forms) / sizeof(*ruby_forms); i++) {
		const struct ruby_form *form = &ruby_forms[i];
		struct piece scope = name;

		if (!cut_begin(&scope, form->mark) || !cut_begin(&scope, form->between))
			continue;
		if (is(scope, "script")) {
			strbuf_adds(out, "<main>");
			return true;
		}
		if (cut_end(&scope, form->again))
			*role = CODE_ENTRY;
		return cut_number(&scope) && cut_end(&scope, form->number) &&
		       cut_end(&scope, form->between) && add_ruby_scope(out, scope, form);
	}
	return false;
}

/* Names a call site, "invokeOther16:name". */
static bool decode_ruby_call(struct piece name, struct strbuf *out)
{
	const char *colon = name.size ? memchr(name.at, ':', name.size) : NULL;
	struct piece site = {name.at, colon ? (size_t)(colon - name.at) : 0};

	if (!begins(site, "invoke") || !cut_number(&site))
		return false;
	while (site.size && is_letter(site.at[site.size - 1]))
		site.size--;
	if (site.size || !add_ruby_name(out, behind(name, (size_t)(colon - name.at) + 1)))
		return false;
	strbuf_adds(out, " (call)");
	return true;
}

static bool decode_ruby(const struct method *m, struct strbuf *out, enum code_role *role)
{
	if (decode_ruby_scope(m->name, out, role))
		return true;
	strbuf_reset(out);
	if (is(m->name, "run") && ends(m->file, ".rb")) {
		*role = CODE_ENTRY;
		strbuf_adds(out, "<main>");
		return true;
	}
	*role = CODE_MACHINERY;
	return decode_ruby_call(m->name, out);
}

/* Jython: "org.python.pycode._pyx0.name$1", with a class for each file. */
static bool decode_python(const struct method *m, struct strbuf *out, enum code_role *role)
{
	struct piece class = behind_last(m->class, '.'), name = m->name;

	if (!ends(m->file, ".py") ||
	    !(cut_end(&class, "$py") || (cut_number(&class) && is(class, "_pyx"))))
		return false;
	if (is(m->name, "call_function")) {
		*role = CODE_MACHINERY;
		strbuf_adds(out, "(call)");
		return true;
	}
	if (!cut_number(&name) || !cut_end(&name, "$") || !name.size)
		return false;
	if (is(m->name, "f$0"))
		strbuf_adds(out, "<module>");
	else if (is(name, "f")) /* also the name of anonymous functions */
		add(out, m->name);
	else
		add(out, name);
	return true;
}

/* Clojure */

static const struct escape clojure_escapes[] = {
	{"_SINGLEQUOTE_", '\''},
	{"_DOUBLEQUOTE_", '"'},
	{"_AMPERSAND_", '&'},
	{"_PERCENT_", '%'},
	{"_LBRACE_", '{'},
	{"_RBRACE_", '}'},
	{"_LBRACK_", '['},
	{"_RBRACK_", ']'},
	{"_BSLASH_", '\\'},
	{"_COLON_", ':'},
	{"_TILDE_", '~'},
	{"_CIRCA_", '@'},
	{"_SHARP_", '#'},
	{"_CARET_", '^'},
	{"_SLASH_", '/'},
	{"_QMARK_", '?'},
	{"_PLUS_", '+'},
	{"_BANG_", '!'},
	{"_STAR_", '*'},
	{"_BAR_", '|'},
	{"_GT_", '>'},
	{"_LT_", '<'},
	{"_EQ_", '='},
	{"_", '-'},
	{"$", '/'},
};

static void add_clojure_name(struct strbuf *out, struct piece name)
{
	while (name.size) {
		const struct escape *escape = find_escape(
			name, clojure_escapes, sizeof(clojure_escapes) / sizeof(*clojure_escapes));

		strbuf_addch(out, escape ? escape->meaning : *name.at);
		name = behind(name, escape ? strlen(escape->text) : 1);
	}
}

/* Strips the number that the compiler appends to make a name unique, "fn__149". */
static struct piece without_serial(struct piece name)
{
	for (size_t i = 1; i + 2 < name.size; i++) {
		if (name.at[i] == '_' && name.at[i + 1] == '_' && is_digit(name.at[i + 2]))
			return (struct piece){name.at, i};
	}
	return name;
}

/* Appends a function's name, derived from its class's, "name.space$outer$inner__1". */
static void add_clojure_class(struct strbuf *out, struct piece class)
{
	for (;;) {
		struct piece part = class;
		bool is_last = !cut_from(&part, "$");

		add_clojure_name(out, without_serial(part));
		if (is_last)
			return;
		strbuf_addch(out, '/');
		class = behind(class, part.size + 1);
	}
}

static bool decode_clojure(const struct method *m, struct strbuf *out, enum code_role *role)
{
	static const char *const entries[] = {"invoke", "invokePrim", "doInvoke"};
	bool is_function = is(m->name, "invokeStatic");

	if (!(ends(m->file, ".clj") || ends(m->file, ".cljc")) || ends(m->class, "__init") ||
	    begins(m->name, "<"))
		return false;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (is(m->name, entries[i])) {
			*role = CODE_ENTRY;
			is_function = true;
		}
	}
	add_clojure_class(out, m->class);
	if (is_function && memchr(m->class.at, '$', m->class.size))
		return true;
	*role = CODE_OWN;
	strbuf_addch(out, '/');
	add_clojure_name(out, m->name);
	return true;
}

/* Scala */

static const struct escape scala_escapes[] = {
	{"$percent", '%'}, {"$greater", '>'}, {"$bslash", '\\'}, {"$tilde", '~'}, {"$minus", '-'},
	{"$times", '*'},   {"$colon", ':'},   {"$qmark", '?'},	 {"$less", '<'},  {"$bang", '!'},
	{"$hash", '#'},	   {"$plus", '+'},    {"$amp", '&'},	 {"$bar", '|'},	  {"$div", '/'},
	{"$eq", '='},	   {"$up", '^'},      {"$at", '@'},
};

/* Returns the ASCII character encoded by "$u0020"; 0 if it is not a visible one. */
static char scala_character(struct piece p)
{
	const char *at = p.at + 4;
	uint64_t value;

	if (p.size < 6 || !begins(p, "$u00") || !text_scan_hex(&at, p.at + 6, &value) ||
	    at != p.at + 6)
		return 0;
	return value >= ' ' && value < 0x7f ? (char)value : 0;
}

/*
 * Returns the escape at the beginning; NULL if there is none. No longer word begins with an
 * operator's.
 */
static const struct escape *scala_escape(struct piece name)
{
	const struct escape *escape = find_escape(name, scala_escapes,
						  sizeof(scala_escapes) / sizeof(*scala_escapes));
	size_t size = escape ? strlen(escape->text) : 0;

	return size < name.size && (is_letter(name.at[size]) || is_digit(name.at[size])) ? NULL
											 : escape;
}

static void add_scala_name(struct strbuf *out, struct piece name)
{
	while (name.size) {
		const struct escape *escape = scala_escape(name);
		char c = scala_character(name);

		strbuf_addch(out, c ? c : escape ? escape->meaning : *name.at);
		name = behind(name, c ? 6 : escape ? strlen(escape->text) : 1);
	}
}

/* Strips the class name that precedes a private method's name, "p$Class$$". */
static void cut_scala_class(struct piece class, struct piece *name)
{
	if (name->size < class.size + 2 || memcmp(name->at + class.size, "$$", 2) != 0)
		return;
	for (size_t i = 0; i < class.size; i++) {
		if (name->at[i] != (class.at[i] == '.' ? '$' : class.at[i]))
			return;
	}
	*name = behind(*name, class.size + 2);
}

/* Appends a class and a dot; strips the mark of objects, and omits a file's own object. */
static void add_scala_class(struct strbuf *out, struct piece class)
{
	struct piece last = behind_last(class, '.');

	if (is(last, "package$") || ends(last, "$package$")) {
		class.size -= last.size;
		add_scala_name(out, class);
		return;
	}
	cut_end(&class, "$");
	add_scala_name(out, class);
	strbuf_addch(out, '.');
}

/*
 * Strips the compiler's marks from a method's name. Returns the method's kind; "" for an ordinary
 * method.
 */
static const char *cut_scala_marks(struct piece *name, enum code_role *role)
{
	struct piece whole = *name;

	if (cut_end(name, "$adapted") || memmem(name->at, name->size, "$anonfun$adapted$", 17))
		*role = CODE_ENTRY;
	if (cut_from(name, "$$anonfun$"))
		return " (lambda)";
	if (cut_begin(name, "$anonfun$")) {
		if (cut_number(name) && cut_end(name, "$"))
			return " (lambda)";
		*name = whole;
	}
	if (cut_end(name, "$lzycompute"))
		return " (lazy)";
	if (cut_number(name) && cut_end(name, "$lzyINIT"))
		return " (lazy)";
	name->size = whole.size;
	if (!is(*name, "$init$") && cut_end(name, "$"))
		*role = CODE_ENTRY;
	cut_end(name, "$extension");
	return "";
}

static bool decode_scala(const struct method *m, struct strbuf *out, enum code_role *role)
{
	struct piece name = m->name;
	const char *kind;

	if (!ends(m->file, ".scala") && !ends(m->file, ".sc"))
		return false;
	cut_scala_class(m->class, &name);
	kind = cut_scala_marks(&name, role);
	if (!name.size)
		return false;
	add_scala_class(out, m->class);
	add_scala_name(out, name);
	add(out, m->types);
	strbuf_adds(out, kind);
	return true;
}

/* Kotlin */

/* True for the class of a file's top-level functions: "ProgKt", "FacadeKt__ProgKt". */
static bool is_kotlin_file(struct piece class, struct piece file)
{
	const char *parts = class.size ? memmem(class.at, class.size, "Kt__", 4) : NULL;
	struct piece base = behind_last(file, '/');

	if (parts)
		class = behind(class, (size_t)(parts - class.at) + 4);
	if (!cut_end(&base, ".kt") || !cut_end(&class, "Kt") || class.size != base.size)
		return false;
	for (size_t i = 0; i < base.size; i++) {
		char c = base.at[i];

		if (!i && c >= 'a' && c <= 'z')
			c -= 'a' - 'A';
		else if (!is_letter(c) && !is_digit(c) && !(c & 0x80))
			c = '_';
		if (class.at[i] != c)
			return false;
	}
	return true;
}

/* Appends a class and a dot; only its package if the class represents a file. */
static void add_kotlin_class(struct strbuf *out, struct piece class, struct piece file)
{
	struct piece last = behind_last(class, '.');

	cut_end(&class, "$Companion");
	if (is_kotlin_file(last, file))
		class.size -= last.size;
	add(out, class);
	if (class.size && class.at[class.size - 1] != '.')
		strbuf_addch(out, '.');
}

/*
 * Splits the class of a lambda, "p.Class$function$1", at the function. False if it is not a lambda
 * or not in a function.
 */
static bool split_kotlin_lambda(struct piece class, struct piece *outer, struct piece *function)
{
	for (size_t i = 1; i + 1 < class.size; i++) {
		struct piece number = behind(class, i + 1), before = {class.at, i}, last;

		if (class.at[i] != '$')
			continue;
		cut_from(&number, "$");
		if (!cut_number(&number) || number.size)
			continue;
		last = behind_last(before, '$');
		if (!last.size || last.size == before.size)
			return false;
		*function = last;
		*outer = (struct piece){before.at, before.size - last.size - 1};
		return true;
	}
	return false;
}

/* Strips the suffixes of value classes from a name: "-impl", "-<hash>". */
static void cut_kotlin_hash(struct piece *name)
{
	const char *at = name->size ? memrchr(name->at, '-', name->size) : NULL;
	size_t begin = at ? (size_t)(at - name->at) : 0, size = name->size - begin;

	if (!begin || (size != 8 && !ends(*name, "-impl")))
		return;
	for (size_t i = begin + 1; i < name->size; i++) {
		if (!is_letter(name->at[i]) && !is_digit(name->at[i]) && name->at[i] != '_')
			return;
	}
	name->size = begin;
}

static bool decode_kotlin(const struct method *m, struct strbuf *out, enum code_role *role)
{
	struct piece class = m->class, name = m->name;
	const char *kind = "";

	if (!ends(m->file, ".kt") && !ends(m->file, ".kts"))
		return false;
	if (is(name, "invokeSuspend") && split_kotlin_lambda(m->class, &class, &name))
		kind = " (suspend)";
	else if (is(name, "invoke") && split_kotlin_lambda(m->class, &class, &name))
		kind = " (lambda)";
	else if (cut_from(&name, "$lambda$"))
		kind = " (lambda)";
	else if (cut_end(&name, "$default") || cut_begin(&name, "access$"))
		*role = CODE_ENTRY;
	else
		cut_end(&name, "$suspendImpl");
	cut_kotlin_hash(&name);
	if (!name.size)
		return false;
	add_kotlin_class(out, class, m->file);
	add(out, name);
	add(out, m->types);
	strbuf_adds(out, kind);
	return true;
}

/* Groovy: closures are classes, "Class$_function_closure1". */
static bool decode_groovy(const struct method *m, struct strbuf *out, enum code_role *role)
{
	struct piece class = m->class, function;

	if (!ends(m->file, ".groovy") || !is(m->name, "doCall") || !cut_from(&class, "$_"))
		return false;
	function = behind(m->class, class.size + 2);
	if (!class.size || !cut_from(&function, "closure"))
		return false;
	add(out, class);
	if (cut_end(&function, "_") && function.size) {
		strbuf_addch(out, '.');
		add(out, function);
	}
	add(out, m->types);
	strbuf_adds(out, " (closure)");
	return true;
}

/*
 * True for code generated by the JVM to link a call to its target: classes without a file, and
 * methods that jump to the target.
 */
static bool is_method_handle(const struct method *m)
{
	static const char *const holders[] = {"DirectMethodHandle$Holder",
					      "DelegatingMethodHandle$Holder", "Invokers$Holder"};
	struct piece class = m->class;

	if (!cut_begin(&class, "java.lang.invoke."))
		return false;
	if (is(class, "MethodHandle") && (is(m->name, "invokeBasic") || begins(m->name, "linkTo")))
		return true;
	if (ends(m->file, ".java"))
		return false;
	return array_find(holders, it, is(class, *it)) || begins(class, "LambdaForm$");
}

static bool decode_handle(const struct method *m, struct strbuf *out, enum code_role *role)
{
	if (!is_method_handle(m))
		return false;
	*role = CODE_MACHINERY;
	strbuf_adds(out, "java.lang.invoke (method handles)");
	return true;
}

/* Splits at the last dot: names of methods and types contain none. */
static bool split(struct piece text, struct method *m)
{
	if (ends(text, ")")) {
		const char *open = memrchr(text.at, '(', text.size);

		if (!open)
			return false;
		m->types = behind(text, (size_t)(open - text.at));
		text.size -= m->types.size;
	}
	m->name = behind_last(text, '.');
	if (m->name.size == text.size || !m->name.size)
		return false;
	m->class = (struct piece){text.at, text.size - m->name.size - 1};
	return m->class.size;
}

static enum code_role translate(const char *name, size_t size, const char *file, size_t file_size,
				struct strbuf *out)
{
	static bool (*const decoders[])(const struct method *, struct strbuf *,
					enum code_role *) = {
		decode_handle, decode_ruby,   decode_python, decode_clojure,
		decode_scala,  decode_kotlin, decode_groovy,
	};
	struct method m = {.file = {file, file_size}};

	if (!split((struct piece){name, size}, &m))
		return CODE_OWN;
	for (size_t i = 0; i < sizeof(decoders) / sizeof(*decoders); i++) {
		enum code_role role = CODE_OWN;

		if (decoders[i](&m, out, &role))
			return role;
		strbuf_reset(out);
	}
	return CODE_OWN;
}

const struct language language_java = {
	.category = {language_title_java, "red", tiers},
	.translate = translate,
	.library = "libjvm.so",
	.has_own_heap = true,
};
