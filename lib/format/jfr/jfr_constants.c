/* SPDX-License-Identifier: MIT */
#include "lib/format/jfr/jfr_reader.h"
#include "lib/model/languages/language.h"

/* Maximum virtual threads with separate rows. */
#define VIRTUAL_ROWS_MAX 50
#define FRAMES_MAX (1u << 16)

/* Subcategories of Java: tiers of language_java.c. */
enum { TIER_OTHER, TIER_INTERPRETER, TIER_C1, TIER_C2, TIER_NATIVE };

/* Values of events. */

struct jfr_value jfr_value_at(const struct event *e, uint32_t leaf)
{
	return leaf == JFR_NONE ? (struct jfr_value){0} : e->values[leaf];
}

struct jfr_value jfr_value_of(struct jfr_reader *r, const struct event *e, const char *name)
{
	return jfr_value_at(e, jfr_leaf_find(r->chunk, e->row, name));
}

/* Returns 0 for negative and missing numbers. */
uint64_t jfr_number_of(struct jfr_reader *r, const struct event *e, const char *name)
{
	struct jfr_value value = jfr_value_of(r, e, name);

	return value.kind == JFR_NUMBER && value.number > 0 ? (uint64_t)value.number : 0;
}

/* Returns the text of a text or of a simple constant; "" for others. */
const char *jfr_text_of(struct jfr_reader *r, struct jfr_value value, struct strbuf *out)
{
	value = jfr_resolve(r->chunk, value);
	strbuf_reset(out);
	jfr_add_text(r->chunk, &value, out);
	return strbuf_text(out);
}

INDEX_HAS(known_equal, struct known_rows, rows, key)

static const struct known_row *find_known(const struct known_rows *k, uint64_t key)
{
	uint32_t at = index_find(&k->index, hash_u64(key), known_equal, k, &key);

	return at == INDEX_NONE ? NULL : &k->rows.items[at];
}

static uint32_t add_known(struct known_rows *k, uint64_t key, uint32_t row)
{
	index_add(&k->index, hash_u64(key), (uint32_t)k->rows.count);
	vec_push(&k->rows, (struct known_row){key, row});
	return row;
}

static void clear_known(struct known_rows *k)
{
	vec_clear(&k->rows);
	index_clear(&k->index);
}

static void release_known(struct known_rows *k)
{
	vec_release(&k->rows);
	index_release(&k->index);
}

/* Names. */

/* Appends a class as in Java source: "java.lang.String[]" for "[Ljava/lang/String;". */
void jfr_add_class(struct strbuf *out, const char *name)
{
	static const char primitives[] =
		"Bbyte\0Cchar\0Ddouble\0Ffloat\0Iint\0Jlong\0Sshort\0Zboolean\0";
	size_t depth = strspn(name, "["), begin = out->size, size;
	const char *hidden;

	name += depth;
	size = strlen(name);
	if (depth && *name == 'L' && size > 1 && name[size - 1] == ';') {
		name++;
		size -= 2;
	} else if (depth && size == 1) {
		for (const char *row = primitives; *row; row += strlen(row) + 1) {
			if (*row == *name) {
				name = row + 1;
				size = strlen(name);
				break;
			}
		}
	}
	/* Hidden classes end in an address, or in two numbers. */
	hidden = memmem(name, size, "$$Lambda", 8);
	if (hidden)
		size = (size_t)(hidden - name) + 8;
	else if ((hidden = memmem(name, size, "/0x", 3)) || (hidden = memmem(name, size, "+0x", 3)))
		size = (size_t)(hidden - name);
	strbuf_add(out, name, size);
	for (size_t i = begin; i < out->size; i++) {
		if (out->text[i] == '/')
			out->text[i] = '.';
	}
	while (depth-- && out->size - begin < 4096)
		strbuf_adds(out, "[]");
}

const char *jfr_class_name(struct jfr_reader *r, struct jfr_value class, struct strbuf *out)
{
	struct jfr_value values[JFR_LEAVES_MAX];
	uint32_t leaf = r->layout.class_name;

	strbuf_reset(out);
	if (leaf != JFR_NONE && jfr_constant_read(r->chunk, &class, values) != JFR_NONE)
		jfr_text_of(r, values[leaf], out);
	return strbuf_text(out);
}

struct jfr_value jfr_member(const struct jfr_value *values, uint32_t leaf)
{
	return leaf == JFR_NONE ? (struct jfr_value){0} : values[leaf];
}

/* Appends a method's name as in Java source. Returns the role of its frames. */
uint8_t jfr_add_method(struct jfr_reader *r, const struct jfr_value *values, const char *class,
		       struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf name = {0}, whole = {0};
	uint8_t role;

	jfr_add_class(&whole, class);
	if (whole.size)
		strbuf_addch(&whole, '.');
	strbuf_adds(&whole, jfr_text_of(r, jfr_member(values, r->layout.method_name), &name));
	role = (uint8_t)language_java.translate(strbuf_text(&whole), whole.size, "", 0, out);
	if (!out->size)
		strbuf_add(out, strbuf_text(&whole), whole.size);
	return role;
}

