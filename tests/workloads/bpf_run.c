/* SPDX-License-Identifier: MIT */
/* bpf_run: spends 400 ms in a BPF program named prof_test, which is gone at the end (root). */
#include <linux/bpf.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

#define INSN(c, d, s, o, i) \
	(struct bpf_insn) \
	{ \
		.code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) \
	}

/* r0 = 0; r1 = 5000; do r0 ^= r1; while (--r1); return 0 */
static int load_program(void)
{
	const struct bpf_insn program[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 5000),
		INSN(BPF_ALU64 | BPF_XOR | BPF_X, BPF_REG_0, BPF_REG_1, 0, 0),
		INSN(BPF_ALU64 | BPF_SUB | BPF_K, BPF_REG_1, 0, 0, 1),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_1, 0, -3, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	static const char license[] = "MIT";
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = (uintptr_t)program,
		.insn_cnt = sizeof(program) / sizeof(program[0]),
		.license = (uintptr_t)license,
		.prog_name = "prof_test",
	};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int run_program(int fd)
{
	char packet[64] = {0};
	union bpf_attr attr = {
		.test =
			{
				.prog_fd = (unsigned int)fd,
				.data_in = (uintptr_t)packet,
				.data_size_in = sizeof(packet),
				.repeat = 1000,
			},
	};

	return (int)syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr));
}

int main(void)
{
	uint64_t end = thread_cpu_ns() + 400000000;
	int fd = load_program();

	if (fd < 0)
		return 1;
	while (thread_cpu_ns() < end) {
		if (run_program(fd) != 0)
			return 2;
	}
	close(fd);
	return 0;
}
