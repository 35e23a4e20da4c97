/* SPDX-License-Identifier: MIT */
#include "lib/format/trace/trace_input.h"

#define WINDOW_SIZE ((size_t)1 << 20)
/* Maximum size of a value. */
#define WINDOW_MAX ((size_t)64 << 20)
/* The window moves when less than this is left of it. */
#define LEFT_MIN ((size_t)1 << 15)

void trace_input_of_text(struct trace_input *in, const char *text, size_t size)
{
	*in = (struct trace_input){.fd = -1, .size = size};
	json_cursor_init(&in->s, text, size);
}

void trace_input_of_file(struct trace_input *in, int fd, uint64_t size)
{
	*in = (struct trace_input){.fd = fd, .size = size, .room = WINDOW_SIZE};
	in->buffer = xmalloc(in->room);
	json_cursor_init(&in->s, in->buffer, 0);
}

void trace_input_release(struct trace_input *in)
{
	free(in->buffer);
}

void trace_input_rewind(struct trace_input *in)
{
	in->s.at = 0;
	in->s.failed = false;
	if (in->fd >= 0)
		in->s.size = in->base = 0;
}

/* Reads until `size` bytes are available or the file ends. */
static size_t read_at(int fd, uint64_t offset, char *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, to + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* Drops the bytes before the next one, and fills the window. */
static bool fill(struct trace_input *in)
{
	size_t left = in->s.size - in->s.at, got;

	memmove(in->buffer, in->buffer + in->s.at, left);
	in->base += in->s.at;
	got = read_at(in->fd, in->base + left, in->buffer + left, in->room - left);
	in->s.text = in->buffer;
	in->s.at = 0;
	in->s.size = left + got;
	return got > 0;
}

bool trace_input_more(struct trace_input *in)
{
	if (in->fd < 0 || in->base + in->s.size >= in->size)
		return false;
	if (!in->s.at && in->s.size == in->room) {
		if (in->room >= WINDOW_MAX)
			return false;
		in->room *= 2;
		in->buffer = xrealloc(in->buffer, in->room);
	}
	return fill(in);
}

char trace_input_next(struct trace_input *in, const char *skipped)
{
	struct json_cursor *s = &in->s;

	if (s->size - s->at < LEFT_MIN)
		trace_input_more(in);
	for (;;) {
		while (s->at < s->size &&
		       (strchr(" \n\r\t", s->text[s->at]) || strchr(skipped, s->text[s->at])) &&
		       s->text[s->at])
			s->at++;
		if (s->at < s->size)
			return s->text[s->at];
		if (!trace_input_more(in))
			return '\0';
	}
}

size_t trace_input_copy(const struct trace_input *in, uint64_t offset, char *to, size_t size)
{
	if (offset >= in->size)
		return 0;
	if (in->fd >= 0)
		return read_at(in->fd, offset, to, size);
	if (size > in->size - offset)
		size = (size_t)(in->size - offset);
	memcpy(to, in->s.text + offset, size);
	return size;
}
