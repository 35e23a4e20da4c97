/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/usdt/usdt_pattern.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "bpf/config.h"

/* A part of a label: characters, or an argument. */
struct part {
	const char *at;
	size_t size; /* of characters */
	char kind; /* 'd', 'x' or 's' of an argument; 0: characters; '?': neither */
	uint32_t argument; /* from 1 on */
};

/* Takes the next part off the label; `next` is the number of the next argument. */
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
			return error_text(err, -EINVAL,
					  "--usdt %s: '%s' is none of %%d, %%x, %%s, %%2$s, %%%%",
					  p->text, part.at);
		if (part.argument < 1 || part.argument > USDT_ARGUMENTS_MAX)
			return error_text(err, -EINVAL,
					  "--usdt %s: probes have %d arguments at most", p->text,
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
		return error_text(err, -EINVAL, "--usdt %s: an argument is both text and number",
				  p->text);
	if (__builtin_popcount(p->texts) > USDT_TEXTS_MAX)
		return error_text(err, -EINVAL, "--usdt %s: more than %d arguments are texts",
				  p->text, USDT_TEXTS_MAX);
	return 0;
}

int usdt_pattern_parse(struct usdt_pattern *p, const char *text, struct error *err)
{
	size_t provider = strcspn(text, ":="), name;

	*p = (struct usdt_pattern){.text = text};
	if (text[provider] != ':' || !provider || provider >= sizeof(p->provider))
		return error_text(err, -EINVAL, "--usdt wants PROVIDER:NAME[=LABEL], not '%s'",
				  text);
	memcpy(p->provider, text, provider);
	text += provider + 1;
	name = strcspn(text, "=");
	if (!name || name >= sizeof(p->name) || (text[name] && !text[name + 1]))
		return error_text(err, -EINVAL, "--usdt wants PROVIDER:NAME[=LABEL], not '%s'",
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
