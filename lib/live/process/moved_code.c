/* SPDX-License-Identifier: MIT */
#include "lib/live/process/moved_code.h"

#include <sys/uio.h>

#include "lib/stream/record/records.h"

/* Time within which programs copy their code. */
#define WAIT_NS 2000000000ull
/* Number of pages to compare, from the first to the last. */
#define PROBES 8
#define PAGE_BYTES 4096

static void forget_pieces(struct moved_code *m, const struct live_process *process, uint64_t start,
			  uint64_t end)
{
	size_t kept = 0;

	vec_for_each(&m->pieces, const struct moved_piece *, piece) {
		if (piece->process != process || piece->mapping.end <= start ||
		    piece->mapping.start >= end)
			m->pieces.items[kept++] = *piece;
	}
	m->pieces.count = kept;
}

static void on_exec(void *ctx, struct live_process *process, uint64_t time)
{
	forget_pieces(ctx, process, 0, UINT64_MAX);
}

static void release_process(void *ctx, struct live_process *process)
{
	forget_pieces(ctx, process, 0, UINT64_MAX);
}

void moved_code_init(struct moved_code *m, struct live_processes *processes,
		     const struct file_set *files, record_sink_fn *sink, void *ctx)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.exec = on_exec,
		.release = release_process,
	};

	*m = (struct moved_code){.files = files, .sink = sink, .ctx = ctx};
	live_processes_listen(processes, &listener, m);
}

/* Adds the part of new memory that the file's mapping covered, or would cover if it were longer. */
static void add_piece(struct moved_code *m, const struct live_process *process,
		      const struct mapping *file, const struct rec_map *map)
{
	struct moved_piece piece = {
		.process = process,
		.mapping = *file,
		.until_ns = map->rec.time + WAIT_NS,
	};

	if (map->start > file->start) {
		piece.mapping.start = map->start;
		piece.mapping.file_offset += map->start - file->start;
	}
	if (file->end > map->end || file->end == map->start)
		piece.mapping.end = map->end;
	forget_pieces(m, process, piece.mapping.start, piece.mapping.end);
	vec_push(&m->pieces, piece);
}

void moved_code_map(struct moved_code *m, const struct live_process *process,
		    const struct mapping_table *before, const struct rec_map *map)
{
	if (map->module_id != NO_REC_MODULE) {
		forget_pieces(m, process, map->start, map->end);
		return;
	}
	if (!before)
		return;
	vec_for_each(&before->rows, const struct mapping *, row) {
		if (row->start >= map->end)
			break;
		if (row->end >= map->start && row->module != MAPPING_ANON)
			add_piece(m, process, row, map);
	}
}

/* Returns whether a page is in memory: reading others could block on their provider. */
static bool is_present(int pagemap, uint64_t addr)
{
	uint64_t entry, page = addr / (uint64_t)getpagesize();

	return pread(pagemap, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) ==
		       (ssize_t)sizeof(entry) &&
	       entry >> 63;
}

/* Compares a page; sets *is_code if it contains more than one value. */
static bool is_same_page(const struct moved_piece *piece, int pagemap, int fd, uint64_t at,
			 bool *is_code)
{
	uint8_t mapped[PAGE_BYTES], in_file[PAGE_BYTES];
	struct iovec own = {mapped, sizeof(mapped)};
	struct iovec other = {(void *)(uintptr_t)(piece->mapping.start + at), sizeof(mapped)};
	ssize_t size = pread(fd, in_file, sizeof(in_file),
			     (off_t)(piece->mapping.file_offset + at));

	if (size <= 0 || !is_present(pagemap, piece->mapping.start + at) ||
	    process_vm_readv((pid_t)piece->process->pid, &own, 1, &other, 1, 0) !=
		    (ssize_t)sizeof(mapped) ||
	    memcmp(mapped, in_file, (size_t)size) != 0)
		return false;
	*is_code |= memcmp(mapped, mapped + 1, (size_t)size - 1) != 0;
	return true;
}

static bool is_same(const struct moved_code *m, const struct moved_piece *piece)
{
	uint64_t last = (piece->mapping.end - piece->mapping.start - 1) / PAGE_BYTES;
	int fd = file_set_find(m->files, piece->mapping.module);
	_cleanup_close_ int pagemap = -1;
	bool is_code = false;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/pagemap", piece->process->pid);
	pagemap = fd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0)
		return false;
	for (uint64_t i = 0; i < PROBES; i++) {
		if (!is_same_page(piece, pagemap, fd, i * last / (PROBES - 1) * PAGE_BYTES,
				  &is_code))
			return false;
	}
	return is_code;
}

static void send_piece(const struct moved_code *m, const struct moved_piece *piece, uint64_t time)
{
	struct rec_map map = {
		.start = piece->mapping.start,
		.end = piece->mapping.end,
		.file_offset = piece->mapping.file_offset,
		.module_id = piece->mapping.module,
	};

	record_init(&map.rec, REC_MAP, sizeof(map), time, piece->process->pid, piece->process->pid);
	m->sink(m->ctx, &map.rec);
}

void moved_code_poll(struct moved_code *m, const struct live_process *process, uint64_t time)
{
	/* Backwards, since the last piece replaces a removed one. */
	for (size_t i = m->pieces.count; i-- > 0;) {
		struct moved_piece piece = m->pieces.items[i];
		bool is_moved;

		if (process && piece.process != process)
			continue;
		is_moved = is_same(m, &piece);
		if (!is_moved && time < piece.until_ns)
			continue;
		m->pieces.items[i] = vec_last(&m->pieces);
		m->pieces.count--;
		if (is_moved)
			send_piece(m, &piece, time);
	}
}
