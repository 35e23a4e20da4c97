/* SPDX-License-Identifier: MIT */
#include "cmd/options/sanitize_options.h"

static const struct {
	const char *name;
	bool is_default;
} classes[SANITIZE_CLASS_COUNT] = {
#define CLASS_ROW(id, name, is_default, one, many) [SANITIZE_##id] = {name, is_default},
	SANITIZE_CLASSES(CLASS_ROW)
#undef CLASS_ROW
};

void sanitize_options_default(struct sanitize_settings *s)
{
	s->is_asked = true;
	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++)
		s->options.removes[i] |= classes[i].is_default;
}

static int fail_class(const char *name, size_t size, struct error *err)
{
	struct strbuf known __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++)
		strbuf_addf(&known, "%s, ", classes[i].name);
	return error_text(err, -EINVAL,
			  "--sanitize: unknown '%.*s'; must be one of %sall, names=RE", (int)size,
			  name, strbuf_text(&known));
}

static int set_class(struct sanitize_settings *s, const char *name, size_t size, struct error *err)
{
	bool is_all = size == 3 && memcmp(name, "all", 3) == 0, found = is_all;

	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++) {
		if (is_all ||
		    (strlen(classes[i].name) == size && memcmp(classes[i].name, name, size) == 0))
			found = s->options.removes[i] = true;
	}
	return found ? 0 : fail_class(name, size, err);
}

static int set_list(struct sanitize_settings *s, const char *list, struct error *err)
{
	int ret = 0;

	s->is_asked = true;
	/* An expression may contain commas, so it comes last in the list. */
	if (text_starts_with(list, "names="))
		sanitize_options_default(s);
	while (!ret && *list) {
		size_t size = strcspn(list, ",");

		if (text_starts_with(list, "names=")) {
			s->options.names = list + strlen("names=");
			return 0;
		}
		ret = set_class(s, list, size, err);
		list += size + (list[size] == ',');
	}
	return ret;
}

int sanitize_set(void *at, const char *value, struct error *err)
{
	struct sanitize_settings *s = at;

	if (value && !*value)
		return error_text(err, -EINVAL, "--sanitize: the list is empty");
	if (value)
		return set_list(s, value, err);
	sanitize_options_default(s);
	return 0;
}

const struct option_row sanitize_options[] = {
	{.help = "\nFor others to read:"},
	{0, "sanitize", "[=LIST]",
	 "write only data known to be harmless; leave out LIST: args, env, paths,\n"
	 "host, users, processes, threads, markers, times, sources,\n"
	 "build-ids; all; default: args, env, paths, host, users, sources.\n"
	 "Last in LIST, names=RE: other functions and modules are hashed",
	 OPTION_CALL, .set = sanitize_set},
	{0, "sanitize-key", "FILE",
	 "key for these hashes, 16 bytes or more (default: one of your own)", OPTION_TEXT,
	 OPTION_AT(sanitize_settings, key_path)},
	{0, "check-sanitized", NULL,
	 "search the result for users, host, home, paths and arguments:\n"
	 "exit with 1, without writing a file, if one is found",
	 OPTION_FLAG, OPTION_AT(sanitize_settings, checks)},
	{0},
};
