/* SPDX-License-Identifier: MIT */
#include "cmd/options/option_table.h"

/* Maximum number of options of a command. */
#define OPTIONS_MAX 96

/* Options of perf(1) and their counterparts in prof; letter 0: long name only. */
static const struct {
	char letter;
	const char *name, *text;
} perf_options[] = {
	{'g', "call-graph", "stacks are always recorded; --unwind chooses how"},
	{'c', "count",
	 "-F and -i set the rate of the clock, -e EVENT/period=N samples other events"},
	{'C', NULL, "CPUs are chosen by --cpu"},
	{'t', NULL, "threads are chosen by --tid with -a, or by --thread"},
	{'u', NULL, "users are chosen by --uid with -a"},
	{'G', NULL, "control groups are chosen by --cgroup with -a"},
	{'m', "mmap-pages", "the size of buffers is set by --ring-size"},
};

static const struct {
	const char *name, *text;
} perf_commands[] = {
	{"annotate", "for the lines of a function, run: prof report --annotate NAME"},
	{"stat", "to sample an event, run: prof record -e EVENT -- COMMAND"},
	{"list", "for a list of events, run: man prof-events"},
};

/* True if a shell would find a program of that name. */
static bool is_program(const char *word)
{
	_cleanup_free_ char *dirs = NULL;
	const char *path = getenv("PATH");
	char *rest, *dir;

	if (strchr(word, '/'))
		return access(word, X_OK) == 0;
	rest = dirs = xstrdup(path ? path : "/usr/bin:/bin");
	while ((dir = strsep(&rest, ":"))) {
		_cleanup_free_ char *file = xasprintf("%s/%s", *dir ? dir : ".", word);

		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

void hint_unknown_command(struct error *err, const char *word, const char *const *names,
			  size_t count)
{
	const char *nearest = near_miss(word, names, count);

	for (size_t i = 0; i < sizeof(perf_commands) / sizeof(perf_commands[0]); i++) {
		if (strcmp(word, perf_commands[i].name) != 0)
			continue;
		error_text(err, -EINVAL, "unknown command '%s': %s", word, perf_commands[i].text);
		return;
	}
	if (nearest)
		error_text(err, -EINVAL, "unknown command '%s': did you mean '%s'?", word, nearest);
	else if (*word && is_program(word))
		error_text(err, -EINVAL,
			   "unknown command '%s': to record it, run: prof record -- %s", word,
			   word);
	else
		error_text(err, -EINVAL, "unknown command '%s'", word);
}

static bool has_option(const struct option *longs, const char *name)
{
	for (; longs->name; longs++) {
		if (strcmp(longs->name, name) == 0)
			return true;
	}
	return false;
}

static const char *perf_hint(int letter, const char *name)
{
	for (size_t i = 0; i < sizeof(perf_options) / sizeof(perf_options[0]); i++) {
		const char *other = perf_options[i].name;

		if (letter ? perf_options[i].letter == letter : other && strcmp(name, other) == 0)
			return perf_options[i].text;
	}
	return NULL;
}

/* Reports "--no: --no-symbols or --no-children" if the name is ambiguous. */
static bool say_ambiguous(struct error *err, const char *name, const struct option *longs)
{
	_cleanup_(strbuf_release) struct strbuf list = {0};
	unsigned int count = 0;

	for (; longs->name; longs++) {
		if (strncmp(longs->name, name, strlen(name)) != 0)
			continue;
		count++;
		strbuf_addf(&list, "%s--%s", list.size ? ", " : "", longs->name);
	}
	if (count < 2 || !*name)
		return false;
	error_text(err, -EINVAL, "--%s is ambiguous: %s", name, strbuf_text(&list));
	return true;
}

void hint_unknown_option(struct error *err, int letter, const char *word,
			 const struct option *longs)
{
	_cleanup_free_ char *name = NULL;
	const char *names[OPTIONS_MAX], *found;
	size_t count = 0;

	if (strncmp(word, "--", 2) == 0)
		word += 2;
	name = letter ? xasprintf("-%c", letter) : xstrndup(word, strcspn(word, "="));
	found = has_option(longs, "unwind") ? perf_hint(letter, name) : NULL;
	if (found) {
		error_text(err, -EINVAL, "unknown option %s%s: %s", letter ? "" : "--", name,
			   found);
		return;
	}
	if (letter) {
		error_text(err, -EINVAL, "unknown option %s", name);
		return;
	}
	if (say_ambiguous(err, name, longs))
		return;
	for (const struct option *it = longs; it->name && count < OPTIONS_MAX; it++)
		names[count++] = it->name;
	found = near_miss(name, names, count);
	if (found)
		error_text(err, -EINVAL, "unknown option --%s: did you mean --%s?", name, found);
	else
		error_text(err, -EINVAL, "unknown option --%s", name);
}

/* Tracks given options, and conflicts between them. */

static bool has_word(const char *words, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = words; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (strncmp(at, name, size) == 0 && (!at[size] || at[size] == ' '))
			return true;
	}
	return false;
}

/* `names` are separated by spaces. */
bool option_table_has(const struct option_table *t, const char *names)
{
	return vec_find(&t->rows, it, it->is_given && has_word(names, it->row.name));
}

void option_table_give(struct option_table *t, const char *name)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		if (t->rows.items[i].row.name && strcmp(t->rows.items[i].row.name, name) == 0)
			t->rows.items[i].is_given = true;
	}
}

