/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/usdt/usdt_probes.h"

#include <fnmatch.h>

#include "lib/code/binary/usdt_notes.h"
#include "lib/stream/text/usdt_arguments.h"

/* A part of a label: characters, or an argument. */
struct part {
	const char *at;
	size_t size; /* number of characters */
	char kind; /* 'd', 'x' or 's' for an argument; 0 for characters; '?' for an invalid form */
	uint32_t argument; /* argument number, counted from 1 */
};

/* Parses the next part of the label; `next` is the number of the next argument. */
static struct part next_part(const char **label, uint32_t *next)
{
	struct part part = {.at = *label, .size = strcspn(*label, "%")};
	uint32_t number = 0;
	bool has_number;
	const char *at;

	if (part.size) {
		*label += part.size;
		return part;
	}
	at = part.at + 1;
	if (*at == '%') {
		*label = at + 1;
		return (struct part){.at = at, .size = 1};
	}
	while (isdigit((unsigned char)*at) && number <= USDT_ARGUMENTS_MAX)
		number = number * 10 + (uint32_t)(*at++ - '0');
	part.kind = '?';
	has_number = at > part.at + 1;
	if (has_number && *at++ != '$')
		return part;
	part.argument = has_number ? number : (*next)++;
	if (*at && strchr("dxs", *at))
		part.kind = *at++;
	*label = at;
	return part;
}

static int parse_label(struct usdt_pattern *p, struct error *err)
{
	uint32_t next = 1;
	uint16_t numbers = 0;
	const char *at = p->label;

	while (*at) {
		struct part part = next_part(&at, &next);
		uint16_t bit = 0;

		if (!part.kind)
			continue;
		if (part.kind == '?')
			return error_text(
				err, -EINVAL,
				"--usdt %s: '%s' is not one of %%d, %%x, %%s, %%2$s, %%%%", p->text,
				part.at);
		if (part.argument < 1 || part.argument > USDT_ARGUMENTS_MAX)
			return error_text(err, -EINVAL,
					  "--usdt %s: probes have at most %d arguments", p->text,
					  USDT_ARGUMENTS_MAX);
		bit = (uint16_t)(1u << (part.argument - 1));
		if (part.kind == 's')
			p->texts |= bit;
		else
			numbers |= bit;
		if (part.kind == 'x')
			p->hexadecimals |= bit;
	}
	if (p->texts & numbers)
		return error_text(err, -EINVAL,
				  "--usdt %s: an argument is used both as a string and as a number",
				  p->text);
	if (__builtin_popcount(p->texts) > USDT_TEXTS_MAX)
		return error_text(err, -EINVAL, "--usdt %s: more than %d arguments are strings",
				  p->text, USDT_TEXTS_MAX);
	return 0;
}

int usdt_pattern_parse(struct usdt_pattern *p, const char *text, struct error *err)
{
	size_t provider = strcspn(text, ":="), name;

	*p = (struct usdt_pattern){.text = text};
	if (text[provider] != ':' || !provider || provider >= sizeof(p->provider))
		return error_text(err, -EINVAL, "--usdt: must be PROVIDER:NAME[=LABEL], not '%s'",
				  text);
	memcpy(p->provider, text, provider);
	text += provider + 1;
	name = strcspn(text, "=");
	if (!name || name >= sizeof(p->name) || (text[name] && !text[name + 1]))
		return error_text(err, -EINVAL, "--usdt: must be PROVIDER:NAME[=LABEL], not '%s'",
				  p->text);
	memcpy(p->name, text, name);
	if (!text[name])
		return 0;
	p->label = text + name + 1;
	return parse_label(p, err);
}

bool usdt_pattern_matches(const struct usdt_pattern *p, const char *provider, const char *name)
{
	return fnmatch(p->provider, provider, 0) == 0 && fnmatch(p->name, name, 0) == 0;
}

void usdt_pattern_print_name(const struct usdt_pattern *p, const char *provider, const char *name,
			     struct strbuf *out)
{
	const char *at = p->label ? p->label : "";
	struct strbuf text = {0};
	size_t size;
	uint32_t next = 1;

	while (*at) {
		struct part part = next_part(&at, &next);

		if (part.kind)
			break;
		strbuf_add(&text, part.at, part.size);
	}
	size = strlen(strbuf_text(&text));
	while (size && strchr(" :=(,", strbuf_text(&text)[size - 1]))
		size--;
	if (size)
		strbuf_add(out, strbuf_text(&text), size);
	else
		strbuf_addf(out, "%s:%s", provider, name);
	strbuf_release(&text);
}

void usdt_pattern_print_label(const struct usdt_pattern *p, uint32_t count, struct strbuf *out)
{
	const char *at = p->label ? p->label : "";
	uint32_t next = 1;

	if (!p->label)
		strbuf_adds(out, "{marker.name}");
	while (*at) {
		struct part part = next_part(&at, &next);

		if (!part.kind)
			strbuf_add(out, part.at, part.size);
		else if (part.argument <= count)
			strbuf_addf(out, "{marker.data.arg%u}", part.argument);
		else
			strbuf_addch(out, '?');
	}
}

static const struct usdt_pattern *find_pattern(const struct usdt_probes *p,
					       const struct usdt_note *note)
{
	for (uint32_t i = 0; i < p->settings->count; i++) {
		const struct usdt_pattern *pattern = &p->settings->patterns[i];

		if (usdt_pattern_matches(pattern, note->provider, note->name))
			return pattern;
	}
	return NULL;
}

