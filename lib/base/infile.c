/* SPDX-License-Identifier: MIT */
#include "lib/base/infile.h"

#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <sys/mman.h>
#include <zstd.h>

#include "lib/base/open_file.h"

#define CHUNK_SIZE ((size_t)128 << 10)
/* Windows of up to 128 MB, as with zstd --long. */
#define ZSTD_WINDOW_LOG 27
/* Size from which texts are mapped, and of their pages that stay in memory. */
#define MAPPED_MIN ((size_t)32 << 20)
#define PASSED_MAX ((size_t)16 << 20)

/* Mapped texts of the process. */
struct mapped_text {
	struct mapped_text *next;
	char *text;
	size_t size, passed; /* bytes; those that were passed and have left memory */
};

static struct {
	pthread_mutex_t lock;
	struct mapped_text *first;
} mapped = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct file_reader {
	int fd;
	const char *name;
	size_t max;
	char *text;
	size_t size, capacity;
	int file; /* holds the bytes before the text; -1: none */
	size_t file_size;
	bool can_map;
	size_t chunk_size;
	uint8_t chunk[CHUNK_SIZE];
	struct inflate_state inflate;
};

static void reader_free(struct file_reader *r)
{
	fd_close(r->file);
	free(r->text);
	free(r);
}
DEFINE_CLEANUP(struct file_reader *, reader_free)

/*
 * Reads up to r->chunk_size bytes of the file into `to`. Returns their number, 0 at the end of the
 * file.
 */
static int read_some(struct file_reader *r, void *to, size_t room, struct error *err)
{
	ssize_t got;

	do {
		got = read(r->fd, to, room);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set(err, -errno, "cannot read %s", r->name);
	r->chunk_size = (size_t)got;
	return 0;
}

static int fill_chunk(struct file_reader *r, struct error *err)
{
	return read_some(r, r->chunk, CHUNK_SIZE, err);
}

/* Returns room for a whole uncompressed file, or for the first chunk of a compressed one. */
static size_t first_capacity(const struct file_reader *r)
{
	struct stat status;

	if (fstat(r->fd, &status) || !S_ISREG(status.st_mode) ||
	    status.st_size <= (off_t)(2 * CHUNK_SIZE))
		return 2 * CHUNK_SIZE;
	return r->can_map && status.st_size > (off_t)MAPPED_MIN ? MAPPED_MIN
								: (size_t)status.st_size + 2;
}

/* Moves the text to the file. */
static int move_to_file(struct file_reader *r, struct error *err)
{
	int ret = write_at(r->file, r->text, r->size, r->file_size);

	r->file_size += r->size;
	r->size = 0;
	return ret ? error_set(err, ret, "cannot write %s to a temporary file", r->name) : 0;
}

/* Makes space for more text and a terminator. */
static int make_room(struct file_reader *r, struct error *err)
{
	if (r->file_size + r->size > r->max)
		return error_text(err, -EFBIG, "%s has more than %zu MB of text", r->name,
				  r->max / 1000000);
	if (r->capacity > r->size + 1)
		return 0;
	if (r->can_map && r->capacity >= MAPPED_MIN) {
		if (r->file < 0)
			r->file = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		r->can_map = r->file >= 0;
	}
	if (r->can_map && r->capacity >= MAPPED_MIN)
		return move_to_file(r, err);
	r->capacity = r->capacity ? 2 * r->capacity : first_capacity(r);
	/* One byte above the limit shows that the text is too large. */
	r->capacity = MIN(r->capacity, r->max + 2);
	r->text = xrealloc(r->text, r->capacity);
	return 0;
}

static int append_chunk(struct file_reader *r, struct error *err)
{
	for (size_t at = 0; at < r->chunk_size;) {
		int ret = make_room(r, err);
		size_t part = r->capacity - r->size - 1;

		if (ret)
			return ret;
		part = MIN(part, r->chunk_size - at);
		memcpy(r->text + r->size, r->chunk + at, part);
		r->size += part;
		at += part;
	}
	return 0;
}

static int read_plain(struct file_reader *r, struct error *err)
{
	int ret = append_chunk(r, err);

	while (!ret && r->chunk_size) {
		ret = make_room(r, err);
		if (!ret)
			ret = read_some(r, r->text + r->size, r->capacity - r->size - 1, err);
		r->size += ret ? 0 : r->chunk_size;
	}
	return ret;
}

static void begin_member(struct file_reader *r)
{
	const uint8_t *next = r->inflate.next_in;
	uint32_t left = r->inflate.avail_in;

	isal_inflate_init(&r->inflate);
	r->inflate.crc_flag = ISAL_GZIP;
	r->inflate.next_in = (uint8_t *)next;
	r->inflate.avail_in = left;
}

/* Inflates until the chunk or the room is used up. */
static int inflate_some(struct file_reader *r, struct error *err)
{
	size_t room;
	int ret = make_room(r, err);

	if (ret)
		return ret;
	room = r->capacity - r->size - 1;
	room = MIN(room, UINT32_MAX);
	r->inflate.next_out = (uint8_t *)r->text + r->size;
	r->inflate.avail_out = (uint32_t)room;
	ret = isal_inflate(&r->inflate);
	r->size += room - r->inflate.avail_out;
	if (ret < 0)
		return error_text(err, -EBADMSG, "%s: the gzip data is damaged", r->name);
	return 0;
}

static int read_gzip(struct file_reader *r, struct error *err)
{
	int ret = 0;

	r->inflate.next_in = r->chunk;
	r->inflate.avail_in = (uint32_t)r->chunk_size;
	begin_member(r);
	for (;;) {
		bool is_complete;

		ret = inflate_some(r, err);
		if (ret)
			return ret;
		is_complete = r->inflate.block_state == ISAL_BLOCK_FINISH;
		if (!r->inflate.avail_in && (is_complete || r->inflate.avail_out)) {
			ret = fill_chunk(r, err);
			if (ret)
				return ret;
			if (!r->chunk_size && is_complete)
				return 0;
			if (!r->chunk_size)
				return error_text(err, -EBADMSG, "%s: the gzip data is truncated",
						  r->name);
			r->inflate.next_in = r->chunk;
			r->inflate.avail_in = (uint32_t)r->chunk_size;
		}
		if (is_complete)
			begin_member(r);
	}
}

/* Decompresses a chunk. Sets *left to 0 at the end of a frame. */
static int unpack_chunk(struct file_reader *r, ZSTD_DCtx *context, size_t *left, struct error *err)
{
	ZSTD_inBuffer in = {r->chunk, r->chunk_size, 0};
	bool is_full;

	do {
		ZSTD_outBuffer out = {0};
		int ret = make_room(r, err);

		if (ret)
			return ret;
		out = (ZSTD_outBuffer){r->text + r->size, r->capacity - r->size - 1, 0};
		*left = ZSTD_decompressStream(context, &out, &in);
		if (ZSTD_isError(*left))
			return error_text(err, -EBADMSG, "%s: the zstd data is damaged: %s",
					  r->name, ZSTD_getErrorName(*left));
		r->size += out.pos;
		is_full = out.pos == out.size;
	} while (in.pos < in.size || is_full);
	return 0;
}

static int read_zstd(struct file_reader *r, struct error *err)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	size_t left = 0;
	int ret = 0;

	ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	while (!ret && r->chunk_size)
		ret = unpack_chunk(r, context, &left, err) ?: fill_chunk(r, err);
	ZSTD_freeDCtx(context);
	if (!ret && left)
		return error_text(err, -EBADMSG, "%s: the zstd data is truncated", r->name);
	return ret;
}

