/* SPDX-License-Identifier: MIT */
/* The address spaces of processes as the unwinder follows them, by pid. */
#ifndef PROF_LIB_LIVE_UNWIND_SPACES_H
#define PROF_LIB_LIVE_UNWIND_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/process/mapping.h"
#include "lib/unwind/native/jit_tables.h"
#include "lib/unwind/native/table_arena.h"

struct space {
	uint32_t pid; /* 0: a free row */
	uint32_t execs; /* seen so far */
	bool is_dirty; /* the walker does not know the present state yet */
	bool is_pending; /* some mapping waits for its table */
	bool is_partial; /* of some code its jitdump does not tell how it is unwound */
	uint32_t pending_exec; /* copies that may still wait for code to be told of */
	uint64_t oldest_copy; /* when the first was made that may still wait; 0: none does */
	struct mapping_table *mappings; /* held; NULL: none */
	struct jit_code *code; /* that it has made itself; held by the unwinder */
	struct shard_piece piece; /* what the walker has; words 0: nothing */
};

struct spaces {
	VEC(struct space) rows;
	VEC(uint32_t) free, dirty;
	struct index by_pid;
};

void spaces_release(struct spaces *s);
/* NULL where there is none. Rows move when others are added. */
struct space *spaces_find(struct spaces *s, uint32_t pid);
/* That of a process which has none yet. */
struct space *spaces_add(struct spaces *s, uint32_t pid);
/* Removes the row; its mappings are dropped, its piece is the caller's. */
void spaces_remove(struct spaces *s, struct space *space);
/* Puts it into the list of dirty ones, once. */
void spaces_mark_dirty(struct spaces *s, struct space *space);
/* The next dirty one, which is not dirty any more; NULL: none is left. */
struct space *spaces_next_dirty(struct spaces *s);

#endif
