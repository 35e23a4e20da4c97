/* SPDX-License-Identifier: MIT */
#include "lib/recording/workplace/sample_profile.h"

#include <elf.h>

#include "lib/recording/workplace/function_code.h"
#include "symbolize/disassemble.h"
#include "symbolize/module_files.h"
#include "symbolize/symbolizer.h"

/*
 * Count of a block of one instruction that was sampled once, large enough for its fractions to be
 * whole numbers.
 */
#define SCALE 1000
/*
 * Fewest samples of a block in a sampled function: with so many expected, one recording of 20 has
 * none. Compilers treat code without a count as cold. They do not inline there, and leave variables
 * in memory, which slows down inputs that need this code.
 */
#define UNSEEN 3
/* Line offsets in sample profiles have this many bits, and wrap around. */
#define OFFSET_MASK 0xffff
/* Maximum distance between two branches, in bytes; longer ones are lost branches. */
#define RUN_MAX (1u << 16)
#define NO_NODE UINT32_MAX

/* A sampled address, or an address from which a sampled function was called. */
struct hot {
	uint64_t rva;
	uint64_t weight;
};

/* Instructions from one branch to the next. */
struct run {
	uint64_t first, last;
	uint64_t weight;
};

/* Samples of a function with that caller; the callee is known by an address in it. */
struct edge {
	uint64_t caller, callee;
	uint64_t weight;
};

/* A basic block: its instructions, and their samples. */
struct block {
	size_t first, count;
	uint64_t weight;
};

/* A position within a function, by which compilers find it again. */
struct site {
	uint32_t offset; /* lines from the start of the function */
	uint32_t discriminator; /* distinguishes several blocks of the line */
};

/* A function, or one inlined at a site of another. */
struct node {
	uint32_t parent; /* NO_NODE: a function of its own */
	struct site site;
	string_id name;
	uint64_t head; /* number of calls of the function */
	uint64_t total; /* including inlined functions */
};

struct line {
	uint32_t node;
	struct site site;
	uint64_t count;
};

struct target {
	uint32_t line;
	string_id name;
	uint64_t weight;
};

struct tree {
	VEC(struct node) nodes; /* callers precede the functions inlined into them */
	VEC(struct line) lines;
	VEC(struct target) targets;
	struct index node_index, line_index, target_index;
	struct strings names;
};

struct builder {
	const struct sample_profile *s;
	VEC(struct hot) hot; /* by address */
	VEC(struct edge) edges;
	VEC(struct run) runs; /* of branches */
	VEC(uint64_t) jumps; /* addresses of instructions that end a block */
	VEC(uint64_t) code; /* addresses of instructions */
	VEC(uint64_t) leaders; /* addresses that begin a block, and ends of functions */
	VEC(struct block) blocks;
	struct symbolizer_input input;
	struct symbolizer *elf, *dwarf;
	struct tree tree;
	uint64_t weight, used; /* samples: all, and those with a known position */
};

INDEX_EQUAL(node_equal, struct tree, nodes,
	    a->parent == b->parent && a->name == b->name && a->site.offset == b->site.offset &&
		    a->site.discriminator == b->site.discriminator)
INDEX_EQUAL(line_equal, struct tree, lines,
	    a->node == b->node && a->site.offset == b->site.offset &&
		    a->site.discriminator == b->site.discriminator)
INDEX_EQUAL(target_equal, struct tree, targets, a->line == b->line && a->name == b->name)

static uint64_t site_hash(const struct site *site)
{
	return (uint64_t)site->offset << 32 | site->discriminator;
}

static uint32_t intern_node(struct tree *t, const struct node *node)
{
	uint64_t hash = hash_pair((uint64_t)node->parent << 32 | node->name,
				  site_hash(&node->site));
	uint32_t id = index_intern(&t->node_index, hash, node_equal, t, node, t->nodes.count);

	if (id == t->nodes.count)
		vec_push(&t->nodes, *node);
	return id;
}