/*
 * Converts a method to a frame without line and tier. async-profiler marks functions of the kernel
 * and of libraries by special descriptors, and uses the library's name as class.
 */
static struct frame method_frame(struct jfr_reader *r, const struct jfr_value *values)
{
	struct profile *p = r->f.profile;
	_cleanup_(strbuf_release) struct strbuf class = {0}, name = {0}, descriptor = {0};
	struct frame frame = {.module = NO_MODULE, .symbol = NO_SYMBOL};
	struct func func = {.module = NO_MODULE, .file = NO_SOURCE_FILE, .is_named = true};

	jfr_class_name(r, jfr_member(values, r->layout.method_class), &class);
	jfr_text_of(r, jfr_member(values, r->layout.method_descriptor), &descriptor);
	if (strcmp(strbuf_text(&descriptor), "(Lk;)L;") == 0) {
		frame.kind = PROFILE_FRAME_KERNEL;
		frame.module = foreign_module(&r->f, "[kernel.kallsyms]", "");
		jfr_text_of(r, jfr_member(values, r->layout.method_name), &name);
	} else if (strcmp(strbuf_text(&descriptor), "()L;") == 0) {
		frame.kind = PROFILE_FRAME_NATIVE;
		jfr_text_of(r, jfr_member(values, r->layout.method_name), &name);
		frame.module = foreign_module(
			&r->f,
			strbuf_text(class.size || strbuf_text(&name)[0] != '/' ? &class : &name),
			"");
	} else {
		frame.kind = PROFILE_FRAME_MANAGED;
		frame.language = LANGUAGE_JAVA;
		frame.role = jfr_add_method(r, values, strbuf_text(&class), &name);
	}
	func.module = frame.module;
	func.name = strings_intern_line(&p->strings, name.size ? strbuf_text(&name) : "?");
	frame.func = funcs_intern(&p->funcs, &func);
	return frame;
}

static frame_id frame_of_method(struct jfr_reader *r, const struct jfr_value *method)
{
	struct jfr_value values[JFR_LEAVES_MAX];
	const struct known_row *known = find_known(&r->methods, (uint64_t)method->number);
	struct frame frame;

	if (known)
		return known->row;
	if (jfr_constant_read(r->chunk, method, values) == JFR_NONE)
		memset(values, 0, sizeof(values));
	frame = method_frame(r, values);
	return add_known(&r->methods, (uint64_t)method->number,
			 frames_intern(&r->f.profile->frames, &frame));
}

/* Stacks. */

static uint8_t tier_of_name(const struct jfr_reader *r, const char *type)
{
	if (strcmp(type, "Interpreted") == 0)
		return TIER_INTERPRETER;
	if (strcmp(type, "C1 compiled") == 0)
		return TIER_C1;
	if (strcmp(type, "Native") == 0)
		return TIER_NATIVE;
	/* Java itself does not record which compiler. */
	return r->periods.is_async ? TIER_C2 : TIER_OTHER;
}

static uint8_t tier_of(struct jfr_reader *r, struct jfr_value type)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	const struct known_row *known = type.kind == JFR_REF
						? find_known(&r->tiers, (uint64_t)type.number)
						: NULL;
	uint8_t tier;

	if (known)
		return (uint8_t)known->row;
	tier = tier_of_name(r, jfr_text_of(r, type, &name));
	if (type.kind == JFR_REF)
		add_known(&r->tiers, (uint64_t)type.number, tier);
	return tier;
}

static frame_id read_frame(struct jfr_reader *r, const struct jfr_value *values)
{
	struct profile *p = r->f.profile;
	struct jfr_value method = jfr_member(values, r->layout.frame_method);
	struct jfr_value line = jfr_member(values, r->layout.frame_line);
	struct frame frame = *frames_get(&p->frames, frame_of_method(r, &method));

	if (frame.kind == PROFILE_FRAME_MANAGED)
		frame.tier = tier_of(r, jfr_member(values, r->layout.frame_type));
	if (line.kind == JFR_NUMBER && line.number > 0)
		frame.line = (uint32_t)line.number;
	return frames_intern(&p->frames, &frame);
}

static stack_id read_stack(struct jfr_reader *r, const struct jfr_value *values)
{
	struct jfr_value array = jfr_member(values, r->layout.stack_frames);
	struct jfr_value frame[JFR_LEAVES_MAX];
	stack_id stack = NO_STACK;
	struct bytes b;
	uint32_t count = jfr_array_begin(r->chunk, &array, &b);

	vec_clear(&r->frames);
	for (; count && r->frames.count < FRAMES_MAX; count--) {
		if (!jfr_leaves(r->chunk, array.type) || !jfr_read(r->chunk, array.type, &b, frame))
			break;
		vec_push(&r->frames, read_frame(r, frame));
	}
	while (r->frames.count)
		stack = stacks_intern(&r->f.profile->stacks, stack,
				      r->frames.items[--r->frames.count]);
	return stack;
}

