/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Continues the walk from the first frame of a JVM's own code, through JVM and native frames, to
 * the root. JVM frames are inserted into the stack as they are found.
 */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/managed.bpf.h"

/* Steps through frames of HotSpot in the memory of the current task. */

struct hotspot_walk;

/* Returns whether it is a return address, of native code as well. */
__noinline int hotspot_returns(struct hotspot_walk *w, __u64 addr);

/* Global functions: the verifier checks each once. */
#define HOTSPOT_SHARED __noinline
#define hotspot_read(to, size, addr) bpf_probe_read_user(to, size, (const void *)(addr))
#define hotspot_is_return(w, addr) hotspot_returns(w, addr)
#include "bpf/hotspot_found.h"
#include "bpf/hotspot_walk.h"

#define HOTSPOT_PROCESSES 1024

/* The running JVMs, by pid as in unwind_spaces. Entries of ended ones may be replaced. */
struct runtime_processes {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HOTSPOT_PROCESSES);
	__type(key, __u32);
	__type(value, struct hotspot_process);
};

#define HOTSPOT_STUB_NAME 64 /* bytes to read of a blob's name */

/* Variables of a walk. */
struct hotspot_run {
	struct hotspot_walk walk;
	struct rec like; /* header of the sample */
	__u64 process; /* hash that identifies the process */
	__u64 identity, key; /* identity and key of the function found */
	__u64 stubs; /* address of the list of the JVM's own pieces of code; 0: unknown */
	__u32 layout_number;
	__u32 frames; /* JVM frames so far */
};

struct runtime_processes runtime_processes SEC(".maps");
PER_CPU(struct hotspot_run, OWN_MAP(hotspot_walks), own_hotspot_run)

__noinline int hotspot_returns(struct hotspot_walk *w, __u64 addr)
{
	struct stack_scratch *s;
	__u8 code[WALK_CALL_SIZE];

	s = own_stack();
	if (!w || !s || addr < sizeof(code))
		return 0;
	if (hotspot_is_interpreter(w, addr))
		return 1;
	if (bpf_probe_read_user(code, sizeof(code), (const void *)(addr - sizeof(code))))
		return 0;
	if (!hotspot_is_code(w, addr))
		return walk_is_call(code, IS_ARM64) && unwind_find_mapping(s, addr - 1);
	return walk_is_call(code, IS_ARM64) ? hotspot_find_start(w, addr - 1) != 0
					    : hotspot_may_return(w, addr);
}

/* Functions of a JVM: their descriptions, and the positions of frames in them. */

/* Reads a Symbol as a piece of the body. */
__noinline int hotspot_read_symbol(struct hotspot_run *r, struct function_scratch *function,
				   __u64 symbol, __u32 piece)
{
	__u16 length;

	if (!r || !function)
		return 0;
	begin_piece(function, piece);
	symbol &= ~1ull;
	return symbol &&
	       !hotspot_read(&length, sizeof(length), symbol + r->walk.layout.symbol_length) &&
	       append_text(function, piece, symbol + r->walk.layout.symbol_text, length, 1);
}

/* Reads the name of the method found, and the name of its class as the file. */
static __always_inline void hotspot_describe_method(struct hotspot_run *r,
						    struct function_scratch *function)
{
	const struct hotspot_layout *l = &r->walk.layout;
	__u64 pool, symbol = 0, holder;
	__u32 index;

	begin_piece(function, PIECE_NAME);
	begin_piece(function, PIECE_FILE);
	if (!r->walk.found.const_method && !hotspot_read_method(&r->walk, r->walk.found.method))
		return;
	pool = hotspot_word(r->walk.const_words, l->const_pool, HOTSPOT_CONST_SIZE);
	index = hotspot_short(r->walk.const_words, l->const_name, HOTSPOT_CONST_SIZE);
	if (hotspot_read(&symbol, 8, pool + l->pool_size + 8ull * index))
		return;
	hotspot_read_symbol(r, function, symbol, PIECE_NAME);
	if (!hotspot_read(&holder, 8, pool + l->pool_holder) &&
	    !hotspot_read(&symbol, 8, holder + l->klass_name))
		hotspot_read_symbol(r, function, symbol, PIECE_FILE);
}