static uint32_t intern_line(struct tree *t, uint32_t node, struct site site)
{
	struct line line = {.node = node, .site = site};
	uint64_t hash = hash_pair(node, site_hash(&site));
	uint32_t id = index_intern(&t->line_index, hash, line_equal, t, &line, t->lines.count);

	if (id == t->lines.count)
		vec_push(&t->lines, line);
	return id;
}

static void add_target(struct tree *t, uint32_t line, string_id name, uint64_t weight)
{
	struct target target = {.line = line, .name = name};
	uint32_t id = index_intern(&t->target_index, hash_pair(line, name), target_equal, t,
				   &target, t->targets.count);

	if (id == t->targets.count)
		vec_push(&t->targets, target);
	t->targets.items[id].weight += weight;
}

static void tree_release(struct tree *t)
{
	vec_release(&t->nodes);
	vec_release(&t->lines);
	vec_release(&t->targets);
	index_release(&t->node_index);
	index_release(&t->line_index);
	index_release(&t->target_index);
	strings_release(&t->names);
}

/*
 * LLVM packs three numbers into a discriminator (llvm/include/llvm/IR/DebugInfoMetadata.h): the
 * block's number, the duplication factor of its code, and the number of the copy. Each is a bit 1
 * for 0, or a bit 0 and 5 bits, the last of which announces 7 more.
 */
static uint32_t packed_number(uint32_t packed)
{
	if (packed & 1)
		return 0;
	packed >>= 1;
	return packed & 0x20 ? (packed >> 1 & 0xfe0) | (packed & 0x1f) : packed & 0x1f;
}

static uint32_t copies_of(uint32_t packed)
{
	uint32_t rest = packed & 1 ? packed >> 1 : packed & 0x40 ? packed >> 14 : packed >> 7;
	uint32_t copies = packed_number(rest);

	return copies ? copies : 1;
}

static struct site site_of(const struct location *at)
{
	return (struct site){(at->line - at->start_line) & OFFSET_MASK,
			     packed_number(at->discriminator)};
}

/*
 * True if compilers can identify all functions at the address, and all calls between them. Linkage
 * names that compilers know contain no characters that end a name in the file.
 */
static bool is_known(const struct answer *answer)
{
	for (size_t i = 0; i < answer->depth; i++) {
		const struct location *at = &answer->chain[i];

		if (!at->func || !at->line || !at->start_line || strpbrk(at->func, ": \t\n"))
			return false;
	}
	return answer->depth;
}

/* Returns the innermost function at the address. */
static uint32_t node_of(struct tree *t, const struct answer *answer)
{
	uint32_t id = NO_NODE;

	for (size_t i = 0; i < answer->depth; i++) {
		struct node node = {.parent = id};

		if (i)
			node.site = site_of(&answer->chain[i - 1]);
		node.name = strings_intern(&t->names, answer->chain[i].func);
		id = intern_node(t, &node);
	}
	return id;
}

/* Returns the next outer stack at another address, or NO_STACK. */
static stack_id find_caller(const struct profile *p, stack_id stack)
{
	while (profile_frame_of(p, stack)->inline_depth &&
	       p->stacks.rows.items[stack].parent != NO_STACK)
		stack = p->stacks.rows.items[stack].parent;
	return p->stacks.rows.items[stack].parent;
}

static bool find_rva(const struct builder *b, stack_id stack, uint64_t *rva)
{
	const struct frame *frame = profile_frame_of(b->s->profile, stack);
	const struct modules *modules = &b->s->profile->modules;

	return frame->module == b->s->module &&
	       module_offset_to_rva(&modules->rows.items[frame->module], frame->offset, rva);
}

static void add_stack(struct builder *b, stack_id stack, uint64_t weight)
{
	struct hot hot = {.weight = weight};
	struct edge edge = {.weight = weight};
	stack_id caller;

	if (!find_rva(b, stack, &hot.rva))
		return;
	b->weight += weight;
	vec_push(&b->hot, hot);
	caller = find_caller(b->s->profile, stack);
	edge.callee = hot.rva;
	if (caller != NO_STACK && find_rva(b, caller, &edge.caller))
		vec_push(&b->edges, edge);
}