stack_id jfr_stack_of(struct jfr_reader *r, const struct event *e)
{
	struct jfr_value ref = jfr_value_at(e, e->type->stack), values[JFR_LEAVES_MAX];
	const struct known_row *known;

	if (ref.kind != JFR_REF)
		return NO_STACK;
	known = find_known(&r->stacks, (uint64_t)ref.number);
	if (known)
		return known->row;
	if (jfr_constant_read(r->chunk, &ref, values) == JFR_NONE)
		return NO_STACK;
	return add_known(&r->stacks, (uint64_t)ref.number, read_stack(r, values));
}

/* Threads. */

static const char *process_name(const struct jfr_reader *r)
{
	return r->f.profile->meta.product ? r->f.profile->meta.product : "java";
}

/* Returns the row of the JVM itself, for events without a thread. */
thread_id jfr_process_row(struct jfr_reader *r)
{
	return foreign_thread(&r->f, r->pid, r->pid, process_name(r), "java", false);
}

static thread_id new_thread(struct jfr_reader *r, const struct jfr_value *values)
{
	const struct layout *l = &r->layout;
	_cleanup_(strbuf_release) struct strbuf name = {0};
	uint32_t tid = (uint32_t)jfr_member(values, l->thread_os_id).number;
	uint32_t java_tid = (uint32_t)jfr_member(values, l->thread_id).number;

	jfr_text_of(r, jfr_member(values, l->thread_name), &name);
	if (!name.size)
		jfr_text_of(r, jfr_member(values, l->thread_os_name), &name);
	if (name.size)
		text_to_line(name.text);
	if (jfr_member(values, l->thread_virtual).number) {
		if (r->virtual_rows++ >= VIRTUAL_ROWS_MAX)
			return foreign_thread(&r->f, r->pid, 0, process_name(r), "virtual threads",
					      true);
		if (!name.size)
			strbuf_addf(&name, "virtual #%" PRIu32, java_tid);
		tid = 0;
	}
	if (!name.size)
		strbuf_adds(&name, "unnamed");
	if (tid == r->pid)
		return jfr_process_row(r);
	return foreign_thread(&r->f, r->pid, tid ? tid : java_tid, process_name(r),
			      strbuf_text(&name), true);
}

thread_id jfr_thread_of_value(struct jfr_reader *r, struct jfr_value ref)
{
	struct jfr_value values[JFR_LEAVES_MAX];
	const struct known_row *known;

	if (ref.kind != JFR_REF)
		return jfr_process_row(r);
	known = find_known(&r->threads, (uint64_t)ref.number);
	if (known)
		return known->row;
	if (jfr_constant_read(r->chunk, &ref, values) == JFR_NONE)
		return jfr_process_row(r);
	jfr_process_row(r); /* the main thread is the first */
	return add_known(&r->threads, (uint64_t)ref.number, new_thread(r, values));
}

thread_id jfr_thread_of(struct jfr_reader *r, const struct event *e)
{
	return jfr_thread_of_value(r, jfr_value_at(e, e->type->thread));
}

void jfr_constants_begin(struct jfr_reader *r)
{
	struct jfr_chunk *c = r->chunk;
	uint32_t stack = jfr_type_find(c, "jdk.types.StackTrace");
	uint32_t frame = jfr_type_find(c, "jdk.types.StackFrame");
	uint32_t method = jfr_type_find(c, "jdk.types.Method");
	uint32_t thread = jfr_type_find(c, "java.lang.Thread");

	r->layout = (struct layout){
		.stack_frames = jfr_leaf_find(c, stack, "frames"),
		.frame_method = jfr_leaf_find(c, frame, "method"),
		.frame_line = jfr_leaf_find(c, frame, "lineNumber"),
		.frame_type = jfr_leaf_find(c, frame, "type"),
		.method_class = jfr_leaf_find(c, method, "type"),
		.method_name = jfr_leaf_find(c, method, "name"),
		.method_descriptor = jfr_leaf_find(c, method, "descriptor"),
		.class_name = jfr_leaf_find(c, jfr_type_find(c, "java.lang.Class"), "name"),
		.thread_os_name = jfr_leaf_find(c, thread, "osName"),
		.thread_os_id = jfr_leaf_find(c, thread, "osThreadId"),
		.thread_name = jfr_leaf_find(c, thread, "javaName"),
		.thread_id = jfr_leaf_find(c, thread, "javaThreadId"),
		.thread_virtual = jfr_leaf_find(c, thread, "virtual"),
	};
	clear_known(&r->stacks);
	clear_known(&r->methods);
	clear_known(&r->threads);
	clear_known(&r->tiers);
}

void jfr_constants_release(struct jfr_reader *r)
{
	release_known(&r->stacks);
	release_known(&r->methods);
	release_known(&r->threads);
	release_known(&r->tiers);
	vec_release(&r->frames);
}