bool option_table_excludes(const struct option_table *t, const char *one, const char *other)
{
	vec_for_each(&t->rules, const struct option_rule **, it) {
		const struct option_rule *rule = *it;

		if (rule->with &&
		    ((strcmp(rule->option, one) == 0 && has_word(rule->with, other)) ||
		     (strcmp(rule->option, other) == 0 && has_word(rule->with, one))))
			return true;
	}
	return false;
}

bool option_table_lacks(const struct option_table *t, const char *name)
{
	vec_for_each(&t->rules, const struct option_rule **, it) {
		const struct option_rule *rule = *it;

		if (rule->without && strcmp(rule->option, name) == 0 &&
		    !option_table_has(t, rule->without))
			return true;
	}
	return false;
}

/* Adds "--a, --b or --c" for "a b c". */
static void add_names(struct strbuf *out, const char *names)
{
	while (*names) {
		size_t size = strcspn(names, " ");
		const char *next = names + size + (names[size] == ' ');

		strbuf_addf(out, "--%.*s%s", (int)size, names,
			    !*next		? ""
			    : strchr(next, ' ') ? ", "
						: " or ");
		names = next;
	}
}

static void option_expand(struct strbuf *out, const char *text, const char *insert, int indent);

static int fail_rule(const struct option_rule *rule, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf what = {0}, text = {0};

	strbuf_adds(&what, rule->with ? "not with " : "needs ");
	add_names(&what, rule->with ? rule->with : rule->without);
	if (!rule->text)
		strbuf_addf(&text, "--%s: ", rule->option);
	option_expand(&text, rule->text ? rule->text : "@", strbuf_text(&what), 0);
	return error_text(err, -EINVAL, "%s", strbuf_text(&text));
}

int option_table_judge(const struct option_table *t, struct error *err)
{
	vec_for_each(&t->rules, const struct option_rule **, it) {
		const struct option_rule *rule = *it;

		if (option_table_has(t, rule->option) &&
		    (!rule->with || option_table_has(t, rule->with)) &&
		    (!rule->without || !option_table_has(t, rule->without)))
			return fail_rule(rule, err);
	}
	return 0;
}

/* Values of options for getopt_long(): the row's number is added. */
#define FIRST_VALUE 256
/* Column of the help texts. Longer names get a line of their own. */
#define NAME_WIDTH 22

/* Defaults precede the other words. They were already dropped. */
static int set_nothing(void *at, const char *value, struct error *err)
{
	return 0;
}