static void add_branch(struct builder *b, stack_id stack, uint64_t weight)
{
	const struct profile *p = b->s->profile;
	stack_id to = find_caller(p, stack), from;
	struct run run = {.weight = weight};
	struct edge edge = {.weight = weight};

	if (to == NO_STACK || !find_rva(b, to, &run.first))
		return;
	b->weight += weight;
	if (find_rva(b, stack, &run.last) && run.last - run.first < RUN_MAX)
		vec_push(&b->runs, run);
	vec_push(&b->hot, (struct hot){.rva = run.first, .weight = weight});
	from = find_caller(p, to);
	edge.callee = run.first;
	if (from != NO_STACK && find_rva(b, from, &edge.caller))
		vec_push(&b->edges, edge);
}

ORDER(compare_hot, struct hot, COMPARE(a->rva, b->rva))
ORDER(compare_edges, struct edge, COMPARE(a->caller, b->caller) ?: COMPARE(a->callee, b->callee))

static void take_samples(struct builder *b)
{
	const struct profile *p = b->s->profile;
	_cleanup_free_ uint64_t *weights = xcalloc(p->stacks.rows.count + 1, sizeof(*weights));

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->event == b->s->event && sample->stack != NO_STACK)
				weights[sample->stack] += sample->weight;
		}
	}
	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		if (weights[id] && b->s->are_branches)
			add_branch(b, id, weights[id]);
		else if (weights[id])
			add_stack(b, id, weights[id]);
	}
	vec_sort(&b->hot, compare_hot);
	vec_sort(&b->edges, compare_edges);
}

/* True for a jump or a return, after which another block begins. */
static bool ends_block(const char *text, uint16_t machine)
{
	static const char *const arm[] = {"b", "br", "braa", "cbz", "cbnz", "tbz", "tbnz", NULL};
	static const char *const prefixes[] = {"notrack ", "bnd ", "rep "};
	size_t size;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		text += text_starts_with(text, prefixes[i]) ? strlen(prefixes[i]) : 0;
	if (text_starts_with(text, "ret"))
		return true;
	if (machine != EM_AARCH64)
		return *text == 'j' || text_starts_with(text, "ud2");
	size = strcspn(text, " \t.");
	for (const char *const *word = arm; *word; word++) {
		if (strlen(*word) == size && !memcmp(*word, text, size))
			return true;
	}
	return false;
}

static int add_code(struct builder *b, const struct answer *answer, struct error *err)
{
	const struct profile *p = b->s->profile;
	const struct module *module = &p->modules.rows.items[b->s->module];
	uint64_t size = answer->func_size ? answer->func_size : 1;
	struct function_code code;
	struct disassembly d;
	int ret = function_code_read(&code, module, strings_get(&p->strings, module->name),
				     b->s->files, answer->func_start, size, err);

	if (ret)
		return ret;
	ret = disassemble(&d, code.machine, code.bytes, code.size, code.address, err);
	vec_push(&b->leaders, code.address);
	vec_push(&b->leaders, code.address + code.size);
	vec_for_each(&d.rows, const struct instruction *, row) {
		vec_push(&b->code, code.address + row->offset);
		if (!ends_block(row->text, code.machine))
			continue;
		vec_push(&b->jumps, code.address + row->offset);
		vec_push(&b->leaders, code.address + row->offset + row->size);
		if (row->target != NO_TARGET)
			vec_push(&b->leaders, row->target);
	}
	disassembly_release(&d);
	free(code.bytes);
	return ret;
}

/* Disassembles each sampled function. */
static int read_code(struct builder *b, struct error *err)
{
	uint64_t end = 0;
	int ret = 0;

	for (size_t i = 0; i < b->hot.count && !ret; i++) {
		uint64_t rva = b->hot.items[i].rva;
		struct answer answer = {0};

		if (rva < end)
			continue;
		b->elf->ops->lookup(b->elf, &rva, 1, &answer);
		if (!answer.func || answer.func_start > rva)
			continue;
		end = answer.func_start + answer.func_size;
		ret = add_code(b, &answer, err);
	}
	vec_sort(&b->code, u64_compare);
	vec_sort(&b->jumps, u64_compare);
	vec_sort(&b->leaders, u64_compare);
	return ret;
}

