/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/sample_store.h"

#include <pthread.h>

#include "lib/base/open_file.h"

/* Exit status if stored rows cannot be read. */
#define EXIT_REFUSED 125

static struct {
	pthread_mutex_t lock;
	uint64_t in_memory, in_file; /* bytes */
	uint64_t end; /* end of the file */
	uint64_t max;
	uint64_t room, taken; /* bytes for unpacked rows: limit, and in use */
	int fd;
	bool is_set;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER,
	   .max = SAMPLE_STORE_MAX,
	   .room = SAMPLE_STORE_ROOM,
	   .fd = -1};

void sample_store_set_file(int fd, uint64_t max)
{
	pthread_mutex_lock(&store.lock);
	if (!store.in_file) {
		fd_close(store.fd);
		store.fd = fd;
		store.end = 0;
	} else if (fd >= 0) {
		close(fd);
	}
	store.max = max;
	store.is_set = true;
	pthread_mutex_unlock(&store.lock);
}

/* Reserves space in the file; false if there is none. */
static bool reserve(uint32_t size, uint64_t *offset)
{
	bool has_room;

	pthread_mutex_lock(&store.lock);
	if (store.fd < 0 && !store.is_set) {
		store.fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		store.is_set = true;
	}
	has_room = store.fd >= 0;
	*offset = store.end;
	if (has_room) {
		store.end += size;
		store.in_file += size;
	}
	pthread_mutex_unlock(&store.lock);
	return has_room;
}

static void count(uint64_t *sum, int64_t change)
{
	pthread_mutex_lock(&store.lock);
	*sum += (uint64_t)change;
	pthread_mutex_unlock(&store.lock);
}

/* If the disk is full, keep the bytes in memory. */
static bool put_in_file(struct stored_bytes *s, const unsigned char *bytes, uint32_t size)
{
	struct stored_bytes new = {.offset = s->offset, .size = size, .room = s->room};

	if (new.room < size) {
		/* Changed rows take a few bytes more or less. */
		new.room = size + size / 32;
		if (!reserve(new.room, &new.offset))
			return false;
	}
	if (write_at(store.fd, bytes, size, new.offset)) {
		if (new.room != s->room)
			count(&store.in_file, -(int64_t) new.room);
		return false;
	}
	if (new.room != s->room)
		sample_store_drop(s);
	*s = new;
	return true;
}

void sample_store_put(struct stored_bytes *s, const unsigned char *bytes, uint32_t size)
{
	bool is_full = sample_store_in_memory() + size > store.max;

	if ((s->room || (!s->bytes && is_full)) && put_in_file(s, bytes, size))
		return;
	sample_store_drop(s);
	s->bytes = xmalloc(size);
	memcpy(s->bytes, bytes, size);
	s->size = size;
	count(&store.in_memory, size);
}

static _Noreturn void read_failed(void)
{
	log_write("prof: cannot read samples back from the temporary file\n");
	_exit(EXIT_REFUSED);
}

const unsigned char *sample_store_get(const struct stored_bytes *s, unsigned char *buffer)
{
	if (s->bytes)
		return s->bytes;
	if (read_at(store.fd, buffer, s->size, s->offset) != (ssize_t)s->size)
		read_failed();
	return buffer;
}

void sample_store_drop(struct stored_bytes *s)
{
	if (s->bytes)
		count(&store.in_memory, -(int64_t)s->size);
	else
		count(&store.in_file, -(int64_t)s->room);
	free(s->bytes);
	*s = (struct stored_bytes){0};
}

uint64_t sample_store_in_memory(void)
{
	uint64_t value;

	pthread_mutex_lock(&store.lock);
	value = store.in_memory;
	pthread_mutex_unlock(&store.lock);
	return value;
}

void sample_store_set_room(uint64_t bytes)
{
	pthread_mutex_lock(&store.lock);
	store.room = bytes;
	pthread_mutex_unlock(&store.lock);
}

bool sample_store_take_room(uint64_t bytes)
{
	bool has_room;

	pthread_mutex_lock(&store.lock);
	has_room = store.taken < store.room && bytes <= store.room - store.taken;
	if (has_room)
		store.taken += bytes;
	pthread_mutex_unlock(&store.lock);
	return has_room;
}

void sample_store_give_room(uint64_t bytes)
{
	count(&store.taken, -(int64_t)bytes);
}
