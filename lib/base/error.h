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
