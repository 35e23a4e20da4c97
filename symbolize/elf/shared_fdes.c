/* SPDX-License-Identifier: MIT */
#include "symbolize/elf/shared_fdes.h"

void shared_fdes_init(struct shared_fdes *s, int fd)
{
	*s = (struct shared_fdes){.fd = fd};
	pthread_mutex_init(&s->lock, NULL);
}

void shared_fdes_release(struct shared_fdes *s)
{
	fde_ranges_free(s->ranges);
	pthread_mutex_destroy(&s->lock);
}

/* Call with the lock held. */
static void read_once(struct shared_fdes *s)
{
	struct error err = {0};

	if (s->was_read)
		return;
	s->was_read = true;
	if (s->fd >= 0 && fde_ranges_new(&s->ranges, s->fd, &err) != 0)
		log_debug("functions without a name: %s", err.text);
}

bool shared_fdes_find(struct shared_fdes *s, uint64_t rva, struct fde_range *range)
{
	bool is_found;

	*range = (struct fde_range){0};
	pthread_mutex_lock(&s->lock);
	read_once(s);
	is_found = s->ranges && fde_ranges_find(s->ranges, rva, range);
	pthread_mutex_unlock(&s->lock);
	return is_found;
}