/* Uses the blob's name as the function's. */
static __always_inline void hotspot_describe_stub(struct hotspot_run *r,
						  struct function_scratch *function)
{
	long size = bpf_probe_read_user_str(function->body, HOTSPOT_STUB_NAME,
					    (const void *)r->walk.found.name);

	function_of(function)->file = (struct function_text){0};
	function_of(function)->name = (struct function_text){0};
	if (size <= 0 || size > HOTSPOT_STUB_NAME)
		return;
	function_of(function)->name = (struct function_text){
		.size = size - 1,
		.length = size - 1,
		.width = 1,
	};
}

__noinline int hotspot_describe(struct hotspot_run *r)
{
	struct function_scratch *function = own_function();

	if (!r || !function)
		return 0;
	if (r->walk.found.method)
		hotspot_describe_method(r, function);
	else
		hotspot_describe_stub(r, function);
	return 1;
}

/* Sends the description. Returns the function's seen value; 0: there is no room. */
__noinline __u64 hotspot_send_function(struct hotspot_run *r, const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_HOTSPOT);
	struct function_scratch *function = own_function();
	struct hotspot_function_head head = {};
	struct hotspot_found *found;
	struct rec_function *rec;
	__u64 value;

	if (!r || !like || !count || !function)
		return 0;
	found = &r->walk.found;
	rec = function_of(function);
	rec->code = found->method;
	rec->identity = r->identity;
	rec->units = found->units;
	rec->first_line = 0;
	rec->layout = r->layout_number;
	head.blob = found->blob;
	head.method = found->method;
	head.const_method = found->const_method;
	if (found->function == HOTSPOT_STUB)
		head.stubs = r->stubs;
	head.code = found->code;
	head.compile_id = found->compile_id;
	head.kind = found->function;
	head.level = found->level;
	add_head(function, &head, sizeof(head));
	value = send_described(function, like, count);
	if (value)
		enter_described(r->key, value, rec);
	return value;
}

/*
 * Hashes the function's identity: compiled code has a number, an interpreted method two addresses,
 * of which the second one changes when the method is redefined.
 */
static __always_inline __u64 hotspot_identity(const struct hotspot_found *found)
{
	__u64 sum = RUNTIME_IDENTITY_SEED;

	sum = runtime_identity_add(sum, found->blob ? found->blob : found->method);
	sum = runtime_identity_add(sum, found->blob ? found->name : found->const_method);
	return runtime_identity_add(sum, (__u64)found->compile_id << 8 | found->function);
}

/* Returns the position of the function found. */
__noinline __u64 hotspot_position(struct hotspot_run *r, const struct rec *like)
{
	struct hotspot_found *found;
	__u64 value, unit;

	if (!r || !like)
		return 0;
	found = &r->walk.found;
	unit = found->unit;
	if (found->units > UNITS_MAX)
		found->units = UNITS_MAX;
	r->identity = hotspot_identity(found);
	r->key = mix_bits(r->identity ^ r->process) | 1;
	if (!find_seen(r->key, &value)) {
		hotspot_describe(r);
		value = hotspot_send_function(r, like);
		if (!value)
			return RUNTIME_HOTSPOT;
	}
	if (unit > (value & (UNITS_MAX - 1)))
		unit = value & (UNITS_MAX - 1);
	return (value >> UNITS_BITS) + unit;
}

/*
 * Caches return addresses in compiled methods: most frames have one, mostly seen in the previous
 * stack. An entry is valid while its code has the same number.
 */

#define HOTSPOT_RETURNED (1 << 10) /* a power of two */

struct hotspot_return {
	__u64 pc, process;
	__u64 blob;
	__u64 position; /* of the frame */
	__u32 frame_size, compile_id;
};

/* Entries are never torn: programs with the same memory do not interrupt each other on a CPU. */
struct hotspot_returned {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HOTSPOT_RETURNED);
	__type(key, __u32);
	__type(value, struct hotspot_return);
};

struct hotspot_returned OWN_MAP(hotspot_returned) SEC(".maps");

static __always_inline struct hotspot_return *hotspot_return_slot(__u64 pc)
{
	__u32 slot = ((__u32)pc * 0x9e3779b1u) >> 22;

	return bpf_map_lookup_elem(&OWN_MAP(hotspot_returned), &slot);
}
_Static_assert(HOTSPOT_RETURNED == 1 << (32 - 22), "slots are the upper bits of a hash");