#define HELP \
	{ \
		'h', "help", NULL, "show this and exit", .type = OPTION_HELP \
	}

const struct option_row option_common[] = {
	{0, "no-config", NULL, "leave out the defaults of prof-config(1)", OPTION_CALL,
	 .set = set_nothing},
	HELP,
	{0},
};

const struct option_row option_help[] = {HELP, {0}};

void option_table_release(struct option_table *t)
{
	vec_release(&t->rows);
	vec_release(&t->rules);
	vec_release(&t->longs);
	strbuf_release(&t->shorts);
}

void option_table_add_row(struct option_table *t, const struct option_row *row, void *target)
{
	vec_add_zeroed(&t->rows, 1);
	vec_last(&t->rows).row = *row;
	vec_last(&t->rows).target = target;
}

void option_table_add(struct option_table *t, const struct option_row *rows, void *target)
{
	for (; rows->name || rows->help; rows++)
		option_table_add_row(t, rows, target);
}

void option_table_add_rules(struct option_table *t, const struct option_rule *rules)
{
	for (; rules->option; rules++)
		vec_push(&t->rules, rules);
}

/* True if the value is optional, so that it must be part of the same word. */
static bool option_is_optional(const struct option_row *row)
{
	return row->argument && *row->argument == '[';
}

static void make_getopt(struct option_table *t)
{
	strbuf_adds(&t->shorts, "+:");
	for (size_t i = 0; i < t->rows.count; i++) {
		const struct option_row *row = &t->rows.items[i].row;
		int argument = option_is_optional(row) ? optional_argument
			       : row->argument	       ? required_argument
						       : no_argument;

		if (!row->name)
			continue;
		vec_push(&t->longs,
			 (struct option){row->name, argument, NULL,
					 row->letter ? row->letter : FIRST_VALUE + (int)i});
		if (row->letter)
			strbuf_addf(&t->shorts, "%c%s", row->letter, row->argument ? ":" : "");
	}
	vec_push(&t->longs, (struct option){0});
}

static size_t find_value(const struct option_table *t, int value)
{
	size_t i = 0;

	if (value >= FIRST_VALUE)
		return (size_t)(value - FIRST_VALUE);
	while (t->rows.items[i].row.letter != value)
		i++;
	return i;
}

/* Returns the possible values; an empty list if any value is allowed. */
static const char *const *option_choices(const struct option_row *row)
{
	static const char *const none[] = {NULL};

	return row->list ? row->list() : row->choices ? row->choices : none;
}

