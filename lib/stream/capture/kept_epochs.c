/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/kept_epochs.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* After this time all is written that the window before needs. */
#define LATE_NS 2000000000ull

void kept_epochs_init(struct kept_epochs *k, const struct capture_writer_options *options)
{
	*k = (struct kept_epochs){
		.keep_ns = options->keep_ns,
		.keep_bytes = options->keep_bytes,
		.sequence = UINT64_MAX,
		.has_windows = options->has_windows,
	};
	vec_push(&k->rows,
		 (struct kept_epoch){.at = sizeof(struct capture_header), .has_samples = true});
}

void kept_epochs_release(struct kept_epochs *k)
{
	vec_release(&k->rows);
}

void kept_epochs_note(struct kept_epochs *k, const struct capture_frame *frame, uint64_t at)
{
	if (frame->last_ns > k->latest_ns)
		k->latest_ns = frame->last_ns;
	if (!(frame->flags & CAPTURE_FRAME_STATE) && frame->records && k->rows.count &&
	    !vec_last(&k->rows).has_samples) {
		vec_last(&k->rows).samples = frame->samples;
		vec_last(&k->rows).has_samples = true;
	}
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

static void drop_first(struct kept_epochs *k, int fd, uint64_t size)
{
	make_hole(fd, k->rows.items[0].at, k->rows.count > 1 ? k->rows.items[1].at : size);
	k->rows.count--;
	memmove(&k->rows.items[0], &k->rows.items[1], k->rows.count * sizeof(k->rows.items[0]));
}

void kept_epochs_drop(struct kept_epochs *k, int fd, uint64_t size)
{
	if ((!k->keep_ns && !k->keep_bytes) || k->has_windows)
		return;
	while (is_spent(k, size))
		drop_first(k, fd, size);
}

bool kept_epochs_next(struct kept_epochs *k, uint64_t now_ns, bool is_end,
		      struct capture_window *window)
{
	bool has_next = k->rows.count > 1;

	if (k->is_given || !k->rows.count)
		return false;
	if (!is_end && (!has_next || now_ns < k->rows.items[1].start_ns + LATE_NS))
		return false;
	*window = (struct capture_window){0};
	if (has_next) {
		window->end_ns = k->rows.items[1].start_ns;
		window->next_at = k->rows.items[1].at;
		window->held = k->rows.items[1].samples - k->rows.items[0].samples;
	}
	kept_epochs_window(k, window);
	k->is_given = true;
	return true;
}

void kept_epochs_end_window(struct kept_epochs *k, int fd, uint64_t size)
{
	if (k->is_given)
		drop_first(k, fd, size);
	k->is_given = false;
}

uint64_t kept_epochs_drop_windows(struct kept_epochs *k, int fd, uint64_t size)
{
	uint64_t samples = 0;

	while (!k->is_given && k->rows.count > 1 && k->rows.items[1].has_samples &&
	       size - k->rows.items[0].at > k->keep_bytes) {
		samples += k->rows.items[1].samples - k->rows.items[0].samples;
		drop_first(k, fd, size);
	}
	return samples;
}

void kept_epochs_window(const struct kept_epochs *k, struct capture_window *window)
{
	window->at = k->rows.items[0].at;
	window->start_ns = k->rows.items[0].start_ns;
}