/* Caches the frame just unwound if later frames with the same pc can be unwound alike. */
static __always_inline void hotspot_keep_return(const struct hotspot_run *r, __u64 pc,
						__u64 position)
{
	const struct hotspot_found *found = &r->walk.found;
	struct hotspot_return *known = hotspot_return_slot(pc);

	if (!known || found->is_deoptimized || found->function != HOTSPOT_COMPILED ||
	    position < MANAGED_POSITION_FIRST)
		return;
	known->pc = pc;
	known->process = r->process;
	known->blob = found->blob;
	known->position = position;
	known->frame_size = found->frame_size;
	known->compile_id = found->compile_id;
}

static __always_inline bool hotspot_is_known(const struct hotspot_run *r,
					     const struct hotspot_return *known, __u64 pc)
{
	return known && known->pc == pc && known->process == r->process;
}

/* Steps from a cached frame. Returns its position; 0: it is not cached, or has changed. */
__noinline __u64 hotspot_step_known(struct stack_scratch *s, struct hotspot_run *r)
{
	struct hotspot_return *known;
	__u64 pair[2], position, size;
	__u32 id;

	if (!s || !r || s->frame.is_pc)
		return 0;
	known = hotspot_return_slot(s->frame.pc);
	if (!hotspot_is_known(r, known, s->frame.pc))
		return 0;
	size = known->frame_size;
	position = known->position;
	if (hotspot_read(&id, sizeof(id), known->blob + r->walk.layout.compile_id) ||
	    id != known->compile_id || walk_read_pair(&s->frame, pair, s->frame.sp + size - 16))
		return 0;
	if (!hotspot_is_known(r, hotspot_return_slot(pair[1]), pair[1]) &&
	    !hotspot_returns(&r->walk, pair[1]))
		return 0;
	return hotspot_leave(&s->frame, pair[1], s->frame.sp + size, pair[0]) ? position : 0;
}

struct hotspot_loop {
	struct stack_scratch *s;
	struct hotspot_run *r;
};

/* Replaces the address of the frame entered last, or the leaf. */
static __always_inline void hotspot_name_frame(struct stack_scratch *s, __u64 position)
{
	__u32 depth = s->user_depth, last = depth - 1, at = s->kernel_depth + last;

	barrier_var(last); /* as in sum_of() */
	barrier_var(at);
	if (!depth) {
		s->leaf = position;
		s->sample_flags |= SAMPLE_LEAF_MANAGED;
	} else if (last < USER_DEPTH_MAX && at < DEPTH_MAX) {
		s->words[HEADER_WORDS + at] = position;
		s->kinds[at] = FRAME_MANAGED;
		s->sums[last] = s->sum = sum_frame(sum_of(s, last), position, FRAME_MANAGED);
	}
}

/* Steps from a JVM frame. 0: the stack has ended, as s->stack_flags reports. */
static __always_inline int hotspot_step_frame(struct stack_scratch *s, struct hotspot_run *r)
{
	int is_interpreter, is_entry, has_registers, has_stepped;
	__u64 rbx, r13;

	if (!hotspot_find_blob(&r->walk, s->frame.pc - !s->frame.is_pc)) {
		s->stack_flags |= STACK_BROKEN;
		r->walk.found.units = 0;
		return 0;
	}
	has_registers = hotspot_has_registers(&s->frame);
	is_entry = hotspot_is_entry(&s->frame, &r->walk);
	is_interpreter = r->walk.kind == HOTSPOT_BLOB_INTERPRETER;
	rbx = has_registers && is_entry ? s->frame.other[HOTSPOT_RBX] : 0;
	r13 = has_registers && !is_entry ? s->frame.other[HOTSPOT_R13] : 0;
	hotspot_note(&s->frame, &r->walk);
	r->walk.has_no_frame = r->walk.is_plain = 0;
	has_stepped = hotspot_step(&s->frame, &r->walk);
	if (is_interpreter)
		hotspot_note_interpreted(&r->walk, rbx, r13);
	else if (r->walk.has_no_frame && r->walk.found.function == HOTSPOT_COMPILED)
		r->walk.found.unit = r->walk.found.units - 1;
	/* This may be all that a virtual thread has on this stack. */
	if (!has_stepped)
		s->stack_flags |= r->walk.found.function == HOTSPOT_FROZEN ? STACK_WHOLE
									   : STACK_BROKEN;
	return has_stepped;
}

