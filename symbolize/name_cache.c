/* SPDX-License-Identifier: MIT */
#include "symbolize/name_cache.h"

#include <pthread.h>

#include "symbolize/answers.h"

/* Key of the module's outcome among its addresses. */
#define OUTCOME UINT64_MAX
/* Size of an entry besides its strings: with the index. */
#define ENTRY_BYTES (sizeof(struct entry) + 16)

struct entry {
	uint64_t module, rva;
	/* In the arena; for an outcome, func is the path and depth the reason. */
	struct answer answer;
};

/* Entries last used at about the same time. */
struct generation {
	VEC(struct entry) rows;
	struct index index;
	struct arena arena;
	size_t bytes;
};

struct name_cache {
	pthread_mutex_t lock;
	size_t bytes; /* maximum size of a generation */
	struct generation now, before;
};

struct name_cache *name_cache_new(size_t bytes)
{
	struct name_cache *c = xcalloc(1, sizeof(*c));

	pthread_mutex_init(&c->lock, NULL);
	c->bytes = bytes / 2;
	return c;
}

static void release(struct generation *g)
{
	vec_release(&g->rows);
	index_release(&g->index);
	arena_release(&g->arena);
	*g = (struct generation){0};
}

void name_cache_free(struct name_cache *c)
{
	if (!c)
		return;
	release(&c->now);
	release(&c->before);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void name_cache_begin(struct name_cache *c)
{
	if (c->now.bytes <= c->bytes)
		return;
	release(&c->before);
	c->before = c->now;
	c->now = (struct generation){0};
}

uint64_t name_cache_module(const struct symbolizer_input *input)
{
	const struct module *module = input->module;
	struct {
		uint64_t device, inode, size;
		int64_t seconds, ns;
	} file;
	struct stat st;

	if (!module || module->kind != PROFILE_MODULE_FILE || !module->build_id_size ||
	    input->fd < 0 || fstat(input->fd, &st))
		return 0;
	file.device = st.st_dev;
	file.inode = st.st_ino;
	file.size = (uint64_t)st.st_size;
	file.seconds = st.st_mtim.tv_sec;
	file.ns = st.st_mtim.tv_nsec;
	return hash_pair(hash_bytes(module->build_id, module->build_id_size, 0),
			 hash_bytes(&file, sizeof(file), 0)) |
	       1;
}

INDEX_EQUAL(entry_equal, struct generation, rows, a->module == b->module && a->rva == b->rva)

static struct entry *find(struct generation *g, uint64_t module, uint64_t rva)
{
	const struct entry key = {.module = module, .rva = rva};
	uint32_t id = index_find(&g->index, hash_pair(module, rva), entry_equal, g, &key);

	return id == INDEX_NONE ? NULL : &g->rows.items[id];
}

static const char *copy_text(struct generation *g, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	g->bytes += text ? size + 1 : 0;
	return text ? arena_strndup(&g->arena, text, size) : NULL;
}

static struct entry *add(struct generation *g, uint64_t module, uint64_t rva,
			 const struct answer *answer)
{
	struct entry entry = {.module = module, .rva = rva, .answer = *answer};
	struct location *chain = NULL;

	entry.answer.func = copy_text(g, answer->func);
	if (answer->chain && answer->depth)
		chain = arena_alloc(&g->arena, answer->depth * sizeof(*chain));
	for (size_t i = 0; chain && i < answer->depth; i++) {
		chain[i] = answer->chain[i];
		chain[i].func = copy_text(g, answer->chain[i].func);
		chain[i].file = copy_text(g, answer->chain[i].file);
	}
	entry.answer.chain = chain;
	g->bytes += ENTRY_BYTES + (chain ? answer->depth * sizeof(*chain) : 0);
	index_add(&g->index, hash_pair(module, rva), (uint32_t)g->rows.count);
	vec_push(&g->rows, entry);
	return &vec_last(&g->rows);
}

/* Moves an entry, if found, to the present generation. Call with the lock held. */
static struct entry *find_any(struct name_cache *c, uint64_t module, uint64_t rva)
{
	struct entry *entry = find(&c->now, module, rva);

	if (entry)
		return entry;
	entry = find(&c->before, module, rva);
	return entry ? add(&c->now, module, rva, &entry->answer) : NULL;
}

bool name_cache_find(struct name_cache *c, uint64_t module, uint64_t rva, struct answer *answer)
{
	const struct entry *entry;

	pthread_mutex_lock(&c->lock);
	entry = find_any(c, module, rva);
	if (entry)
		*answer = entry->answer;
	pthread_mutex_unlock(&c->lock);
	return entry;
}

void name_cache_add(struct name_cache *c, uint64_t module, uint64_t rva,
		    const struct answer *answer)
{
	pthread_mutex_lock(&c->lock);
	if (rva != OUTCOME && !find(&c->now, module, rva))
		add(&c->now, module, rva, answer);
	pthread_mutex_unlock(&c->lock);
}

void name_cache_add_outcome(struct name_cache *c, uint64_t module, enum symbol_reason reason,
			    const char *debug_path)
{
	const struct answer answer = {.func = debug_path, .depth = (size_t)reason};

	pthread_mutex_lock(&c->lock);
	if (!find(&c->now, module, OUTCOME))
		add(&c->now, module, OUTCOME, &answer);
	pthread_mutex_unlock(&c->lock);
}

bool name_cache_find_outcome(struct name_cache *c, uint64_t module, enum symbol_reason *reason,
			     const char **debug_path)
{
	struct answer answer;

	if (!name_cache_find(c, module, OUTCOME, &answer))
		return false;
	*reason = (enum symbol_reason)answer.depth;
	*debug_path = answer.func;
	return true;
}
