/* SPDX-License-Identifier: MIT */
#include "lib/fleet/fleet_url.h"

#include <time.h>

#include "lib/base/option_value.h"
#include "lib/base/quote.h"
#include "lib/fleet/collector.h"
#include "lib/fleet/engine_kind.h"
#include "lib/fleet/sql.h"

#define LABEL "label."

const char *const fleet_by_names[FLEET_BY_COUNT] = {
	[FLEET_BY_SERVICE] = "service",
	[FLEET_BY_HOST] = "host",
	[FLEET_BY_CONTAINER] = "container",
	[FLEET_BY_EXECUTABLE] = "executable",
};

static const char *const tls_keys[FLEET_TLS_COUNT] = {
	[FLEET_TLS_CA] = "ca-file",
	[FLEET_TLS_CERTIFICATE] = "certificate-file",
	[FLEET_TLS_KEY] = "key-file",
};

/*
 * Parses the scheme, which determines kind and port. Returns the rest; NULL if the scheme is
 * unknown.
 */
static const char *take_scheme(struct fleet_url *url, const char *text)
{
	for (const struct engine_kind *kind = engine_kinds; kind->scheme; kind++) {
		const char *at = text + strlen(kind->scheme);

		if (!text_starts_with(text, kind->scheme))
			continue;
		url->is_secure = *at == 's';
		at += url->is_secure;
		url->kind = kind;
		url->port = url->is_secure ? kind->secure_port : kind->port;
		if (text_starts_with(at, "://"))
			return at + strlen("://");
	}
	return NULL;
}

bool fleet_url_is_one(const char *text)
{
	struct fleet_url url = {0};

	return take_scheme(&url, text);
}

void fleet_url_release(struct fleet_url *url)
{
	free(url->user);
	free(url->host);
	free(url->database);
	free(url->password_file);
	for (int i = 0; i < FLEET_TLS_COUNT; i++)
		free(url->tls_files[i]);
	vec_for_each(&url->headers, char **, header)
		free(*header);
	vec_release(&url->headers);
	for (int i = 0; i < FLEET_BY_COUNT; i++)
		free(url->filter.of[i]);
	free(url->filter.event);
	vec_for_each(&url->filter.labels, char **, label)
		free(*label);
	vec_release(&url->filter.labels);
	*url = (struct fleet_url){0};
}

static bool parse_ago(const char *text, uint64_t now_s, uint32_t *seconds)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	const char *end = text + strlen(text), *at = text + 1;
	uint64_t number, ago;

	if (!text_scan_decimal(&at, end, &number) || end - at != 1)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (units[i].unit != *at)
			continue;
		if (__builtin_mul_overflow(number, units[i].seconds, &ago))
			return false;
		now_s = now_s > ago ? now_s - ago : 0;
		*seconds = now_s < UINT32_MAX ? (uint32_t)now_s : UINT32_MAX;
		return true;
	}
	return false;
}

bool fleet_time_parse(const char *text, uint64_t now_s, uint32_t *seconds)
{
	static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	uint64_t number;

	if (*text == '-')
		return parse_ago(text, now_s, seconds);
	if (text_to_u64(text, 10, &number) && number <= UINT32_MAX) {
		*seconds = (uint32_t)number;
		return true;
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm = {.tm_isdst = -1};
		const char *end = strptime(text, forms[i], &tm);
		bool is_utc = end && strcmp(end, "Z") == 0;
		time_t time;

		if (!end || (*end && !is_utc))
			continue;
		time = is_utc ? timegm(&tm) : mktime(&tm);
		if (time < 0 || time > (time_t)UINT32_MAX)
			return false;
		*seconds = (uint32_t)time;
		return true;
	}
	return false;
}

static int set_text(char **to, const char *key, char *value, struct error *err)
{
	if (*to) {
		free(value);
		return error_text(err, -EINVAL, "%s= is given twice", key);
	}
	*to = value;
	return 0;
}

static int set_time(uint32_t *to, const char *key, const char *value, uint64_t now_s,
		    struct error *err)
{
	if (fleet_time_parse(value, now_s, to))
		return 0;
	return error_text(err, -EINVAL,
			  "%s=%s: must be a time such as -1h, 2026-11-24T03:12 or seconds since "
			  "1970",
			  key, value);
}

static int set_by(struct fleet_filter *f, const char *value, struct error *err)
{
	for (int i = 0; i < FLEET_BY_COUNT; i++) {
		if (strcmp(value, fleet_by_names[i]) == 0) {
			f->by = (enum fleet_by)i;
			return 0;
		}
	}
	return error_text(err, -EINVAL, "by=%s: must be service, host, container or executable",
			  value);
}

/* Takes ownership of the value. */
static int set_key(struct fleet_url *url, const char *key, char *value, uint64_t now_s,
		   struct error *err)
{
	_cleanup_free_ char *owned = value;
	struct fleet_filter *f = &url->filter;

