/* SPDX-License-Identifier: MIT */
/*
 * One idiom for failures: `struct error *err` comes last, a function returns 0 or a negative errno,
 * and the place of the failure calls
 *
 *	return error_set(err, -errno, "cannot open %s", path);
 *
 * At most one caller above adds what it was doing with error_wrap(). err may be NULL everywhere.
 */
#pragma once

struct error {
	int code; /* negative errno; 0: no failure */
	char text[512]; /* one line that describes the failure, without a full stop */
	char hint[256]; /* remedy; may be empty */
};

/*
 * Sets the text to the formatted message, followed by ": " and strerror(-code) if code != 0.
 * Returns code.
 */
int error_set(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Like error_set(), without strerror: for failures that errno does not describe. */
int error_text(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Prefixes the text with the formatted message and ": ". Returns err's code. */
int error_wrap(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets the remedy, one line ("run: sysctl kernel.perf_event_paranoid=1"). */
void error_hint(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Diagnostics on stderr for facts that do not make the command fail: "prof: warning: …". Results
 * and failures of a command are printed by cmd, not through here.
 */
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
