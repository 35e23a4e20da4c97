/* SPDX-License-Identifier: MIT */
/* The address spaces of processes as the unwinder follows them: its state in each process. */
#ifndef PROF_LIB_LIVE_UNWIND_SPACES_H
#define PROF_LIB_LIVE_UNWIND_SPACES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/live/process/live_process.h"
#include "lib/process/mapping.h"
#include "lib/unwind/native/jit_tables.h"
#include "lib/unwind/native/module_tables.h"
#include "lib/unwind/native/table_arena.h"

struct space {
	struct mapping_table *mappings; /* held; NULL: none */
	struct jit_code *code; /* held; NULL: it has told of none */
	uint64_t oldest_copy; /* when the first was made that may still wait; 0: none does */
	struct shard_piece piece; /* what the walker has; words 0: nothing */
	uint32_t execs; /* seen so far */
	uint32_t pending_exec; /* copies that may still wait for code to be told of */
	uint32_t dirty_at; /* place in the list of dirty ones, from 1 on; 0: the walker knows all */
	bool is_pending; /* some mapping waits for its table */
	bool is_partial; /* of some code its jitdump does not tell how it is unwound */
};

struct spaces {
	const struct live_processes *processes; /* borrowed */
	struct process_state state;
	VEC(struct live_process *) dirty;
};

/* The listener's state is a struct space. `ctx` is its. */
void spaces_init(struct spaces *s, struct live_processes *processes,
		 const struct process_listener *listener, void *ctx);
void spaces_release(struct spaces *s);

static inline struct space *spaces_of(const struct spaces *s, struct live_process *process)
{
	return live_process_state(process, s->state);
}

/* Drops the mappings and takes the process out of the list of dirty ones; all else is the caller's.
 */
void spaces_forget(struct spaces *s, struct live_process *process);
/* Puts it into the list of dirty ones, once. */
void spaces_mark_dirty(struct spaces *s, struct live_process *process);
/* Those that wait for some file's table, too. */
void spaces_mark_pending(struct spaces *s);
/* None is dirty or waits for a table. */
bool spaces_are_settled(const struct spaces *s);
/* Notes that the tables of what processes have mapped are in use now. */
void spaces_use_tables(const struct spaces *s, struct module_tables *tables, uint64_t now);
/* The next dirty one, which is not dirty any more; NULL: none is left. */
struct live_process *spaces_next_dirty(struct spaces *s);

#endif