__noinline int hotspot_turn(struct stack_scratch *s, struct hotspot_run *r)
{
	__u64 pc, position;
	int has_stepped = 1;
	bool was_top;

	if (!s || !r)
		return 0;
	pc = s->frame.pc;
	was_top = s->frame.is_pc;
	if (!hotspot_is_code(&r->walk, pc))
		return unwind_frame(s);
	position = hotspot_step_known(s, r);
	if (!position) {
		has_stepped = hotspot_step_frame(s, r);
		position = r->walk.found.units ? hotspot_position(r, &r->like) : RUNTIME_HOTSPOT;
		if (r->walk.is_plain && !was_top)
			hotspot_keep_return(r, pc, position);
	}
	hotspot_name_frame(s, position);
	r->frames++;
	return has_stepped && unwind_push(s, FRAME_NATIVE);
}

LOOP_CALLBACK(hotspot_next, hotspot_loop, hotspot_turn(loop->s, loop->r))

/* User space walks a copy of the stack instead, from the leaf on, and finds no JVM frames. */
static __always_inline void hotspot_abandon(struct stack_scratch *s)
{
	if (!(s->sample_flags & SAMPLE_LEAF_MANAGED))
		return;
	s->leaf = s->top_pc;
	s->sample_flags &= ~SAMPLE_LEAF_MANAGED;
}

/* A global function, because its caller is short of stack. */
__noinline bool hotspot_begin(struct stack_scratch *s, struct hotspot_run *r,
			      const struct rec *like)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct hotspot_process *vm;
	struct runtime_layout *layout;
	__u32 number, pid;

	if (!s || !r || !like)
		return false;
	number = s->space.runtimes[0].layout;
	pid = like->pid;
	layout = bpf_map_lookup_elem(&runtime_layouts, &number);
	vm = bpf_map_lookup_elem(&runtime_processes, &pid);
	if (!layout || layout->kind != RUNTIME_HOTSPOT || !process || !vm ||
	    vm->execs != s->space.execs)
		return false;
	/* Fewer instructions to verify than for assignments. */
	if (bpf_probe_read_kernel(&r->walk.layout, sizeof(r->walk.layout), &layout->hotspot) ||
	    bpf_probe_read_kernel(&r->walk.vm, sizeof(r->walk.vm), vm))
		return false;
	r->layout_number = number;
	r->process = mix_bits(process->start + mix_bits(task->tgid + ((__u64)vm->execs << 32)));
	r->like = *like;
	r->stubs = layout->hotspot.stubs ? layout->hotspot.stubs + s->space.runtimes[0].bias : 0;
	r->frames = 0;
	return true;
}

/*
 * Continues the walk of the stack in s. Returns the number of JVM frames. `like`: the header of its
 * sample.
 */
static __always_inline __u32 hotspot_add_frames(struct stack_scratch *s,
						struct runtime_scratch *notes,
						const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_HOTSPOT);
	struct hotspot_run *r = own_hotspot_run();
	struct hotspot_loop loop = {.s = s, .r = r};

	if (!r || !count)
		return 0;
	if (!hotspot_begin(s, r, like)) {
		count->missed++;
		return 0;
	}
	/*
	 * From here on, native code without rules is walked as in other processes. The next runtime
	 * needs the frames' positions.
	 */
	s->runtime = s->space.runtimes[1].kind;
	s->resumes = RESUME_REFUSED;
	count->samples++;
	s->stack_flags &= ~STACK_BROKEN;
	walk_on(s, hotspot_next, &loop);
	s->resumes = RESUME_NOWHERE;
	if (s->stack_flags & STACK_UNKNOWN) {
		hotspot_abandon(s);
		count->copied++;
		count->unready++;
	} else if (s->stack_flags & STACK_BROKEN) {
		count->torn++;
	} else {
		count->whole++;
	}
	end_stack(s);
	return r->frames;
}
