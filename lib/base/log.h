/* SPDX-License-Identifier: MIT */
/*
 * Diagnostics on stderr for facts that do not make the command fail: "prof: warning: …". Results
 * and failures of a command are printed by cmd, not through here.
 */
#pragma once

enum log_level { LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Default LOG_WARN. One of the two mutable globals of the project. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);
/*
 * Writes the text unchanged to stderr, in one write. Ignores failures, which cannot be reported;
 * keeps errno.
 */
void log_write(const char *text);
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
