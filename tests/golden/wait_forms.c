/* SPDX-License-Identifier: MIT */
/* Waits as text. */
#include "lib/stream/record/records.h"
#include "tests/golden/events.h"
#include "tests/golden/record_text.h"

static const struct event_word states[] = {
	{"runnable", WAIT_RUNNABLE},
	{"sleeping", WAIT_SLEEPING},
	{"uninterruptible", WAIT_UNINTERRUPTIBLE},
	{"idle", WAIT_IDLE},
	{"stopped", WAIT_STOPPED},
	{"traced", WAIT_TRACED},
	{"dead", WAIT_DEAD},
	{"other", WAIT_OTHER},
	{"unheard-of", UINT8_MAX},
	{NULL, 0},
};

/* waited=1ms: the wait began that long before the record; start=unknown: before the recording */
static void text_start(struct record_text *t, uint64_t *start)
{
	static const struct event_word words[] = {{"unknown", 1}, {NULL, 0}};
	const uint64_t time = ((const struct rec *)t->record)->time;
	uint64_t waited = time - *start;

	if (t->line && event_line_word(t->line, "start", words, 0)) {
		*start = 0;
	} else if (t->line) {
		text_time(t, "waited", 0, &waited);
		*start = time - waited;
	} else if (!*start) {
		text_print(t, " start=unknown");
	} else {
		text_time(t, "waited", 0, &waited);
	}
}

/* state=sleeping call=230 argument=4 io=yes compat=yes; without a call: -1 */
static void text_reason(struct record_text *t, struct wait_reason *reason)
{
	static const struct event_word no[] = {{"no", 0}, {"yes", 1}, {NULL, 0}};
	uint8_t io = (reason->flags & WAIT_IO) != 0, compat = (reason->flags & WAIT_COMPAT) != 0;
	int64_t call = t->line ? -1 : reason->call;
	uint16_t argument = reason->argument;

	text_word(t, "state", &reason->state, sizeof(reason->state), states, WAIT_SLEEPING);
	text_signed(t, "call", &call);
	text_number(t, "argument", &argument, sizeof(argument), 0);
	text_word(t, "io", &io, sizeof(io), no, 0);
	text_word(t, "compat", &compat, sizeof(compat), no, 0);
	if (!t->line)
		return;
	reason->call = (int32_t)call;
	reason->argument = argument;
	reason->flags = (uint8_t)((io ? WAIT_IO : 0) | (compat ? WAIT_COMPAT : 0));
}

void text_wait_start(struct record_text *t, struct rec_wait *rec)
{
	text_start(t, (uint64_t *)&rec->start);
}

void text_wait_reason(struct record_text *t, struct rec_wait *rec)
{
	text_reason(t, &rec->reason);
}

void text_resumed_start(struct record_text *t, struct rec_resumed *rec)
{
	text_start(t, (uint64_t *)&rec->start);
}

void text_resumed_reason(struct record_text *t, struct rec_resumed *rec)
{
	text_reason(t, &rec->reason);
}

/* With the flag "woken": waker=100 waker-tid=101 ago=10us, before the arrival */
void text_resumed_waker(struct record_text *t, struct rec_resumed *rec)
{
	struct run_waker *waker = rec_resumed_waker(rec);
	uint64_t ago;

	if (!(rec->rec.flags & RUN_WOKEN))
		return;
	if (t->line)
		t->size = rec_resumed_size(RUN_WOKEN);
	text_number(t, "waker", &waker->pid, sizeof(waker->pid), 0);
	text_number(t, "waker-tid", &waker->tid, sizeof(waker->tid), waker->pid);
	ago = rec->rec.time - waker->woken;
	text_time(t, "ago", 0, &ago);
	if (t->line)
		waker->woken = rec->rec.time - ago;
}
