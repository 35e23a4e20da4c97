/* SPDX-License-Identifier: MIT */
#include "lib/capture/kept_epochs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void kept_epochs_init(struct kept_epochs *k, const struct capture_writer_options *options)
{
	*k = (struct kept_epochs){
		.keep_ns = options->keep_ns,
		.keep_bytes = options->keep_bytes,
		.sequence = UINT64_MAX,
	};
	vec_push(&k->rows, (struct kept_epoch){.at = sizeof(struct capture_header)});
}

void kept_epochs_release(struct kept_epochs *k)
{
	vec_release(&k->rows);
}

void kept_epochs_note(struct kept_epochs *k, const struct capture_frame *frame, uint64_t at)
{
	if (frame->last_ns > k->latest_ns)
		k->latest_ns = frame->last_ns;
	if (!(frame->flags & CAPTURE_FRAME_STATE) || frame->sequence == k->sequence)
		return;
	k->sequence = frame->sequence;
	vec_push(&k->rows, (struct kept_epoch){.at = at, .start_ns = frame->first_ns});
}

/* Is the rest enough without the oldest epoch, or too much with it? */
static bool is_spent(const struct kept_epochs *k, uint64_t size)
{
	if (k->rows.count < 2)
		return false;
	return (k->keep_bytes && size - k->rows.items[0].at > k->keep_bytes) ||
	       (k->keep_ns && k->latest_ns - k->rows.items[1].start_ns >= k->keep_ns);
}

/* Frees the bytes between. All before them but the header has gone, so pages go as a whole. */
static void make_hole(int fd, uint64_t at, uint64_t end)
{
	uint64_t page = at - at % (uint64_t)sysconf(_SC_PAGESIZE);

	if (page < sizeof(struct capture_header))
		page = sizeof(struct capture_header);
	/* A file system without holes keeps them. */
	(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)page,
			 (off_t)(end - page));
}

void kept_epochs_drop(struct kept_epochs *k, int fd, uint64_t size)
{
	if (!k->keep_ns && !k->keep_bytes)
		return;
	while (is_spent(k, size)) {
		make_hole(fd, k->rows.items[0].at, k->rows.items[1].at);
		k->rows.count--;
		memmove(&k->rows.items[0], &k->rows.items[1],
			k->rows.count * sizeof(k->rows.items[0]));
	}
}

void kept_epochs_window(const struct kept_epochs *k, struct capture_window *window)
{
	window->at = k->rows.items[0].at;
	window->start_ns = k->rows.items[0].start_ns;
}
