/* SPDX-License-Identifier: MIT */
/* The header of a jitdump, and the machine code in it. */
#pragma once

#include "lib/base/base.h"

/* Size of the part common to all versions. */
#define CODE_DUMP_HEAD_SIZE 40
/* Sizes within a load record, before the name; the code follows it. */
#define CODE_DUMP_PREFIX_SIZE 16
#define CODE_DUMP_LOAD_SIZE (CODE_DUMP_PREFIX_SIZE + 40)
#define CODE_DUMP_ID_SIZE 16

struct code_dump_head {
	uint32_t size; /* size of the header; records follow it */
	uint32_t machine; /* e_machine */
	uint32_t mark; /* field unused by the format */
	bool has_arch_times; /* times are ticks of the CPU clock */
	/* Machine, pid and time of the process, which identify its dump. */
	uint8_t id[CODE_DUMP_ID_SIZE];
};

/* Parses the header of a jitdump. False: another kind of file. */
bool code_dump_head_parse(struct code_dump_head *head, const uint8_t data[CODE_DUMP_HEAD_SIZE]);
/* Returns false if it is not a dump. The descriptor is borrowed. */
bool code_dump_head_read(struct code_dump_head *head, int fd);

/* Code as first generated; code that was moved may have changed since. */
struct dumped_code {
	uint8_t *bytes; /* owned */
	size_t size;
	uint64_t address; /* address at which the code was created */
	uint16_t machine;
};

/* Reads the load record at `offset`. -EBADMSG if there is no such record. */
int code_dump_read(struct dumped_code *code, int fd, uint64_t offset, struct error *err);
