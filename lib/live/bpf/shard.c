/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/shard.h"

#include <bpf/bpf.h>
#include <stdint.h>

#include "bpf/unwind.h"

int shard_make(uint32_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "prof_shard", sizeof(uint32_t), size, 1,
			      &options);
}