/* Distributes samples over the instructions of their block, which all run equally often. */
static void make_blocks(struct builder *b)
{
	for (size_t i = 0, at = 0, hot = 0; i < b->leaders.count; i++) {
		bool is_last = i + 1 == b->leaders.count;
		uint64_t end = is_last ? UINT64_MAX : b->leaders.items[i + 1];
		struct block block = {.first = at};

		for (; at < b->code.count && b->code.items[at] < end; at++)
			block.count++;
		for (; hot < b->hot.count && b->hot.items[hot].rva < end; hot++) {
			if (b->hot.items[hot].rva >= b->leaders.items[i])
				block.weight += b->hot.items[hot].weight;
		}
		if (block.count)
			vec_push(&b->blocks, block);
	}
}

static struct answer answer_at(const struct builder *b, uint64_t rva)
{
	struct answer answer = {0};

	b->dwarf->ops->lookup(b->dwarf, &rva, 1, &answer);
	return answer;
}

/* Counts an instruction: a line runs as often as the most frequent of its blocks. */
static bool count_instruction(struct builder *b, uint64_t rva, uint64_t count)
{
	struct answer answer = answer_at(b, rva);
	const struct location *at;
	uint32_t id;

	if (!is_known(&answer))
		return false;
	at = &answer.chain[answer.depth - 1];
	id = intern_line(&b->tree, node_of(&b->tree, &answer), site_of(at));
	count *= copies_of(at->discriminator);
	b->tree.lines.items[id].count = MAX(b->tree.lines.items[id].count, count);
	return true;
}

static void count_lines(struct builder *b)
{
	vec_for_each(&b->blocks, const struct block *, block) {
		uint64_t weight = block->weight > UNSEEN ? block->weight : UNSEEN;
		uint64_t count = weight * SCALE / block->count;
		size_t known = 0;

		for (size_t i = 0; i < block->count; i++)
			known += count_instruction(b, b->code.items[block->first + i], count);
		b->used += block->weight * known / block->count;
	}
}

/* Counts an instruction as often as code between branches contains it. */
static void count_runs(struct builder *b)
{
	_cleanup_free_ uint64_t *changes = xcalloc(b->code.count + 1, sizeof(*changes));
	uint64_t count = 0;

	vec_for_each(&b->runs, const struct run *, run) {
		struct answer answer = answer_at(b, run->first);
		size_t first = vec_count_front(&b->code, it, *it < run->first);
		size_t end = vec_count_front(&b->code, it, *it <= run->last);

		b->used += is_known(&answer) ? run->weight : 0;
		changes[first] += run->weight;
		changes[end] -= run->weight;
	}
	for (size_t i = 0; i < b->code.count; i++) {
		count += changes[i];
		if (count)
			count_instruction(b, b->code.items[i], count);
	}
}

/* True for a branch to the start of a function that is not a jump back to its own. */
static bool is_call(const struct builder *b, const struct edge *edge)
{
	size_t at = vec_count_front(&b->jumps, it, *it < edge->caller);
	struct answer answer = {0};

	b->elf->ops->lookup(b->elf, &edge->callee, 1, &answer);
	return answer.func && answer.func_start == edge->callee &&
	       (at == b->jumps.count || b->jumps.items[at] != edge->caller ||
		edge->caller - answer.func_start >= answer.func_size);
}

/* Adds the functions that calls lead to. */
static void count_calls(struct builder *b)
{
	struct tree *t = &b->tree;

	vec_for_each(&b->edges, const struct edge *, edge) {
		struct answer to = answer_at(b, edge->callee), from = answer_at(b, edge->caller);
		uint32_t line;

		if (!is_known(&to) || !is_known(&from) || (b->s->are_branches && !is_call(b, edge)))
			continue;
		line = intern_line(t, node_of(t, &from), site_of(&from.chain[from.depth - 1]));
		add_target(t, line, strings_intern(&t->names, to.chain[0].func), edge->weight);
	}
}

ORDER(compare_targets, struct target,
      COMPARE(a->line, b->line) ?: COMPARE(b->weight, a->weight) ?: COMPARE(a->name, b->name))

