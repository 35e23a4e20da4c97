/* SPDX-License-Identifier: MIT */
#include "lib/live/code/jitdump.h"

#include "lib/base/bytes.h"
#include "lib/live/code/jit_list.h"
#include "lib/model/languages/language.h"

#define TRIES 5

static uint64_t read_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

/* Tries again if interrupted between the two reads. */
void arch_clock_read(struct arch_clock *clock)
{
	uint64_t narrowest = UINT64_MAX;

	for (unsigned int i = 0; i < TRIES; i++) {
		uint64_t before = clock_monotonic_ns(), ticks = read_ticks();
		uint64_t took = clock_monotonic_ns() - before;

		if (took >= narrowest)
			continue;
		narrowest = took;
		*clock = (struct arch_clock){.ticks = ticks, .ns = before + took / 2};
	}
}

uint64_t arch_clock_to_ns(const struct arch_clock *first, const struct arch_clock *second,
			  uint64_t ticks)
{
	double ns, rate;

	if (second->ticks <= first->ticks || second->ns <= first->ns)
		return 0;
	rate = (double)(second->ns - first->ns) / (double)(second->ticks - first->ticks);
	/* Convert differences only: a double keeps microseconds over weeks. */
	if (ticks >= first->ticks)
		ns = (double)first->ns + (double)(ticks - first->ticks) * rate;
	else
		ns = (double)first->ns - (double)(first->ticks - ticks) * rate;
	return ns > 0 && ns < 9e18 ? (uint64_t)ns : 0;
}

#define PREFIX_SIZE CODE_DUMP_PREFIX_SIZE
#define LOAD_SIZE CODE_DUMP_LOAD_SIZE
#define SHORT_NAME 200
/* Minimum cost of a read, in bytes, so that the budget limits time. */
#define READ_COST 128
/* Maximum size of records with lines, which are read at once. */
#define DEBUG_SIZE_MAX ((size_t)1 << 20)
/* The same limit for call frame information. */
#define UNWINDING_HEAD (PREFIX_SIZE + 24)
#define UNWINDING_SIZE_MAX ((size_t)1 << 20)
#define LEAD_MAX 256

enum jit_record {
	JIT_CODE_LOAD,
	JIT_CODE_MOVE,
	JIT_CODE_DEBUG_INFO,
	JIT_CODE_CLOSE,
	JIT_CODE_UNWINDING_INFO,
};

/* State of a call of jitdump_read(). */
struct reader {
	struct jitdump *dump;
	int fd;
	const struct arch_clock *first;
	struct arch_clock now;
	code_piece_fn *fn;
	void *ctx;
};

struct prefix {
	uint32_t kind, size;
	uint64_t timestamp;
};

void jitdump_release(struct jitdump *d)
{
	vec_release(&d->codes);
	index_release(&d->by_code_index);
}

/* True if all `size` bytes were read. */
static bool read_at(struct reader *r, uint64_t offset, void *data, size_t size)
{
	ssize_t got = offset > INT64_MAX ? -1 : pread(r->fd, data, size, (off_t)offset);

	r->dump->stats.bytes += got > READ_COST ? (uint64_t)got : READ_COST;
	return got == (ssize_t)size;
}

static void read_header(struct reader *r)
{
	struct jitdump *d = r->dump;
	uint8_t data[CODE_DUMP_HEAD_SIZE];
	struct code_dump_head head;

	if (!read_at(r, 0, data, sizeof(data)))
		return;
	if (!code_dump_head_parse(&head, data)) {
		d->is_broken = true;
		d->stats.malformed++;
		return;
	}
	d->line_shift = language_dump_line_shift(head.mark);
	d->has_arch_times = head.has_arch_times;
	memcpy(d->id, head.id, sizeof(d->id));
	d->offset = head.size;
}

INDEX_HAS(equal_code, struct jitdump, codes, code_index)

static uint32_t find_code(const struct jitdump *d, uint64_t code_index)
{
	return index_find(&d->by_code_index, hash_u64(code_index), equal_code, d, &code_index);
}

static void remember_code(struct jitdump *d, const struct jitdump_code *code)
{
	uint32_t row = find_code(d, code->code_index);

	if (row != INDEX_NONE) {
		d->codes.items[row] = *code;
		return;
	}
	index_add(&d->by_code_index, hash_u64(code->code_index), (uint32_t)d->codes.count);
	vec_push(&d->codes, *code);
}

/* Adds all lines of the code, or none: if one is invalid, the others are unreliable. */
static bool parse_lines(const struct jitdump *d, struct bytes *b, uint64_t code_size,
			struct code_lines *l)
{
	uint64_t addr = bytes_u64(b), count = bytes_u64(b);

	l->count = l->files_size = 0;
	if (count > CODE_LINES_MAX)
		return false;
	while (count--) {
		uint64_t offset = bytes_u64(b) - addr - d->line_shift;
		uint32_t line = bytes_u32(b);
		const char *name;

		bytes_skip(b, 4);
		name = bytes_cstr(b);
		if (!name)
			return false;
		/*
		 * Erlang: the first row begins up to LEAD_MAX before the code; the last one marks
		 * the code's end.
		 */
		if (offset >= code_size && !line)
			continue;
		if (!l->count && offset > UINT64_MAX - LEAD_MAX)
			offset = 0;
		if (offset >= code_size || !code_lines_add(l, offset, line, name))
			return false;
	}
	return true;
}