static void add_choices(struct strbuf *out, const struct option_row *row)
{
	const char *const *choices = option_choices(row);

	for (size_t i = 0; choices[i]; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", choices[i]);
}

/* Adds the text with "@" replaced by `insert`; indents all lines but the first. */
static void option_expand(struct strbuf *out, const char *text, const char *insert, int indent)
{
	for (; *text; text++) {
		if (*text == '@')
			strbuf_adds(out, insert);
		else
			strbuf_addch(out, *text);
		if (*text == '\n')
			strbuf_addf(out, "%*s", indent, "");
	}
}

static void store(void *at, size_t size, uint64_t value)
{
	if (size == sizeof(uint16_t))
		*(uint16_t *)at = (uint16_t)value;
	else if (size == sizeof(uint32_t))
		*(uint32_t *)at = (uint32_t)value;
	else
		*(uint64_t *)at = value;
}

static int choose(const struct option_row *row, const char *value, int *chosen, struct error *err)
{
	const char *const *choices = option_choices(row);
	_cleanup_(strbuf_release) struct strbuf all = {0};

	for (int i = 0; choices[i]; i++) {
		if (strcmp(value, choices[i]) == 0) {
			*chosen = i;
			return 0;
		}
	}
	add_choices(&all, row);
	return error_text(err, -EINVAL, "--%s %s: must be one of %s", row->name, value,
			  strbuf_text(&all));
}

static int set_share(const char *name, const char *value, double *share, struct error *err)
{
	size_t size = strlen(value);
	_cleanup_free_ char *number = xstrndup(value,
					       size && value[size - 1] == '%' ? size - 1 : size);
	double percent;

	if (!text_to_double(number, &percent) || percent < 0 || percent > 100)
		return error_text(err, -EINVAL, "%s %s: must be a percentage from 0 to 100", name,
				  value);
	*share = percent / 100;
	return 0;
}

static int set_number(const struct option_row *row, void *at, const char *value, struct error *err)
{
	uint64_t number;

	if (!text_to_u64(value, 10, &number) || number < row->range->min ||
	    number > row->range->max)
		return error_text(err, -EINVAL, "--%s %s: %s", row->name, value, row->range->text);
	store(at, row->size, number);
	return 0;
}

static int set_word(const char *name, const char *what, const char *value, const char **at,
		    struct error *err)
{
	if (!*value)
		return error_text(err, -EINVAL, "%s: %smust not be empty", name, what);
	*at = value;
	return 0;
}

static int set_value(const struct option_row *row, void *at, const char *value, struct error *err)
{
	_cleanup_free_ char *name = xasprintf("--%s", row->name);

	switch (row->type) {
	case OPTION_FLAG:
		*(bool *)at = true;
		return 0;
	case OPTION_COUNTED:
		++*(unsigned int *)at;
		return 0;
	case OPTION_WORD:
		return set_word(name, "", value, at, err);
	case OPTION_NAME:
		return set_word(name, "the name ", value, at, err);
	case OPTION_TEXT:
		*(const char **)at = value;
		return 0;
	case OPTION_TIME:
		return option_parse_time(name, value, row->unit_ns, at, err);
	case OPTION_SIZE:
		return option_parse_size(name, value, row->range, at, err);
	case OPTION_CHOICE:
		return choose(row, value, at, err);
	case OPTION_SHARE:
		return set_share(name, value, at, err);
	case OPTION_NUMBER:
		return set_number(row, at, value, err);
	case OPTION_CALL:
		return row->set(at, value, err);
	case OPTION_HEADING:
	case OPTION_HELP:
		break;
	}
	return 0;
}

static int print_help(const struct option_table *t)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	option_table_help(t, &text);
	fputs(strbuf_text(&text), stdout);
	return -ECANCELED;
}

static const char *long_name(const struct option *longs, int value)
{
	for (; longs->name; longs++) {
		if (longs->val == value)
			return longs->name;
	}
	return "?";
}

/* Describes the error for which getopt_long() rejected the option. */
static int refuse(const struct option_table *t, int result, const char *word, struct error *err)
{
	const struct option *longs = t->longs.items;

	if (result == ':')
		return error_text(err, -EINVAL, "--%s: a value is missing",
				  long_name(longs, optopt));
	if (strncmp(word, "--", 2) != 0 && optopt && optopt < FIRST_VALUE)
		hint_unknown_option(err, optopt, "", longs);
	else if (optopt)
		error_text(err, -EINVAL, "--%s: takes no value", long_name(longs, optopt));
	else
		hint_unknown_option(err, 0, word, longs);
	return -EINVAL;
}

static int set_row(struct option_table *t, size_t i, const char *value, struct error *err)
{
	const struct option_row *row = &t->rows.items[i].row;
	char *target = t->rows.items[i].target;

	t->rows.items[i].is_given = true;
	if (row->given)
		*(bool *)(target + row->given) = true;
	return set_value(row, target + row->offset, value, err);
}

int option_table_next(struct option_table *t, int argc, char **argv, struct error *err)
{
	size_t i;
	int value;

	if (!t->longs.count)
		make_getopt(t);
	opterr = 0;
	value = getopt_long(argc, argv, strbuf_text(&t->shorts), t->longs.items, NULL);
	if (value == -1)
		return 0;
	if (value == ':' || value == '?')
		return refuse(t, value, argv[optind - 1], err);
	i = find_value(t, value);
	if (t->rows.items[i].row.type == OPTION_HELP)
		return print_help(t);
	return set_row(t, i, optarg, err) ?: 1;
}

