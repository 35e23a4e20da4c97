/* SPDX-License-Identifier: MIT */
#include "lib/base/base.h"

static void set(struct error *err, int code, const char *reason, const char *fmt, va_list args)
{
	char message[sizeof(err->text)];
	int room = (int)sizeof(err->text) - 1;

	/* Cut a long message so that the reason at its end survives. */
	if (reason)
		room -= (int)strlen(reason) + 2;
	vsnprintf(message, sizeof(message), fmt, args);
	snprintf(err->text, sizeof(err->text), "%.*s%s%s", room, message, reason ? ": " : "",
		 reason ? reason : "");
	text_to_line(err->text);
	err->code = code;
	err->hint[0] = '\0';
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
	char buf[128];
	va_list args;

	if (!err)
		return code;
	va_start(args, fmt);
	set(err, code, code ? strerror_r(code < 0 ? -code : code, buf, sizeof(buf)) : NULL, fmt,
	    args);
	va_end(args);
	return code;
}

int error_text(struct error *err, int code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, fmt);
	set(err, code, NULL, fmt, args);
	va_end(args);
	return code;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	char before[sizeof(err->text)], message[sizeof(err->text)];
	va_list args;

	if (!err)
		return 0;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	memcpy(before, err->text, sizeof(before));
	/* Truncation is fine: the text is for people. */
	if (snprintf(err->text, sizeof(err->text), "%s: %s", message, before) < 0)
		err->text[0] = '\0';
	text_to_line(err->text);
	return err->code;
}

void error_hint(struct error *err, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return;
	va_start(args, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, args);
	va_end(args);
	text_to_line(err->hint);
}

static enum log_level log_level = LOG_WARN;

void log_set_level(enum log_level level)
{
	log_level = level;
}

bool log_enabled(enum log_level level)
{
	return level <= log_level;
}

void log_write(const char *text)
{
	int saved_errno = errno;

	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		errno = saved_errno;
}

/*
 * Writes each line with one call, so that lines of several threads or of the recorded command do
 * not mix.
 */
static void write_line(const char *prefix, const char *fmt, va_list args)
{
	char line[1024];
	size_t used = (size_t)snprintf(line, sizeof(line), "prof: %s", prefix);

	vsnprintf(line + used, sizeof(line) - used - 1, fmt, args);
	text_to_line(line);
	used = strlen(line);
	line[used++] = '\n';
	line[used] = '\0';
	log_write(line);
}

void log_warn(const char *fmt, ...)
{
	va_list args;

	if (!log_enabled(LOG_WARN))
		return;
	va_start(args, fmt);
	write_line("warning: ", fmt, args);
	va_end(args);
}

void log_info(const char *fmt, ...)
{
	va_list args;

	if (!log_enabled(LOG_INFO))
		return;
	va_start(args, fmt);
	write_line("", fmt, args);
	va_end(args);
}

void log_debug(const char *fmt, ...)
{
	va_list args;

	if (!log_enabled(LOG_DEBUG))
		return;
	va_start(args, fmt);
	write_line("debug: ", fmt, args);
	va_end(args);
}