/* Splits the count of each call among its targets by their samples; the rest is unknown. */
static void scale_targets(struct tree *t)
{
	vec_sort(&t->targets, compare_targets);
	for (size_t i = 0, next; i < t->targets.count; i = next) {
		struct line *line = &t->lines.items[t->targets.items[i].line];
		uint64_t sum = 0;

		line->count = line->count ? line->count : 1;
		for (next = i; next < t->targets.count &&
			       t->targets.items[next].line == t->targets.items[i].line;
		     next++)
			sum += t->targets.items[next].weight;
		for (size_t k = i; k < next; k++) {
			struct target *target = &t->targets.items[k];
			struct node callee = {.parent = NO_NODE, .name = target->name};
			uint32_t id;

			target->weight = (uint64_t)((double)line->count * (double)target->weight /
						    (double)sum);
			id = intern_node(t, &callee);
			t->nodes.items[id].head += target->weight;
		}
	}
}

static void add_totals(struct tree *t)
{
	vec_for_each(&t->lines, const struct line *, line)
		t->nodes.items[line->node].total += line->count;
	for (size_t i = t->nodes.count; i-- > 0;) {
		const struct node *node = &t->nodes.items[i];

		if (node->parent != NO_NODE)
			t->nodes.items[node->parent].total += node->total;
	}
}

/* Rows in output order. */
struct writer {
	const struct tree *t;
	VEC(const struct node *) nodes; /* by parent and site */
	VEC(const struct line *) lines; /* by node and site */
	VEC(const struct node *) functions; /* heaviest first */
	struct strbuf text;
};

#define COMPARE_SITES(a, b) \
	(COMPARE((a).offset, (b).offset) ?: COMPARE((a).discriminator, (b).discriminator))

ORDER(compare_nodes, __typeof__(const struct node *),
      COMPARE((*a)->parent, (*b)->parent) ?: COMPARE_SITES((*a)->site, (*b)->site)
					  ?: COMPARE(*a, *b))
ORDER(compare_lines, __typeof__(const struct line *),
      COMPARE((*a)->node, (*b)->node) ?: COMPARE_SITES((*a)->site, (*b)->site))
ORDER(compare_functions, __typeof__(const struct node *),
      COMPARE((*b)->total, (*a)->total) ?: COMPARE(*a, *b))

static void order_rows(struct writer *w)
{
	vec_for_each(&w->t->nodes, const struct node *, node) {
		if (node->parent == NO_NODE)
			vec_push(&w->functions, node);
		else
			vec_push(&w->nodes, node);
	}
	vec_for_each(&w->t->lines, const struct line *, line)
		vec_push(&w->lines, line);
	vec_sort(&w->nodes, compare_nodes);
	vec_sort(&w->lines, compare_lines);
	vec_sort(&w->functions, compare_functions);
}

static void write_site(struct writer *w, size_t depth, struct site site)
{
	strbuf_addf(&w->text, "%*s%" PRIu32, (int)depth, "", site.offset);
	if (site.discriminator)
		strbuf_addf(&w->text, ".%" PRIu32, site.discriminator);
}

static void write_lines(struct writer *w, uint32_t node, size_t depth)
{
	const struct tree *t = w->t;
	size_t at = vec_count_front(&w->lines, it, (*it)->node < node);

	for (; at < w->lines.count && w->lines.items[at]->node == node; at++) {
		const struct line *line = w->lines.items[at];
		uint32_t id = (uint32_t)(line - t->lines.items);
		size_t target = vec_count_front(&t->targets, it, it->line < id);

		write_site(w, depth, line->site);
		strbuf_addf(&w->text, ": %" PRIu64, line->count);
		for (; target < t->targets.count && t->targets.items[target].line == id; target++) {
			const struct target *row = &t->targets.items[target];

			if (row->weight)
				strbuf_addf(&w->text, " %s:%" PRIu64,
					    strings_get(&t->names, row->name), row->weight);
		}
		strbuf_addch(&w->text, '\n');
	}
}

/*
 * Writes the contents of a function, including the functions inlined there; symbolizers bound their
 * depth.
 */