const struct option_row *option_table_find(const struct option_table *t, const char *name)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		const struct option_row *row = &t->rows.items[i].row;

		if (row->name && row->type != OPTION_HELP && strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}

bool option_is_plain(const struct option_row *row)
{
	switch (row->type) {
	case OPTION_FLAG:
	case OPTION_COUNTED:
	case OPTION_TIME:
	case OPTION_SIZE:
	case OPTION_CHOICE:
	case OPTION_SHARE:
	case OPTION_NUMBER:
		return !row->is_guarded;
	default:
		return row->is_plain;
	}
}

int option_table_scan(struct option_table *t, int argc, char **argv, option_scan_fn *fn, void *ctx,
		      int *taken, struct error *err)
{
	int value, ret = 0;

	if (!t->longs.count)
		make_getopt(t);
	opterr = 0;
	/* Forget words scanned before. */
	optind = 0;
	while (!ret) {
		size_t i;

		value = getopt_long(argc, argv, strbuf_text(&t->shorts), t->longs.items, NULL);
		if (value == -1 && t->take && optind < argc &&
		    strcmp(argv[optind - 1], "--") != 0) {
			optind++;
			continue;
		}
		if (value == -1)
			break;
		if (value == ':' || value == '?') {
			ret = refuse(t, value, argv[optind - 1], err);
			break;
		}
		i = find_value(t, value);
		t->rows.items[i].is_given = true;
		ret = fn(ctx, &t->rows.items[i].row, optarg);
	}
	*taken = optind;
	optind = 1;
	return ret;
}

static void add_row(struct strbuf *out, const struct option_row *row, int width)
{
	_cleanup_(strbuf_release) struct strbuf name = {0}, choices = {0};

	if (!row->name || !row->help) {
		if (row->help)
			strbuf_addf(out, "%s\n", row->help);
		return;
	}
	if (row->letter)
		strbuf_addf(&name, "-%c, ", row->letter);
	strbuf_addf(&name, "--%s", row->name);
	if (row->argument)
		strbuf_addf(&name, "%s%s", option_is_optional(row) ? "" : " ", row->argument);
	if (name.size < (size_t)width)
		strbuf_addf(out, "  %-*s ", width, strbuf_text(&name));
	else
		strbuf_addf(out, "  %s\n%*s", strbuf_text(&name), width + 3, "");
	add_choices(&choices, row);
	option_expand(out, row->help, strbuf_text(&choices), width + 3);
	strbuf_addch(out, '\n');
}

void option_table_help(const struct option_table *t, struct strbuf *out)
{
	strbuf_adds(out, t->usage);
	for (size_t i = 0; i < t->rows.count; i++)
		add_row(out, &t->rows.items[i].row, t->width ? t->width : NAME_WIDTH);
	strbuf_adds(out, t->after);
}

/* Returns the index of the option whose value is the next word, or the number of rows. */
static size_t find_waiting(const struct option_table *t, const char *word)
{
	size_t i;

	for (i = 0; i < t->rows.count; i++) {
		const struct option_row *row = &t->rows.items[i].row;

		if (!row->name || !row->argument || option_is_optional(row))
			continue;
		if ((strncmp(word, "--", 2) == 0 && !strcmp(word + 2, row->name)) ||
		    (row->letter && word[0] == '-' && word[1] == row->letter && !word[2]))
			break;
	}
	return i;
}

/* True if the word contains this option, which may be given only once. */
static bool is_given(const struct option_row *row, const char *word)
{
	size_t size = strlen(row->name);

	if (row->type == OPTION_CALL || row->type == OPTION_COUNTED)
		return false;
	if (strncmp(word, "--", 2) == 0)
		return strncmp(word + 2, row->name, size) == 0 &&
		       (!word[size + 2] || word[size + 2] == '=');
	return row->letter && word[0] == '-' && word[1] == row->letter;
}