static bool read_lines(struct reader *r, uint64_t offset, uint64_t code_size, struct code_lines *l)
{
	_cleanup_free_ uint8_t *data = NULL;
	uint8_t head[PREFIX_SIZE];
	struct bytes b;
	uint32_t size;

	if (!read_at(r, offset, head, sizeof(head)))
		return false;
	bytes_init(&b, head, sizeof(head));
	bytes_skip(&b, 4);
	size = bytes_u32(&b);
	if (size < PREFIX_SIZE || size > DEBUG_SIZE_MAX)
		return false;
	data = xmalloc(size);
	if (!read_at(r, offset, data, size))
		return false;
	bytes_init(&b, data, size);
	bytes_skip(&b, PREFIX_SIZE);
	return parse_lines(r->dump, &b, code_size, l);
}

/* Returns CLOCK_MONOTONIC ns; 0: unknown. */
static uint64_t time_of(const struct reader *r, uint64_t timestamp)
{
	return r->dump->has_arch_times ? arch_clock_to_ns(r->first, &r->now, timestamp) : timestamp;
}

static void set_time(struct reader *r, uint64_t timestamp, struct code_piece *piece)
{
	piece->since = time_of(r, timestamp);
	piece->is_exact = piece->since;
}

/*
 * Reads the .eh_frame in the record at `offset`. The specification puts .eh_frame_hdr before it;
 * perf and all writers put it after. V8 writes only a header if there is nothing to describe.
 * Returns false for an invalid record.
 */
static bool read_eh_frame(struct reader *r, uint64_t offset, uint8_t **data, size_t *size)
{
	uint8_t head[UNWINDING_HEAD];
	uint64_t all_size, hdr_size;
	uint32_t record_size;
	struct bytes b;

	if (!read_at(r, offset, head, sizeof(head)))
		return false;
	bytes_init(&b, head, sizeof(head));
	bytes_skip(&b, 4);
	record_size = bytes_u32(&b);
	bytes_skip(&b, 8);
	all_size = bytes_u64(&b);
	hdr_size = bytes_u64(&b);
	if (record_size < UNWINDING_HEAD || record_size > UNWINDING_SIZE_MAX ||
	    all_size > record_size - UNWINDING_HEAD || hdr_size > all_size)
		return false;
	*size = (size_t)(all_size - hdr_size);
	if (!*size)
		return true;
	*data = xmalloc(*size);
	return read_at(r, offset + UNWINDING_HEAD, *data, *size);
}

static void send_piece(struct reader *r, struct code_piece *piece, const struct jitdump_code *code)
{
	_cleanup_free_ struct code_lines *lines = NULL;
	_cleanup_free_ uint8_t *eh_frame = NULL;
	struct rec_code_dump dump = {.offset = code->load};

	memcpy(dump.id, r->dump->id, sizeof(dump.id));
	piece->dump = &dump;
	if (code->unwinding) {
		if (read_eh_frame(r, code->unwinding, &eh_frame, &piece->eh_frame_size))
			piece->eh_frame = eh_frame;
		else
			r->dump->stats.malformed++;
	}
	if (code->debug) {
		lines = xmalloc(sizeof(*lines));
		if (read_lines(r, code->debug, piece->size, lines)) {
			piece->lines = lines->rows;
			piece->line_count = lines->count;
			piece->files = lines->files;
			piece->files_size = lines->files_size;
		} else {
			r->dump->stats.malformed++;
		}
	}
	r->dump->stats.pieces++;
	r->fn(r->ctx, piece);
}

/* Reads the load record of `size` bytes at `offset`: the name and location of the code. */
static bool read_load(struct reader *r, uint64_t offset, uint32_t size, char *name,
		      struct code_piece *piece, uint64_t *code_index)
{
	uint8_t data[LOAD_SIZE + CODE_NAME_MAX];
	size_t wanted = size < LOAD_SIZE + SHORT_NAME ? size : LOAD_SIZE + SHORT_NAME;
	struct bytes b;

	if (size <= LOAD_SIZE || !read_at(r, offset, data, wanted))
		return false;
	/* Reads only the name: the machine code after it is not needed. */
	if (size > wanted && !memchr(data + LOAD_SIZE, 0, wanted - LOAD_SIZE)) {
		wanted = size < sizeof(data) ? size : sizeof(data);
		if (!read_at(r, offset, data, wanted))
			return false;
	}
	bytes_init(&b, data, wanted);
	bytes_skip(&b, PREFIX_SIZE + 16);
	piece->start = bytes_u64(&b);
	piece->size = bytes_u64(&b);
	*code_index = bytes_u64(&b);
	piece->name_size = strnlen((const char *)b.at, bytes_left(&b));
	memcpy(name, b.at, piece->name_size);
	piece->name = name;
	return piece->size && piece->start + piece->size > piece->start;
}

