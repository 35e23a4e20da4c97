/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/*
 * Erlang and Elixir: "module:function/1", 'Elixir.Space.Module':function/1 with atoms in quotes
 * where necessary, '-function/1-fun-0-' for anonymous functions, and "module::name" or
 * "global::name" for code of the runtime itself
 */

enum tier { TIER_OTHER, TIER_RUNTIME, TIER_COUNT };

static const char *const tiers[TIER_COUNT + 1] = {
	[TIER_OTHER] = "Other",
	[TIER_RUNTIME] = "Runtime",
};

static const char elixir[] = "Elixir.";
#define ELIXIR_SIZE (sizeof(elixir) - 1)

/* Part of a name. */
struct part {
	const char *text;
	size_t size;
};

static bool is_atom_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '@' || (unsigned char)c >= 0x80;
}

/* Takes an atom off the front, without its quotes. Returns false if there is none. */
static bool take_atom(struct part *rest, struct part *atom)
{
	size_t size = 0, quotes = rest->size && *rest->text == '\'';

	if (quotes) {
		for (size = 1; size < rest->size && rest->text[size] != '\''; size++)
			size += rest->text[size] == '\\';
		if (size >= rest->size)
			return false;
		size++;
	} else {
		while (size < rest->size && is_atom_byte(rest->text[size]))
			size++;
	}
	*atom = (struct part){rest->text + quotes, size - 2 * quotes};
	*rest = (struct part){rest->text + size, rest->size - size};
	return atom->size;
}

static bool is_arity(struct part part)
{
	if (part.size < 2 || *part.text != '/')
		return false;
	for (size_t i = 1; i < part.size; i++) {
		if (part.text[i] < '0' || part.text[i] > '9')
			return false;
	}
	return true;
}

struct function {
	struct part module, name, arity; /* arity with its slash */
};

static bool parse(struct function *f, const char *text, size_t size)
{
	struct part rest = {text, size};

	if (!take_atom(&rest, &f->module) || !rest.size || *rest.text != ':')
		return false;
	rest = (struct part){rest.text + 1, rest.size - 1};
	if (!take_atom(&rest, &f->name))
		return false;
	f->arity = rest;
	return is_arity(rest);
}

/* Perf maps have a "$" before a function, and dumps a mark after the preceding code. */
static bool parse_name(struct code_name *out, const char *text, size_t size)
{
	static const char runtime[] = "global::", module[] = "erts_beamasm:",
			  entry[] = "-CodeInfoPrologue";
	const size_t mark = sizeof(entry) - 1;
	struct function function;

	if (size && *text == '$') {
		text++;
		size--;
	}
	if (size > mark && memcmp(text + size - mark, entry, mark) == 0)
		size -= mark;

	if (code_name_starts_with(text, size, runtime) || code_name_starts_with(text, size, module))
		out->tier = TIER_RUNTIME;
	else if (!parse(&function, text, size))
		return false;
	out->name = text;
	out->name_size = size;
	return true;
}

static void add(struct strbuf *out, struct part part)
{
	strbuf_add(out, part.text, part.size);
}

/* "-function/1-fun-0-": sets the parts before and after the dash. */
static bool is_anonymous(struct part name, struct part *function, struct part *kind)
{
	const char *slash, *dash;

	if (name.size < 2 || *name.text != '-' || name.text[name.size - 1] != '-')
		return false;
	name = (struct part){name.text + 1, name.size - 2};
	slash = memchr(name.text, '/', name.size);
	dash = slash ? memchr(slash, '-', (size_t)(name.text + name.size - slash)) : NULL;
	if (!dash)
		return false;
	*function = (struct part){name.text, (size_t)(dash - name.text)};
	*kind = (struct part){dash + 1, (size_t)(name.text + name.size - dash - 1)};
	return true;
}

/* Elixir's own form: "Space.Module.function/1", "anonymous fn/1 in Space.Module.function/2" */
static void translate_elixir(const struct function *f, struct strbuf *out)
{
	struct part function, kind,
		module = {f->module.text + ELIXIR_SIZE, f->module.size - ELIXIR_SIZE};
	bool is_function = is_anonymous(f->name, &function, &kind) &&
			   code_name_starts_with(kind.text, kind.size, "fun-");

	if (is_function) {
		strbuf_adds(out, "anonymous fn");
		add(out, f->arity);
		strbuf_adds(out, " in ");
	}
	add(out, module);
	strbuf_addch(out, '.');
	add(out, is_function ? function : f->name);
	if (!is_function)
		add(out, f->arity);
}

/* "module:function/1-fun-0" for an anonymous function; other names are Erlang's own. */
static enum code_role translate(const char *name, size_t size, const char *file, size_t file_size,
				struct strbuf *out)
{
	struct function f;
	struct part function, kind;

	if (!parse(&f, name, size))
		return CODE_OWN;
	if (f.module.size > ELIXIR_SIZE && memcmp(f.module.text, elixir, ELIXIR_SIZE) == 0) {
		translate_elixir(&f, out);
	} else if (is_anonymous(f.name, &function, &kind)) {
		add(out, f.module);
		strbuf_addch(out, ':');
		add(out, function);
		strbuf_addch(out, '-');
		add(out, kind);
	}
	return CODE_OWN;
}

const struct language language_erlang = {
	.category = {language_title_erlang, "red", tiers},
	.parse_name = parse_name,
	.translate = translate,
};