static bool is_list(const struct option_row *row)
{
	return strcmp(row->argument, "LIST") == 0 || strstr(row->argument, "[,...]");
}

/* True if the list contains this value, without its description, at an earlier position. */
static bool is_listed(const char *list, size_t list_size, const char *value)
{
	size_t size = strcspn(value, "\t");

	for (const char *at = list; at < list + list_size; at += strcspn(at, ",") + 1) {
		if (strncmp(at, value, size) == 0 && at[size] == ',')
			return true;
	}
	return false;
}

/* `before`: the part of the word that precedes the value. */
static void complete_value(const struct option_row *row, const char *before, const char *word,
			   struct strbuf *out)
{
	const char *const *value = row->live ? row->live() : option_choices(row);
	const char *comma = is_list(row) ? strrchr(word, ',') : NULL;
	size_t list_size = comma ? (size_t)(comma + 1 - word) : 0;

	for (; *value; value++) {
		if (text_starts_with(*value, word + list_size) &&
		    !is_listed(word, list_size, *value))
			strbuf_addf(out, "%s%.*s%s\n", before, (int)list_size, word, *value);
	}
	if (strcmp(row->argument, "DIR") == 0)
		strbuf_adds(out, ":folders\n");
	else if (strcmp(row->argument, "FILE") == 0 || strcmp(row->argument, "OUT") == 0)
		strbuf_adds(out, ":files\n");
}

/* Appends an option, with the first line of its help as description. */
static void add_option(const struct option_row *row, const char *name, struct strbuf *out)
{
	const char *help = row->help ? row->help : "";
	int size = (int)strcspn(help, "\n@;");

	while (size && strchr(" :,", help[size - 1]))
		size--;
	strbuf_addf(out, "%s%s%.*s\n", name, size ? "\t" : "", size, help);
}

static void complete_option(const struct option_table *t, int count, char *const *words,
			    struct strbuf *out)
{
	const char *word = words[count - 1], *equals = strchr(word, '=');
	_cleanup_free_ char *before = equals ? xstrndup(word, (size_t)(equals - word) + 1) : NULL;

	for (size_t i = 0; i < t->rows.count; i++) {
		const struct option_row *row = &t->rows.items[i].row;
		_cleanup_free_ char *name = xasprintf("--%s%s", row->name ? row->name : "",
						      equals ? "=" : "");
		bool is_new = row->name;

		for (int j = 0; is_new && j < count - 1; j++)
			is_new = !is_given(row, words[j]);
		if (row->name && row->argument && equals && strcmp(name, before) == 0)
			complete_value(row, before, equals + 1, out);
		else if (is_new && !equals && text_starts_with(name, word))
			add_option(row, name, out);
	}
}

static void complete_operand(const struct option_table *t, const char *word, struct strbuf *out)
{
	const char *const *value = t->operands ? t->operands() : NULL;

	if (!value)
		strbuf_adds(out, ":files\n");
	for (; value && *value; value++) {
		if (text_starts_with(*value, word))
			strbuf_addf(out, "%s\n", *value);
	}
}

void option_table_complete(const struct option_table *t, int count, char *const *words,
			   struct strbuf *out)
{
	size_t none = t->rows.count, waiting = none;
	const char *word = words[count - 1];
	bool is_divided = false;
	int i;

	for (i = 0; i < count - 1; i++) {
		bool is_value = waiting < none;

		waiting = none;
		if (is_value || is_divided)
			continue;
		is_divided = strcmp(words[i], "--") == 0;
		if (t->runs && (is_divided || words[i][0] != '-'))
			break;
		waiting = find_waiting(t, words[i]);
	}
	if (waiting < none)
		complete_value(&t->rows.items[waiting].row, "", word, out);
	else if (t->runs && (i < count - 1 || word[0] != '-'))
		strbuf_addf(out, ":command %d\n", i + is_divided);
	else if (word[0] == '-' && !is_divided)
		complete_option(t, count, words, out);
	else
		complete_operand(t, word, out);
}
