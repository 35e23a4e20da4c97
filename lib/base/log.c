/* SPDX-License-Identifier: MIT */
#include "lib/base/base.h"

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
