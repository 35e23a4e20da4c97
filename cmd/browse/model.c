/* SPDX-License-Identifier: MIT */
#include "cmd/browse/screen.h"

/* Nodes with a larger share are open initially. */
#define OPEN_SHARE 0.05
#define MIN_SHARE 0.0005

void model_init(struct model *m)
{
	*m = (struct model){.min_share = MIN_SHARE};
	vec_push(&m->filters, QUERY_FILTER_ALL);
}

static void release_rows(struct model *m)
{
	query_table_release(&m->table);
	query_tree_release(&m->tree);
	memset(&m->table, 0, sizeof(m->table));
	memset(&m->tree, 0, sizeof(m->tree));
	free(m->paths);
	m->paths = NULL;
	vec_clear(&m->nodes);
	if (m->has_query)
		query_release(&m->query);
	m->has_query = false;
}

void model_release(struct model *m)
{
	release_rows(m);
	vec_for_each(&m->texts, char **, text)
		free(*text);
	vec_release(&m->texts);
	vec_release(&m->filters);
	vec_release(&m->nodes);
	vec_release(&m->toggled_paths);
	index_release(&m->toggled);
}

struct query_filter *model_filter(struct model *m)
{
	return &vec_last(&m->filters);
}

void model_push(struct model *m, const struct query_filter *filter)
{
	const struct query_filter copy = *filter;

	vec_push(&m->filters, copy);
}

bool model_undo(struct model *m)
{
	if (m->filters.count < 2)
		return false;
	m->filters.count--;
	return true;
}

const char *model_keep(struct model *m, const char *text)
{
	vec_push(&m->texts, xstrdup(text));
	return vec_last(&m->texts);
}

static const struct query_keys *keys_of(const struct model *m)
{
	return m->form == MODEL_TABLE ? m->table.keys : m->tree.keys;
}

static uint64_t hash_text(uint64_t hash, const struct query_keys *keys, string_id id)
{
	return id == NO_STRING ? hash_u64(hash)
			       : hash_bytes(strings_get(&keys->texts, id),
					    strings_size(&keys->texts, id), hash);
}

static uint64_t hash_key(const struct query_keys *keys, uint32_t id, uint64_t hash)
{
	const struct query_key *key = &keys->rows.items[id];

	hash = hash_text(hash, keys, key->function);
	hash = hash_text(hash, keys, key->module);
	hash = hash_text(hash, keys, key->file);
	hash = hash_text(hash, keys, key->category);
	hash = hash_text(hash, keys, key->process);
	hash = hash_pair(hash, (uint64_t)key->pid << 32 | key->tid);
	return hash_pair(hash, hash_pair(key->line, key->address));
}

INDEX_EQUAL(path_equal, struct model, toggled_paths, *a == *b)

static bool is_toggled(const struct model *m, uint64_t path)
{
	return index_find(&m->toggled, path, path_equal, m, &path) != INDEX_NONE;
}

static bool is_open(const struct model *m, uint32_t node)
{
	const struct query_node *row = &m->tree.nodes.items[node];
	bool is_heavy = (double)row->total >= OPEN_SHARE * (double)m->query.weight;

	return row->first_child != QUERY_NO_NODE && is_heavy != is_toggled(m, m->paths[node]);
}

/* Lists the nodes whose ancestors are all open. */
static void show_nodes(struct model *m)
{
	const struct query_node *rows = m->tree.nodes.items;
	uint32_t at = m->tree.first_root, next;

	vec_clear(&m->nodes);
	for (; at != QUERY_NO_NODE; at = next) {
		vec_push(&m->nodes, at);
		if (is_open(m, at)) {
			next = rows[at].first_child;
			continue;
		}
		for (next = at; next != QUERY_NO_NODE && rows[next].next_sibling == QUERY_NO_NODE;)
			next = rows[next].parent;
		if (next != QUERY_NO_NODE)
			next = rows[next].next_sibling;
	}
}

static void make_tree(struct model *m)
{
	static const enum query_tree_kind kinds[] = {
		[MODEL_TREE] = QUERY_TREE_PLAIN,
		[MODEL_INVERTED] = QUERY_TREE_INVERTED,
		[MODEL_CALLERS] = QUERY_TREE_CALLERS,
	};
	const struct query_tree_options options = {
		.by = m->form == MODEL_CALLERS || !query_by_has_stacks(m->by) ? QUERY_BY_FUNCTION
									      : m->by,
		.kind = kinds[m->form],
		.function = m->form == MODEL_CALLERS ? m->function : NULL,
		.min_share = m->min_share,
	};

	query_tree_make(&m->tree, &m->query, &options);
	m->paths = xcalloc(m->tree.nodes.count + 1, sizeof(*m->paths));
	for (uint32_t i = 0; i < m->tree.nodes.count; i++) {
		const struct query_node *node = &m->tree.nodes.items[i];
		uint64_t above = node->parent == QUERY_NO_NODE ? (uint64_t)m->form
							       : m->paths[node->parent];

		m->paths[i] = hash_key(m->tree.keys, node->key, above);
	}
	show_nodes(m);
}

int model_update(struct model *m, struct error *err)
{
	int ret;

	release_rows(m);
	ret = query_select(&m->query, m->profile, model_filter(m), err);
	if (ret)
		return ret;
	m->has_query = true;
	if (m->form != MODEL_TABLE) {
		make_tree(m);
	} else {
		query_table_make(&m->table, &m->query, m->by, NULL);
		if (m->order != QUERY_ORDER_SELF)
			query_table_sort(&m->table, m->order);
	}
	return 0;
}

