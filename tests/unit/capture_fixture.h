/* SPDX-License-Identifier: MIT */
/* A capture in memory that is written, then read. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/stream/capture/capture_reader.h"
#include "lib/stream/capture/capture_writer.h"

#define MS 1000000ull
#define START_NS 1000000000ull

struct capture_fixture {
	int fd; /* of a file in memory */
	int window; /* a copy of its end; 0: none */
	struct capture_writer *writer;
	struct capture_reader *reader;
};

int capture_fixture_setup(void **state);
int capture_fixture_teardown(void **state);
void capture_fixture_begin(struct capture_fixture *f, uint64_t room);
void capture_fixture_add_sample(struct capture_fixture *f, uint32_t tid);
/* Ends the frame that grows. */
void capture_fixture_end_block(struct capture_fixture *f);
void capture_fixture_finish(struct capture_fixture *f, bool complete);
void capture_fixture_reopen(struct capture_fixture *f);
const struct rec *capture_fixture_next(struct capture_fixture *f);
void capture_fixture_expect_sample(struct capture_fixture *f, uint32_t tid);
void capture_fixture_expect_lost(struct capture_fixture *f, uint64_t count);
struct capture_counts capture_fixture_count(struct capture_fixture *f);
