/* SPDX-License-Identifier: MIT */
#include "lib/format/valgrind_frame.h"

/* Cuts " (hs.c:3)" or " (in /usr/bin/hs)" from the end. */
static void cut_place(struct foreign *f, char *text, struct foreign_frame *frame)
{
	char *open = strrchr(text, '('), *colon;
	const char *digits;
	uint64_t line;

	if (!open || open == text || open[-1] != ' ' || !text_ends_with(open, ")"))
		return;
	open[strlen(open) - 1] = '\0';
	if (text_starts_with(open, "(in ")) {
		frame->module = foreign_module(f, open + 4, "");
		open[-1] = '\0';
		return;
	}
	colon = strrchr(open, ':');
	digits = colon ? colon + 1 : "";
	if (!colon || !text_scan_decimal(&digits, digits + strlen(digits), &line) || *digits ||
	    line > INT32_MAX) {
		open[strlen(open)] = ')';
		return;
	}
	*colon = '\0';
	open[-1] = '\0';
	frame->file = open + 1;
	frame->line = (uint32_t)line;
}

frame_id valgrind_frame(struct foreign *f, char *text)
{
	struct foreign_frame frame = {.module = NO_MODULE};
	const char *at = text + 2;
	uint64_t address;

	text_to_line(text);
	if (text_starts_with(text, "0x") && text_scan_hex(&at, text + strlen(text), &address) &&
	    text_starts_with(at, ": ")) {
		text += at + 2 - text;
		cut_place(f, text, &frame);
		if (strcmp(text, "???") == 0) {
			frame.address = address;
			frame.module = NO_MODULE;
			text = "";
		}
	}
	frame.name = text;
	return foreign_frame(f, &frame);
}