size_t model_count(const struct model *m)
{
	if (!m->has_query)
		return 0;
	return m->form == MODEL_TABLE ? m->table.rows.count : m->nodes.count;
}

static const struct query_node *node_at(const struct model *m, size_t row)
{
	return &m->tree.nodes.items[m->nodes.items[row]];
}

static uint32_t key_at(const struct model *m, size_t row)
{
	return m->form == MODEL_TABLE ? m->table.rows.items[row].key : node_at(m, row)->key;
}

uint64_t model_id(const struct model *m, size_t row)
{
	return m->form == MODEL_TABLE ? hash_key(m->table.keys, key_at(m, row), 0)
				      : m->paths[m->nodes.items[row]];
}

const char *model_name(const struct model *m, size_t row)
{
	const struct query_keys *keys = keys_of(m);
	const struct query_key *key = &keys->rows.items[key_at(m, row)];

	switch (keys->by) {
	case QUERY_BY_MODULE:
		return query_keys_text(keys, key->module);
	case QUERY_BY_FILE:
		return query_keys_text(keys, key->file);
	case QUERY_BY_PROCESS:
		return query_keys_text(keys, key->process);
	case QUERY_BY_PID:
		return query_keys_text(keys, key->process_title);
	case QUERY_BY_THREAD:
		return query_keys_text(keys, key->thread_title);
	case QUERY_BY_CATEGORY:
		return query_keys_text(keys, key->category);
	default:
		return query_keys_text(keys, key->function);
	}
}

const char *model_function(const struct model *m, size_t row)
{
	const struct query_keys *keys = keys_of(m);
	const struct query_key *key = &keys->rows.items[key_at(m, row)];

	return key->function == NO_STRING ? NULL : query_keys_text(keys, key->function);
}

uint64_t model_self(const struct model *m, size_t row)
{
	return m->form == MODEL_TABLE ? m->table.rows.items[row].self : node_at(m, row)->self;
}

uint64_t model_total(const struct model *m, size_t row)
{
	return m->form == MODEL_TABLE ? m->table.rows.items[row].total : node_at(m, row)->total;
}

void model_list(const struct model *m, struct listing *l, size_t first, size_t count)
{
	const struct query_listing_options options = {
		.unit = QUERY_UNIT_PERCENT,
		.for_people = true,
		.has_errors = true,
	};

	if (m->form == MODEL_TABLE) {
		struct query_table part = m->table;

		part.keys = m->table.keys == &m->table.own ? &part.own : m->table.keys;
		part.rows.items += first;
		part.rows.count = count;
		query_listing_table(l, &m->query, &part, &options);
	} else {
		query_listing_nodes(l, &m->query, &m->tree, m->nodes.items + first, count,
				    &options);
	}
}

bool model_has_children(const struct model *m, size_t row)
{
	return m->form != MODEL_TABLE && node_at(m, row)->first_child != QUERY_NO_NODE;
}

bool model_is_open(const struct model *m, size_t row)
{
	return m->form != MODEL_TABLE && is_open(m, m->nodes.items[row]);
}

void model_toggle(struct model *m, size_t row)
{
	uint64_t path;
	uint32_t found;

	if (!model_has_children(m, row))
		return;
	path = m->paths[m->nodes.items[row]];
	found = index_find(&m->toggled, path, path_equal, m, &path);
	if (found != INDEX_NONE) {
		index_remove(&m->toggled, path, found);
	} else {
		index_add(&m->toggled, path, (uint32_t)m->toggled_paths.count);
		vec_push(&m->toggled_paths, path);
	}
	show_nodes(m);
}

size_t model_parent(const struct model *m, size_t row)
{
	uint32_t parent = m->form == MODEL_TABLE ? QUERY_NO_NODE : node_at(m, row)->parent;

	for (size_t i = row; parent != QUERY_NO_NODE && i-- > 0;) {
		if (m->nodes.items[i] == parent)
			return i;
	}
	return row;
}

static void add_word(struct strbuf *out, const char *option, const char *value)
{
	if (!value)
		return;
	strbuf_addf(out, " --%s ", option);
	if (*value && !value[strcspn(value, " '\"\\$`*?[](){}<>|&;#~!\t\n")]) {
		strbuf_adds(out, value);
		return;
	}
	strbuf_addch(out, '\'');
	for (; *value; value++)
		strbuf_adds(out, *value == '\'' ? "'\\''" : (char[]){*value, '\0'});
	strbuf_addch(out, '\'');
}

void model_describe(const struct query_filter *f, struct strbuf *out)
{
	add_word(out, "process", f->process);
	add_word(out, "thread", f->thread);
	add_word(out, "event", f->event);
	add_word(out, "category", f->category);
	add_word(out, "language", f->language);
	if (f->from || f->until != UINT64_MAX) {
		strbuf_adds(out, " --time ");
		if (f->from)
			strbuf_addf(out, "%.9g", (double)f->from / 1e9);
		strbuf_adds(out, "..");
		if (f->until != UINT64_MAX)
			strbuf_addf(out, "%.9g", (double)f->until / 1e9);
	}
	add_word(out, "during", f->during);
	add_word(out, "focus", f->focus);
	add_word(out, "ignore", f->ignore);
	add_word(out, "hide", f->hide);
	add_word(out, "root", f->root);
	if (f->no_kernel)
		strbuf_adds(out, " --no-kernel");
	if (f->own)
		strbuf_adds(out, " --own");
	if (f->fold_recursion)
		strbuf_adds(out, " --fold-recursion");
	if (f->include_idle)
		strbuf_adds(out, " --include-idle");
}