static bool is_probe(const struct usdt_probe *row, const struct usdt_pattern *pattern,
		     const struct usdt_note *note, uint32_t count)
{
	return row->pattern == pattern && row->argument_count == count &&
	       strcmp(row->provider, note->provider) == 0 && strcmp(row->name, note->name) == 0;
}

/* Takes a row, which stays until the end. Returns false if the user has had its share. */
static bool take(struct user_budget *b, uid_t owner)
{
	if (!user_budget_allows(b, owner))
		return false;
	user_budget_take(b, owner, 1, 0);
	return true;
}

/* Returns the number of the probe; USDT_PROBES_MAX: there is no room. */
static uint32_t intern_probe(struct usdt_probes *p, uid_t owner, const struct usdt_pattern *pattern,
			     const struct usdt_note *note, uint32_t count)
{
	vec_for_each(&p->probes, const struct usdt_probe *, row) {
		if (is_probe(row, pattern, note, count))
			return (uint32_t)(row - p->probes.items);
	}
	if (!take(&p->probe_budget, owner))
		return USDT_PROBES_MAX;
	vec_push(&p->probes, (struct usdt_probe){
				     .pattern = pattern,
				     .provider = xstrdup(note->provider),
				     .name = xstrdup(note->name),
				     .argument_count = count,
			     });
	return (uint32_t)(p->probes.count - 1);
}

/* Returns the number of the layout; USDT_LAYOUTS_MAX: there is no room. */
static uint32_t intern_layout(struct usdt_probes *p, uid_t owner, const struct usdt_layout *layout)
{
	vec_for_each(&p->layouts, const struct usdt_layout *, row) {
		if (row->probe == layout->probe && memcmp(row, layout, sizeof(*row)) == 0)
			return (uint32_t)(row - p->layouts.items);
	}
	if (!take(&p->layout_budget, owner))
		return USDT_LAYOUTS_MAX;
	vec_push(&p->layouts, *layout);
	return (uint32_t)(p->layouts.count - 1);
}

static void mark_texts(struct usdt_layout *layout, uint16_t texts)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		if (texts >> i & 1)
			layout->arguments[i].flags |= USDT_TEXT;
	}
}

static void add_place(struct usdt_probes *p, struct usdt_file *file,
		      const struct usdt_pattern *pattern, const struct usdt_note *note,
		      uint16_t machine)
{
	struct uprobe_place place = {.offset = note->offset, .semaphore = note->semaphore};
	struct usdt_layout layout = {0};

	p->met |= 1u << (pattern - p->settings->patterns);
	usdt_arguments_parse(&layout, machine, note->arguments);
	mark_texts(&layout, pattern->texts);
	layout.probe = intern_probe(p, file->owner, pattern, note, layout.count);
	place.cookie = layout.probe == USDT_PROBES_MAX ? USDT_LAYOUTS_MAX
						       : intern_layout(p, file->owner, &layout);
	if (place.cookie < USDT_LAYOUTS_MAX)
		vec_push(&file->places, place);
	else
		p->left_out++;
}

static void read_places(struct usdt_probes *p, struct usdt_file *file, int fd)
{
	struct usdt_notes notes = {0};

	usdt_notes_read(&notes, fd, NULL);
	vec_for_each(&notes.rows, const struct usdt_note *, note) {
		const struct usdt_pattern *pattern = find_pattern(p, note);

		if (pattern)
			add_place(p, file, pattern, note, notes.machine);
	}
	usdt_notes_release(&notes);
}

static void free_file(struct usdt_file *file)
{
	fd_close(file->fd);
	vec_release(&file->places);
	free(file);
}

uint32_t usdt_probes_find(struct usdt_probes *p, int fd)
{
	struct usdt_file *file;
	struct stat st;

	if (fstat(fd, &st))
		return NO_USDT_FILE;
	for (size_t i = 0; i < p->files.count; i++) {
		if (p->files.items[i]->device == st.st_dev && p->files.items[i]->inode == st.st_ino)
			return (uint32_t)i;
	}
	file = xcalloc(1, sizeof(*file));
	file->device = st.st_dev;
	file->inode = st.st_ino;
	file->owner = st.st_uid;
	p->probe_budget.total = USDT_PROBES_MAX;
	p->file_budget.total = USDT_FILES_MAX;
	p->layout_budget.total = USDT_LAYOUTS_MAX;
	/* The open descriptor also keeps the inode's number from being reused. */
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (p->read)
		p->read(file, fd);
	else
		read_places(p, file, fd);
	if (!file->places.count || file->fd < 0 || !take(&p->file_budget, file->owner)) {
		p->left_out += file->places.count;
		free_file(file);
		return NO_USDT_FILE;
	}
	vec_push(&p->files, file);
	return (uint32_t)(p->files.count - 1);
}

void usdt_probes_list_refused(const struct usdt_probes *p, struct strbuf *out)
{
	const struct user_budget *budgets[] = {&p->file_budget, &p->probe_budget,
					       &p->layout_budget};

	for (size_t i = 0; !out->size && i < sizeof(budgets) / sizeof(budgets[0]); i++)
		user_budget_list_refused(budgets[i], out);
}

void usdt_probes_release(struct usdt_probes *p)
{
	user_budget_release(&p->probe_budget);
	user_budget_release(&p->file_budget);
	user_budget_release(&p->layout_budget);
	vec_for_each(&p->probes, struct usdt_probe *, probe) {
		free(probe->provider);
		free(probe->name);
	}
	vec_for_each(&p->files, struct usdt_file **, file)
		free_file(*file);
	vec_release(&p->probes);
	vec_release(&p->files);
	vec_release(&p->layouts);
}