static void write_node(struct writer *w, uint32_t node, size_t depth)
{
	const struct tree *t = w->t;
	size_t at = vec_count_front(&w->nodes, it, (*it)->parent < node);

	write_lines(w, node, depth);
	for (; at < w->nodes.count && w->nodes.items[at]->parent == node; at++) {
		const struct node *callee = w->nodes.items[at];

		write_site(w, depth, callee->site);
		strbuf_addf(&w->text, ": %s:%" PRIu64 "\n", strings_get(&t->names, callee->name),
			    callee->total);
		write_node(w, (uint32_t)(callee - t->nodes.items), depth + 1);
	}
}

static void write_tree(const struct tree *t, struct outfile *out)
{
	struct writer w = {.t = t};

	order_rows(&w);
	vec_for_each(&w.functions, const struct node **, at) {
		const struct node *node = *at;

		strbuf_reset(&w.text);
		strbuf_addf(&w.text, "%s:%" PRIu64 ":%" PRIu64 "\n",
			    strings_get(&t->names, node->name), node->total, node->head);
		write_node(&w, (uint32_t)(node - t->nodes.items), 1);
		outfile_write(out, w.text.text, w.text.size);
	}
	vec_release(&w.nodes);
	vec_release(&w.lines);
	vec_release(&w.functions);
	strbuf_release(&w.text);
}

static int open_symbolizers(struct builder *b, const struct debug_search *search, struct error *err)
{
	const struct profile *p = b->s->profile;
	const struct module *module = &p->modules.rows.items[b->s->module];
	const char *path = strings_get(&p->strings, module->path);
	int ret;

	b->input = (struct symbolizer_input){
		.module = module,
		.path = path,
		.fd = module->file_key == UINT32_MAX ? -1
						     : file_set_find(b->s->files, module->file_key),
		.search = search,
		.wants_discriminators = true,
	};
	if (b->input.fd < 0)
		return error_text(err, -ENOENT, "%s: the file is not on this machine", path);
	b->input.files = module_files_new(&b->input);
	ret = symbolizer_elf.open(&b->elf, &b->input, err);
	if (!ret)
		ret = symbolizer_dwarf.open(&b->dwarf, &b->input, err);
	return ret ? error_wrap(err, "%s", path) : 0;
}

static int fail_for_want_of_lines(const struct builder *b, struct error *err)
{
	const struct profile *p = b->s->profile;

	error_text(err, -ENODATA, "%s: no sample has a line relative to the start of its function",
		   strings_get(&p->strings, p->modules.rows.items[b->s->module].path));
	error_hint(err, "compile with -gline-tables-only -fdebug-info-for-profiling");
	return -ENODATA;
}

static int build(struct builder *b, struct error *err)
{
	int ret = read_code(b, err);

	if (ret)
		return ret;
	if (b->s->are_branches) {
		count_runs(b);
	} else {
		make_blocks(b);
		count_lines(b);
	}
	if (!b->tree.lines.count)
		return fail_for_want_of_lines(b, err);
	count_calls(b);
	scale_targets(&b->tree);
	add_totals(&b->tree);
	return 0;
}

static void builder_release(struct builder *b)
{
	if (b->elf)
		b->elf->ops->free(b->elf);
	if (b->dwarf)
		b->dwarf->ops->free(b->dwarf);
	module_files_unref(b->input.files);
	vec_release(&b->hot);
	vec_release(&b->edges);
	vec_release(&b->runs);
	vec_release(&b->jumps);
	vec_release(&b->code);
	vec_release(&b->leaders);
	vec_release(&b->blocks);
	tree_release(&b->tree);
}

int sample_profile_write(const struct sample_profile *s, struct outfile *out,
			 struct sample_profile_counts *counts, struct error *err)
{
	const struct debug_search search = {.dirs = s->dirs};
	struct builder b = {.s = s};
	int ret = open_symbolizers(&b, &search, err);

	if (!ret) {
		take_samples(&b);
		ret = build(&b, err);
	}
	if (!ret)
		write_tree(&b.tree, out);
	*counts = (struct sample_profile_counts){b.weight, b.used};
	builder_release(&b);
	return ret;
}
