/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/paged_section.h"

#include <isa-l/igzip_lib.h>
#include <lzma.h>
#include <sys/mman.h>
#include <zstd.h>

#include "lib/base/open_file.h"

/* isa-l counts in 32 bits. */
#define MAX_STEP ((size_t)1 << 30)
/* Slightly more than the defaults of `xz -9` and `zstd --ultra -22` need. */
#define XZ_MEMORY ((uint64_t)128 << 20)
#define ZSTD_WINDOW_LOG 27
/* Bytes between two readings of the clock. */
#define CHUNK ((size_t)256 << 10)
/* Bytes of a file to unpack at once; few enough to stay in a cache. */
#define WINDOW ((size_t)32 << 10)

enum packing packing_of(const void *data, size_t size)
{
	if (size >= 6 && memcmp(data,
				"\xfd"
				"7zXZ\0",
				6) == 0)
		return PACKING_XZ;
	if (size >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0)
		return PACKING_ZSTD;
	if (size >= 3 && memcmp(data, "\x1f\x8b\x08", 3) == 0)
		return PACKING_GZIP;
	return PACKING_NONE;
}

struct unpacker {
	struct inflate_state state;
	struct file_part left; /* part of the file still to be read */
	uint8_t *out, *out_end;
	bool is_damaged;
	uint8_t window[WINDOW];
};

struct unpacker *unpacker_new(const struct file_part *from, void *out, size_t size)
{
	struct unpacker *u = xmalloc(sizeof(*u));

	isal_inflate_init(&u->state);
	u->state.crc_flag = ISAL_ZLIB;
	u->state.next_out = out;
	u->left = *from;
	u->out = out;
	u->out_end = u->out + size;
	u->is_damaged = false;
	return u;
}

void unpacker_free(struct unpacker *u)
{
	free(u);
}

size_t unpacker_done(const struct unpacker *u)
{
	return (size_t)(u->state.next_out - u->out);
}

/* Refills the buffer once it is used up. */
static bool fill_window(struct unpacker *u)
{
	ssize_t n;

	if (u->state.avail_in || !u->left.size)
		return true;
	n = read_at(u->left.fd, u->window, (size_t)MIN(u->left.size, WINDOW), u->left.offset);
	if (n <= 0)
		return false;
	u->left.offset += (uint64_t)n;
	u->left.size -= (uint64_t)n;
	u->state.next_in = u->window;
	u->state.avail_in = (uint32_t)n;
	return true;
}

/* Inflates up to `end` in the output, or to the end of the data. */
static bool inflate_until(struct unpacker *u, const uint8_t *end)
{
	struct inflate_state *state = &u->state;

	while (state->block_state != ISAL_BLOCK_FINISH) {
		const uint8_t *out_before = state->next_out;
		uint32_t in_before;

		if (!fill_window(u))
			return false;
		in_before = state->avail_in;
		state->avail_out = (uint32_t)MIN((size_t)(end - state->next_out), MAX_STEP);
		if (isal_inflate(state) != ISAL_DECOMP_OK)
			return false;
		if (state->avail_in == in_before && state->next_out == out_before)
			break;
	}
	return true;
}

/* The end mark may follow the last byte: more input then yields no output. */
static bool find_end(struct unpacker *u)
{
	uint8_t extra;
	bool is_fine;

	if (u->state.next_out != u->out_end)
		return false;
	u->state.next_out = &extra;
	is_fine = inflate_until(u, &extra + 1) && u->state.next_out == &extra;
	u->state.next_out = u->out_end;
	return is_fine && u->state.block_state == ISAL_BLOCK_FINISH;
}

int unpacker_run(struct unpacker *u, size_t until, struct error *err)
{
	size_t size = (size_t)(u->out_end - u->out);

	if (u->is_damaged)
		return error_text(err, -ENOEXEC, "damaged zlib data");
	if (until < size && until <= unpacker_done(u))
		return 0;
	if (!inflate_until(u, u->out + MIN(until, size))) {
		u->is_damaged = true;
		return error_text(err, -ENOEXEC, "damaged zlib data");
	}
	if (until >= size ? !find_end(u) : unpacker_done(u) < until) {
		u->is_damaged = true;
		return error_text(err, -ENOEXEC, "zlib data has the wrong size");
	}
	return 0;
}

int unpack_zstd(const void *data, size_t data_size, void *out, size_t size, struct error *err)
{
	size_t n = ZSTD_decompress(out, size, data, data_size);

	if (ZSTD_isError(n))
		return error_text(err, -ENOEXEC, "zstd: %s", ZSTD_getErrorName(n));
	if (n != size)
		return error_text(err, -ENOEXEC, "zstd data has the wrong size");
	return 0;
}

/* The destination of unpacked bytes, and its limits. */
struct sink {
	int fd;
	uint64_t size, max_size, deadline_ns;
	uint8_t *chunk;
};