static bool is_gzip(const struct file_reader *r)
{
	return r->chunk_size >= 2 && r->chunk[0] == 0x1f && r->chunk[1] == 0x8b;
}

static bool is_zstd(const struct file_reader *r)
{
	return r->chunk_size >= 4 && !memcmp(r->chunk, "\x28\xb5\x2f\xfd", 4);
}

/* Maps the file, which ends with the text's terminator. */
static int map_file(struct file_reader *r, char **text, size_t *size, struct error *err)
{
	struct mapped_text *m;
	int ret;

	r->text[r->size++] = '\0';
	ret = move_to_file(r, err);
	if (ret)
		return ret;
	*text = mmap(NULL, r->file_size, PROT_READ, MAP_SHARED, r->file, 0);
	if (*text == MAP_FAILED)
		return error_set(err, -errno, "cannot map the text of %s", r->name);
	*size = r->file_size - 1;
	m = xcalloc(1, sizeof(*m));
	m->text = *text;
	m->size = r->file_size;
	pthread_mutex_lock(&mapped.lock);
	m->next = mapped.first;
	mapped.first = m;
	pthread_mutex_unlock(&mapped.lock);
	return 0;
}

void infile_pass(const void *at)
{
	pthread_mutex_lock(&mapped.lock);
	for (struct mapped_text *m = mapped.first; m; m = m->next) {
		size_t passed = (size_t)((const char *)at - m->text);

		if ((const char *)at < m->text || passed > m->size)
			continue;
		if (passed < m->passed)
			m->passed = 0;
		/* Include pages that were read again before. */
		if (passed - m->passed >= PASSED_MAX) {
			madvise(m->text, m->size, MADV_DONTNEED);
			m->passed = passed;
		}
	}
	pthread_mutex_unlock(&mapped.lock);
}

void infile_release(char *text)
{
	struct mapped_text **at = &mapped.first, *found;

	pthread_mutex_lock(&mapped.lock);
	while (*at && (*at)->text != text)
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&mapped.lock);
	if (found)
		munmap(text, found->size);
	else
		free(text);
	free(found);
}

static int read_text(int fd, const char *name, size_t max, bool can_map, char **text, size_t *size,
		     struct error *err)
{
	_cleanup_(reader_free) struct file_reader *r = xcalloc(1, sizeof(*r));
	int ret;

	r->fd = fd;
	r->name = name;
	r->max = max;
	r->file = -1;
	r->can_map = can_map;
	ret = fill_chunk(r, err);
	if (!ret)
		ret = is_gzip(r)   ? read_gzip(r, err)
		      : is_zstd(r) ? read_zstd(r, err)
				   : read_plain(r, err);
	if (!ret)
		ret = make_room(r, err);
	if (ret)
		return ret;
	if (r->file >= 0)
		return map_file(r, text, size, err);
	r->text[r->size] = '\0';
	*size = r->size;
	*text = steal(r->text);
	return 0;
}

int infile_read(int fd, const char *name, size_t max, char **text, size_t *size, struct error *err)
{
	return read_text(fd, name, max, false, text, size, err);
}

int infile_map(int fd, const char *name, size_t max, char **text, size_t *size, struct error *err)
{
	return read_text(fd, name, max, true, text, size, err);
}
