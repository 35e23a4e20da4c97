/* SPDX-License-Identifier: MIT */
/* Publishes OpenTelemetry's process and thread context, as a part of a program or as a library. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct thread_record {
	uint8_t trace_id[16], span_id[8], valid, flags;
	uint16_t size;
};

__thread struct thread_record *otel_thread_ctx_v1;
static __thread struct thread_record own;

/* Enters a span; its ids consist of that byte. */
void context_enter(int byte)
{
	memset(own.trace_id, byte, sizeof(own.trace_id));
	memset(own.span_id, byte + 1, sizeof(own.span_id));
	own.valid = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	otel_thread_ctx_v1 = &own;
}

/* Leaves it: without a record, or with one that is not valid. */
void context_leave(int keep)
{
	if (keep)
		own.valid = 0;
	else
		otel_thread_ctx_v1 = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

struct head {
	char signature[8];
	uint32_t version, size;
	uint64_t published, payload;
};

/* Field 1 has the resource, with two attributes; field 2 an attribute that is none of its. */
static const char payload[] = "\n\x3f"
			      "\n\x16\n\x0cservice.name\x12\x06\n\x04shop"
			      "\n\x25\n\x1b"
			      "deployment.environment.name\x12\x06\n\x04test"
			      "\x12\x2c\n\x1athreadlocal.schema_version\x12\x0e\n\x0ctlsdesc_v1_d";

int context_publish(void)
{
	struct timespec now;
	struct head *head;
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, sizeof(*head)))
		return -1;
	head = mmap(NULL, sizeof(*head), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (head == MAP_FAILED || madvise(head, sizeof(*head), MADV_DONTFORK))
		return -1;
	memcpy(head->signature, "OTEL_CTX", sizeof(head->signature));
	head->version = 2;
	head->size = sizeof(payload) - 1;
	head->payload = (uintptr_t)payload;
	clock_gettime(CLOCK_BOOTTIME, &now);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	head->published = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, head, sizeof(*head), "OTEL_CTX");
	return 0;
}