static int sink_take(struct sink *sink, size_t size, struct error *err)
{
	size_t done = 0;

	sink->size += size;
	if (sink->size > sink->max_size)
		return error_text(err, -EFBIG, "decompressed data is larger than %llu bytes",
				  (unsigned long long)sink->max_size);
	if (sink->deadline_ns && clock_monotonic_ns() > sink->deadline_ns)
		return error_text(err, -ETIME, "decompression takes too long");
	while (done < size) {
		ssize_t n = write(sink->fd, sink->chunk + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set(err, n ? -errno : -EIO, "cannot write to memory");
		done += (size_t)n;
	}
	return 0;
}

static int sink_xz(struct sink *sink, const void *data, size_t data_size, struct error *err)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&stream, XZ_MEMORY, LZMA_CONCATENATED);
	int result = 0;

	stream.next_in = data;
	stream.avail_in = data_size;
	while (ret == LZMA_OK && result == 0) {
		stream.next_out = sink->chunk;
		stream.avail_out = CHUNK;
		ret = lzma_code(&stream, LZMA_FINISH);
		if (ret == LZMA_OK || ret == LZMA_STREAM_END)
			result = sink_take(sink, CHUNK - stream.avail_out, err);
	}
	lzma_end(&stream);
	if (result)
		return result;
	if (ret == LZMA_MEMLIMIT_ERROR || ret == LZMA_MEM_ERROR)
		return error_text(err, -EFBIG, "xz data needs too much memory");
	return ret == LZMA_STREAM_END ? 0 : error_text(err, -ENOEXEC, "damaged xz data");
}

static int sink_zstd(struct sink *sink, const void *data, size_t data_size, struct error *err)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer in = {data, data_size, 0};
	size_t left = 1;
	int ret = 0;

	ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	while (ret == 0) {
		ZSTD_outBuffer out = {sink->chunk, CHUNK, 0};
		size_t before = in.pos;

		left = ZSTD_decompressStream(context, &out, &in);
		if (ZSTD_isError(left)) {
			ret = error_text(err, -ENOEXEC, "zstd: %s", ZSTD_getErrorName(left));
			break;
		}
		ret = sink_take(sink, out.pos, err);
		/* Another call would expect another frame. */
		if (!left && in.pos == in.size)
			break;
		/* No progress: no input was consumed and no output produced. */
		if (!out.pos && in.pos == before)
			break;
	}
	ZSTD_freeDCtx(context);
	if (ret == 0 && (left || in.pos < in.size))
		ret = error_text(err, -ENOEXEC, "zstd data is cut off");
	return ret;
}

/* Unpacks one gzip member. */
static int sink_gzip(struct sink *sink, const void *data, size_t data_size, struct error *err)
{
	_cleanup_free_ struct inflate_state *state = xmalloc(sizeof(*state));
	const uint8_t *end = (const uint8_t *)data + data_size;
	int ret = 0;

	isal_inflate_init(state);
	state->crc_flag = ISAL_GZIP;
	state->next_in = (uint8_t *)data;
	while (ret == 0 && state->block_state != ISAL_BLOCK_FINISH) {
		const uint8_t *before = state->next_in;

		state->avail_in = (uint32_t)MIN((size_t)(end - state->next_in), MAX_STEP);
		state->next_out = sink->chunk;
		state->avail_out = (uint32_t)CHUNK;
		if (isal_inflate(state) != ISAL_DECOMP_OK ||
		    (state->next_in == before && state->avail_out == CHUNK &&
		     state->block_state != ISAL_BLOCK_FINISH))
			return error_text(err, -ENOEXEC, "damaged gzip data");
		ret = sink_take(sink, CHUNK - state->avail_out, err);
	}
	return ret;
}

int unpack_to_file(enum packing packing, const void *data, size_t data_size, uint64_t max_size,
		   uint64_t deadline_ns, struct error *err)
{
	_cleanup_close_ int fd = memfd_create("unpacked", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	_cleanup_free_ uint8_t *chunk = xmalloc(CHUNK);
	struct sink sink = {
		.fd = fd, .max_size = max_size, .deadline_ns = deadline_ns, .chunk = chunk};
	int ret;

	if (fd < 0)
		return error_set(err, -errno, "cannot create a file in memory");
	if (packing == PACKING_XZ)
		ret = sink_xz(&sink, data, data_size, err);
	else if (packing == PACKING_ZSTD)
		ret = sink_zstd(&sink, data, data_size, err);
	else if (packing == PACKING_GZIP)
		ret = sink_gzip(&sink, data, data_size, err);
	else
		ret = error_text(err, -ENOEXEC, "unknown compression");
	if (ret)
		return ret;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return error_set(err, -errno, "cannot seal memory");
	return steal_fd(&fd);
}

#define PAGE_BYTES 4096u
#define BITS 64u

void paged_section_init(struct paged_section *s, const struct file_part *from, uint8_t *memory)
{
	*s = (struct paged_section){
		.from = *from,
		.memory = memory,
		.there = xcalloc(from->size / PAGE_BYTES / BITS + 1, sizeof(*s->there)),
	};
}

static bool is_there(const struct paged_section *s, uint64_t page)
{
	return s->there[page / BITS] >> page % BITS & 1;
}

/* Reads pages only if not read before: others may be in use. */
static bool read_pages(struct paged_section *s, uint64_t first, uint64_t end)
{
	uint64_t at = first * PAGE_BYTES;
	uint64_t size = MIN(end * PAGE_BYTES, s->from.size) - at;

	if (read_at(s->from.fd, s->memory + at, size, s->from.offset + at) != (ssize_t)size)
		return false;
	for (; first < end; first++)
		s->there[first / BITS] |= (uint64_t)1 << first % BITS;
	return true;
}

bool paged_section_need(struct paged_section *s, uint64_t start, uint64_t end)
{
	uint64_t page = start / PAGE_BYTES, after = (end + PAGE_BYTES - 1) / PAGE_BYTES;

	while (page < after) {
		uint64_t first = page;

		while (page < after && !is_there(s, page))
			page++;
		if (page > first && !read_pages(s, first, page))
			return false;
		while (page < after && is_there(s, page))
			page++;
	}
	return true;
}

void paged_section_release(struct paged_section *s)
{
	free(s->there);
	*s = (struct paged_section){0};
}
