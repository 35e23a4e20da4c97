/* SPDX-License-Identifier: MIT */
/* Requests to a recording that goes on: lines of JSON, words, and the times of pauses. */
#include "cmd/elevate/control_socket.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/run/steering.h"
#include "lib/stream/session/tasks/thread.h"
#include "tests/unit/test.h"

static json_t *echo(void *ctx, const char *command, const json_t *request)
{
	++*(int *)ctx;
	return strcmp(command, "sing") == 0 ? json_pack("{s:s}", "error", "cannot")
					    : json_pack("{s:s}", "did", command);
}

static void expect_answer(const char *line, const char *wanted, int wanted_calls)
{
	int calls = 0;
	char *got = control_answer_line(line, strlen(line), echo, &calls);

	assert_string_equal(got, wanted);
	assert_int_equal(calls, wanted_calls);
	free(got);
}

TEST(lines_are_answered)
{
	const char *no_command = "{\"error\":\"no string \\\"command\\\"\",\"ok\":false}";
	const char *no_json = "{\"error\":\"not a JSON line\",\"ok\":false}";

	expect_answer("{\"command\":\"rest\",\"more\":1}", "{\"did\":\"rest\",\"ok\":true}", 1);
	expect_answer("{\"command\":\"sing\"}", "{\"error\":\"cannot\",\"ok\":false}", 1);
	expect_answer("{\"command\":[]}", no_command, 0);
	expect_answer("[\"command\"]", no_command, 0);
	expect_answer("", no_json, 0);
	expect_answer("{\"command\":\"a\",\"command\":\"b\"}", no_json, 0);
	expect_answer("{\"command\":\"a\"} x", no_json, 0);
}

static bool note(void *ctx, const char *word)
{
	strbuf_addf(ctx, "%s ", word);
	return strcmp(word, "known") == 0;
}

TEST(words_are_obeyed)
{
	struct control_words w = CONTROL_WORDS_INIT;
	struct strbuf words = {0};
	int in[2], acks[2];
	char text[64], longer[2 * CONTROL_WORD_MAX];

	assert_int_equal(pipe(in) | pipe(acks), 0);
	w.fd = in[0];
	w.ack_fd = acks[1];
	control_words_poll(&w, note, &words);
	assert_int_equal(write(in[1], "known\n\nother\nkno", 16), 16);
	control_words_poll(&w, note, &words);
	assert_int_equal(write(in[1], "wn\n", 3), 3);
	control_words_poll(&w, note, &words);
	assert_string_equal(strbuf_text(&words), "known other known ");
	assert_int_equal(read(acks[0], text, sizeof(text)), 8);
	assert_memory_equal(text, "ack\nack\n", 8);
	memset(longer, 'x', sizeof(longer));
	assert_int_equal(write(in[1], longer, sizeof(longer)), sizeof(longer));
	control_words_poll(&w, note, &words);
	assert_string_equal(strbuf_text(&words), "known other known ");
	/* The other end is closed. */
	close(in[1]);
	control_words_poll(&w, note, &words);
	assert_int_equal(w.fd, -1);
	close(acks[0]);
	strbuf_release(&words);
}

TEST(pauses_have_times)
{
	struct pauses p = {0};

	assert_int_equal(pauses_resumed(&p), 0);
	assert_false(pauses_set(&p, false, 5));
	assert_true(pauses_set(&p, true, 10));
	assert_false(pauses_set(&p, true, 11));
	assert_true(pauses_are_on(&p));
	assert_int_equal(pauses_resumed(&p), 0);
	assert_true(pauses_set(&p, false, 20));
	assert_false(pauses_are_on(&p));
	assert_int_equal(pauses_resumed(&p), 20);
	assert_true(pauses_set(&p, true, 30));
	assert_int_equal(pauses_resumed(&p), 20);
	assert_true(pauses_hide(&p, 10, 20));
	assert_true(pauses_hide(&p, 12, 13));
	assert_true(pauses_hide(&p, 31, 400));
	assert_false(pauses_hide(&p, 9, 13));
	assert_false(pauses_hide(&p, 12, 21));
	assert_false(pauses_hide(&p, 20, 25));
	pauses_release(&p);
}