	if (strcmp(key, "password-file") == 0)
		return set_text(&url->password_file, key, steal(owned), err);
	for (int i = 0; i < FLEET_TLS_COUNT; i++) {
		if (strcmp(key, tls_keys[i]) == 0)
			return set_text(&url->tls_files[i], key, steal(owned), err);
	}
	url->is_filtered = true;
	for (int i = 0; i < FLEET_BY_COUNT; i++) {
		if (strcmp(key, fleet_by_names[i]) == 0)
			return set_text(&f->of[i], key, steal(owned), err);
	}
	if (strcmp(key, "event") == 0)
		return set_text(&f->event, key, steal(owned), err);
	if (strcmp(key, "from") == 0)
		return set_time(&f->from_s, key, value, now_s, err);
	if (strcmp(key, "to") == 0)
		return set_time(&f->until_s, key, value, now_s, err);
	if (strcmp(key, "by") == 0)
		return set_by(f, value, err);
	if (strcmp(key, "interval") == 0)
		return option_parse_time("interval=", value, 1e6, &f->interval_ns, err);
	if (text_starts_with(key, LABEL) && key[strlen(LABEL)]) {
		vec_push(&f->labels, xasprintf("%s=%s", key + strlen(LABEL), value));
		return 0;
	}
	return error_text(
		err, -EINVAL,
		"%s=: unknown key; must be one of service, host, container, executable, event, "
		"label.NAME, from, to, by, interval, password-file, ca-file, certificate-file, "
		"key-file",
		key);
}

static int parse_query(struct fleet_url *url, const char *text, uint64_t now_s, struct error *err)
{
	int ret = 0;

	while (*text && !ret) {
		size_t size = strcspn(text, "&"), key_size = strcspn(text, "=&");
		_cleanup_free_ char *key = unquote_url(text, key_size);
		char *value = key_size < size
				      ? unquote_url(text + key_size + 1, size - key_size - 1)
				      : NULL;

		if (!key || !value) {
			free(value);
			return error_text(err, -EINVAL, "the part '%.*s' is not KEY=VALUE",
					  (int)(size < 100 ? size : 100), text);
		}
		ret = set_key(url, key, value, now_s, err);
		text += size + (text[size] == '&');
	}
	if (!ret && url->filter.from_s >= url->filter.until_s)
		ret = error_text(err, -EINVAL, "from=, to=: the range is empty");
	return ret;
}

static bool has_only(const char *text, size_t size, const char *others)
{
	return !items_find(text, size, it,
			   !isalnum((unsigned char)*it) && !(*it && strchr(others, *it))) &&
	       size;
}

/* "host", "host:8123" or "[::1]:8123". */
static int parse_host(struct fleet_url *url, const char *text, size_t size, struct error *err)
{
	const char *end = text + size;
	size_t host = *text == '[' ? strcspn(text, "]/") + 1 : strcspn(text, ":/?");
	bool is_sound = *text == '[' ? host > 2 && host <= size && text[host - 1] == ']' &&
					       has_only(text + 1, host - 2, ":.")
				     : host <= size && has_only(text, host, ".-_");
	const char *port = text + host + 1;
	uint64_t number = url->port;

	if (!is_sound || (host < size && text[host] != ':'))
		return error_text(err, -EINVAL, "the host name is missing or invalid");
	if (host < size && (!text_scan_decimal(&port, end, &number) || port != end || !number ||
			    number > UINT16_MAX))
		return error_text(err, -EINVAL, "the port must be a number from 1 to 65535");
	url->host = xstrndup(text, host);
	url->port = (uint16_t)number;
	return 0;
}

static bool has_controls(const char *text)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			return true;
	}
	return false;
}

static int parse_user(struct fleet_url *url, const char *text, size_t size, struct error *err)
{
	if (memchr(text, ':', size))
		return error_text(
			err, -EINVAL,
			"a password here is visible to all users of this machine: put it in a "
			"file, and use ?password-file=FILE");
	url->user = unquote_url(text, size);
	if (!url->user || !*url->user || has_controls(url->user))
		return error_text(err, -EINVAL, "invalid user name");
	return 0;
}

static int set_path(struct fleet_url *url, const char *text, size_t size, struct error *err)
{
	const char *path = url->kind->path;

	url->database = size || !path ? xstrndup(text, size) : xstrdup(path);
	if (path ? has_only(url->database, strlen(url->database), "/._-")
		 : sql_is_name(url->database))
		return 0;
	return error_text(
		err, -EINVAL,
		path ? "the path contains unsupported characters"
		     : "the host must be followed by a database name of letters, digits and _");
}

static int parse(struct fleet_url *url, const char *text, uint64_t now_s, struct error *err)
{
	const char *at, *user;
	size_t size;
	int ret = 0;

	url->filter.until_s = UINT32_MAX;
	size = strcspn(text, "/?");
	user = memrchr(text, '@', size);
	if (user)
		ret = parse_user(url, text, (size_t)(user - text), err);
	at = user ? user + 1 : text;
	if (!ret)
		ret = parse_host(url, at, size - (size_t)(at - text), err);
	if (ret)
		return ret;
	at = text + size + (text[size] == '/');
	size = strcspn(at, "?");
	return set_path(url, at, size, err)
		       ?: parse_query(url, at[size] ? at + size + 1 : "", now_s, err);
}

static int refuse_scheme(struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf forms = {0};

	for (const struct engine_kind *kind = engine_kinds; kind->scheme; kind++)
		strbuf_addf(&forms, "%s://HOST%s, ", kind->scheme,
			    engine_kind_is_collector(kind) ? "" : "/DATABASE");
	return error_text(err, -EINVAL, "must be %sone of these with https or grpcs, or otlp",
			  strbuf_text(&forms));
}

int fleet_url_parse(struct fleet_url *url, const char *text, uint64_t now_s, struct error *err)
{
	const char *at;
	int ret;

	*url = (struct fleet_url){0};
	if (strcmp(text, OTLP_ENVIRONMENT) == 0)
		return otlp_environment_read(url, err);
	at = take_scheme(url, text);
	if (!at)
		return refuse_scheme(err);
	ret = parse(url, at, now_s, err);
	if (ret)
		fleet_url_release(url);
	return ret;
}
