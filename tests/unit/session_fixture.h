/* SPDX-License-Identifier: MIT */
/* A session that a test feeds record by record. Times are relative to SESSION_START_NS. */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/stream/session/session.h"

#define SESSION_START_NS 1000000000ull

struct fed {
	struct profile *p;
	struct session *s;
};

/* For cmocka; *state becomes a struct fed. */
int fed_setup(void **state);
int fed_teardown(void **state);

/* With pid == parent, a new thread of the parent. */
void feed_fork(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, uint32_t parent,
	       const char *name);
void feed_name(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, unsigned int flags,
	       const char *name);
void feed_exit(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, unsigned int flags);
void feed_user(struct fed *f, uint64_t time, uint32_t pid, uint32_t uid, uint32_t gid);
void feed_module(struct fed *f, uint32_t id, const char *path);
/* pid 0: a mapping of the kernel. */
void feed_map(struct fed *f, uint64_t time, uint32_t pid, uint64_t start, uint64_t end,
	      uint64_t offset, uint32_t module);
/* `kinds` NULL: kernel frames, then native ones. */
void feed_stack(struct fed *f, uint64_t time, uint32_t id, unsigned int flags,
		const uint64_t *addrs, unsigned int kernel_depth, unsigned int user_depth,
		const uint8_t *kinds);
/* CPU time in ns. */
void feed_sample(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, unsigned int flags,
		 uint64_t leaf, uint32_t stack, uint64_t cpu_time);
/* Feeds a sample with no frame below its leaf. */
void feed_leaf(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, uint64_t leaf);
/* The same on that CPU, for `ticks` of the clock. */
void feed_tick(struct fed *f, uint64_t time, uint16_t cpu, uint32_t tid, uint16_t ticks);
void feed_lost(struct fed *f, uint64_t time, uint32_t cause, uint64_t count);
void feed_end(struct fed *f, uint64_t time);

/* Returns the row; fails the test unless there is exactly one. */
struct profile_thread *fed_thread(struct fed *f, uint32_t pid, uint32_t incarnation, uint32_t tid);
/*
 * Expects the stack of sample `index` to be "app+0x10 lib.so+0x20", outermost first; "0x30" is an
 * address without a module. Prefixes: "k:" kernel frames, "s:" signal frames, "g:" guesses.
 */
void fed_expect_stack(struct fed *f, const struct profile_thread *row, size_t index,
		      const char *text);
/* Expects this number, or this text, in field `field` of the marker. */
void fed_expect_number(struct fed *f, const struct marker *marker, uint32_t field, uint64_t number);
void fed_expect_text(struct fed *f, const struct marker *marker, uint32_t field, const char *text);
void fed_expect_name(struct fed *f, string_id name, const char *text);