static bool take_load(struct reader *r, const struct prefix *prefix)
{
	struct jitdump *d = r->dump;
	char name[CODE_NAME_MAX];
	struct code_piece piece = {0};
	struct jitdump_code code = {.load = d->offset, .load_size = prefix->size};

	if (!read_load(r, d->offset, prefix->size, name, &piece, &code.code_index))
		return false;
	if (d->debug && d->debug_addr == piece.start)
		code.debug = d->debug;
	code.unwinding = d->unwinding;
	d->debug = d->unwinding = 0;
	remember_code(d, &code);
	set_time(r, prefix->timestamp, &piece);
	if (piece.name_size)
		send_piece(r, &piece, &code);
	return true;
}

static bool take_move(struct reader *r, const struct prefix *prefix)
{
	struct jitdump *d = r->dump;
	uint8_t data[PREFIX_SIZE + 48];
	char name[CODE_NAME_MAX];
	struct code_piece piece = {0};
	uint64_t from, start, code_index, same;
	struct bytes b;
	uint32_t row;

	if (prefix->size < sizeof(data) || !read_at(r, d->offset, data, sizeof(data)))
		return false;
	bytes_init(&b, data, sizeof(data));
	bytes_skip(&b, PREFIX_SIZE + 16);
	from = bytes_u64(&b);
	start = bytes_u64(&b);
	bytes_skip(&b, 8);
	code_index = bytes_u64(&b);
	row = find_code(d, code_index);
	/* Read the name again from the load record, to avoid keeping it. */
	if (!from || row == INDEX_NONE ||
	    !read_load(r, d->codes.items[row].load, d->codes.items[row].load_size, name, &piece,
		       &same))
		return false;
	piece.start = start;
	piece.moved_from = from;
	set_time(r, prefix->timestamp, &piece);
	if (piece.name_size && start + piece.size > start)
		send_piece(r, &piece, &d->codes.items[row]);
	return true;
}

static bool take_debug(struct reader *r, const struct prefix *prefix)
{
	struct jitdump *d = r->dump;
	uint8_t data[8];
	struct bytes b;

	if (prefix->size < PREFIX_SIZE + 16 ||
	    !read_at(r, d->offset + PREFIX_SIZE, data, sizeof(data)))
		return false;
	bytes_init(&b, data, sizeof(data));
	d->debug = d->offset;
	d->debug_addr = bytes_u64(&b);
	return true;
}

static void take_record(struct reader *r, const struct prefix *prefix)
{
	bool is_fine = true;

	if (prefix->kind == JIT_CODE_LOAD)
		is_fine = take_load(r, prefix);
	else if (prefix->kind == JIT_CODE_MOVE)
		is_fine = take_move(r, prefix);
	else if (prefix->kind == JIT_CODE_DEBUG_INFO)
		is_fine = take_debug(r, prefix);
	else if (prefix->kind == JIT_CODE_UNWINDING_INFO)
		r->dump->unwinding = r->dump->offset;
	if (!is_fine)
		r->dump->stats.malformed++;
}

/* True if the move would replace code that waiting stacks still need. */
static bool comes_too_early(const struct reader *r, const struct prefix *prefix)
{
	uint64_t until = r->dump->moves_until;

	return until && prefix->kind == JIT_CODE_MOVE && time_of(r, prefix->timestamp) > until;
}

/* Returns false if it is still incomplete, or broken. */
static bool read_prefix(struct reader *r, uint64_t file_size, struct prefix *prefix)
{
	struct jitdump *d = r->dump;
	uint8_t data[PREFIX_SIZE];
	struct bytes b;

	if (d->offset > file_size || file_size - d->offset < PREFIX_SIZE ||
	    !read_at(r, d->offset, data, sizeof(data)))
		return false;
	bytes_init(&b, data, sizeof(data));
	prefix->kind = bytes_u32(&b);
	prefix->size = bytes_u32(&b);
	prefix->timestamp = bytes_u64(&b);
	if (prefix->size < PREFIX_SIZE) {
		d->is_broken = true;
		d->stats.malformed++;
		return false;
	}
	return file_size - d->offset >= prefix->size;
}

bool jitdump_read(struct jitdump *d, int fd, uint64_t budget, const struct arch_clock *clock,
		  code_piece_fn *fn, void *ctx)
{
	struct reader r = {.dump = d, .fd = fd, .first = clock, .fn = fn, .ctx = ctx};
	off_t file_size = lseek(fd, 0, SEEK_END);
	uint64_t before = d->stats.bytes;
	struct prefix prefix;

	if (d->is_broken || file_size < 0)
		return false;
	arch_clock_read(&r.now);
	if (!d->offset)
		read_header(&r);
	while (d->offset && read_prefix(&r, (uint64_t)file_size, &prefix) &&
	       !comes_too_early(&r, &prefix)) {
		take_record(&r, &prefix);
		d->offset += prefix.size;
		if (d->stats.bytes - before >= budget)
			return true;
	}
	return false;
}
