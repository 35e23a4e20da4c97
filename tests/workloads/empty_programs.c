/* SPDX-License-Identifier: MIT */
/*
 * empty_programs: attaches a BPF program that does nothing to context switches and one to wake-ups,
 * prints "ready", and detaches them when its input ends (root). A floor for what does more there.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char license[] = "MIT";

static int attach_empty(const char *tracepoint)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)program,
		.insn_cnt = sizeof(program) / sizeof(program[0]),
		.license = (uintptr_t)license,
	};
	union bpf_attr attach = {.raw_tracepoint = {.name = (uintptr_t)tracepoint}};
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));

	if (fd < 0)
		return -1;
	attach.raw_tracepoint.prog_fd = (uint32_t)fd;
	return (int)syscall(SYS_bpf, BPF_RAW_TRACEPOINT_OPEN, &attach, sizeof(attach));
}

int main(void)
{
	char input;

	if (attach_empty("sched_switch") < 0 || attach_empty("sched_waking") < 0) {
		perror("empty_programs");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &input, 1) > 0)
		;
	return 0;
}
