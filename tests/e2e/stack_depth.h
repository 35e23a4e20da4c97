/* SPDX-License-Identifier: MIT */
/*
 * The stack that a BPF program needs with its calls, as the verifiers of older kernels count it:
 * newer ones, which compile programs, count less and accept what those refuse.
 */
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STACK_MAX 512 /* bytes */
#define STACK_FRAME_UNIT 32 /* frames are rounded up to this; each has one at least */
#define STACK_FUNCTIONS_MAX 256 /* of a program, as for the verifier */
#define STACK_LOG_SIZE (1 << 16)
#define STACK_LOG_STATISTICS 4 /* as in the kernel's include/linux/bpf_verifier.h */

/* A program as the kernel has it, without code that is never reached, and its functions. */
struct stack_program {
	struct bpf_insn *insns;
	size_t insn_count;
	size_t count;
	size_t starts[STACK_FUNCTIONS_MAX + 1]; /* the last one: the end */
	int frames[STACK_FUNCTIONS_MAX]; /* bytes */
};

/*
 * Returns the instruction at which the function begins that one calls or gives to a helper, or 0.
 * A compiled program has the distance of a call in another field.
 */
static inline size_t stack_callee(const struct bpf_insn *insns, size_t i)
{
	const struct bpf_insn *insn = insns + i;

	if (insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL)
		return i + (size_t)((insn->off ? insn->off : insn->imm) + 1);
	if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC)
		return i + (size_t)(insn->imm + 1);
	return 0;
}

/* Lets the kernel tell the frames of an object's programs when it loads them. */
static inline void stack_ask(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		bpf_program__set_log_level(program, STACK_LOG_STATISTICS);
		bpf_program__set_log_buf(program, calloc(1, STACK_LOG_SIZE), STACK_LOG_SIZE);
	}
}

/* Frees what stack_ask() made. */
static inline void stack_forget(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		size_t size;

		free((char *)bpf_program__log_buf(program, &size));
	}
}

/* Reads the instructions. False: the kernel does not tell them. */
static inline bool stack_read_insns(const struct bpf_program *program, struct stack_program *p)
{
	struct bpf_prog_info info = {0};
	unsigned int size = sizeof(info);
	int fd = bpf_program__fd(program);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) || !info.xlated_prog_len)
		return false;
	p->insns = calloc(1, info.xlated_prog_len);
	p->insn_count = info.xlated_prog_len / sizeof(*p->insns);
	info = (struct bpf_prog_info){
		.xlated_prog_len = info.xlated_prog_len,
		.xlated_prog_insns = (uint64_t)(uintptr_t)p->insns,
	};
	return p->insns && !bpf_obj_get_info_by_fd(fd, &info, &size) && info.xlated_prog_insns;
}

/* Finds where functions begin. False: too many. */
static inline bool stack_find_functions(struct stack_program *p)
{
	bool *begins = calloc(p->insn_count + 1, sizeof(*begins));

	if (!begins)
		return false;
	for (size_t i = 0; i < p->insn_count; i++) {
		size_t callee = stack_callee(p->insns, i);

		if (callee < p->insn_count)
			begins[callee] = true;
	}
	begins[0] = true;
	for (size_t i = 0; i < p->insn_count && p->count < STACK_FUNCTIONS_MAX; i++) {
		if (begins[i])
			p->starts[p->count++] = i;
	}
	p->starts[p->count] = p->insn_count;
	free(begins);
	return p->count < STACK_FUNCTIONS_MAX;
}

/* Reads "stack depth 72+0+80": a number for each function. False: other numbers. */
static inline bool stack_read_frames(const struct bpf_program *program, struct stack_program *p)
{
	static const char words[] = "stack depth ";
	size_t size = 0;
	const char *log = bpf_program__log_buf(program, &size);
	const char *at = log ? strstr(log, words) : NULL;

	if (!at)
		return false;
	at += strlen(words) - 1;
	for (size_t i = 0; i < p->count; i++) {
		char *end;

		if (*at != (i ? '+' : ' '))
			return false;
		p->frames[i] = (int)strtol(at + 1, &end, 10);
		at = end;
	}
	return *at != '+';
}

/* Returns the bytes of function `i` with those of its deepest calls. No function calls itself. */
static inline int stack_of_function(const struct stack_program *p, size_t i)
{
	int own = p->frames[i] ? p->frames[i] : 1, deepest = 0;

	for (size_t at = p->starts[i]; at < p->starts[i + 1]; at++) {
		size_t callee = stack_callee(p->insns, at);

		for (size_t k = 1; callee && k < p->count; k++) {
			int depth = p->starts[k] == callee ? stack_of_function(p, k) : 0;

			deepest = depth > deepest ? depth : deepest;
		}
	}
	return (own + STACK_FRAME_UNIT - 1) / STACK_FRAME_UNIT * STACK_FRAME_UNIT + deepest;
}

/* Returns the bytes that a loaded program needs, or -1 where that cannot be told. */
static inline int stack_depth(const struct bpf_program *program)
{
	struct stack_program p = {0};
	int depth = -1;

	if (stack_read_insns(program, &p) && stack_find_functions(&p) &&
	    stack_read_frames(program, &p))
		depth = stack_of_function(&p, 0);
	free(p.insns);
	return depth;
}
