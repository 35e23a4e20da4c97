/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/shared_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

int shard_make(uint32_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "prof_shard", sizeof(uint32_t), size, 1,
			      &options);
}

int share_maps(struct bpf_object *object, const struct bpf_object *loaded)
{
	struct bpf_map *map;
	int code = 0;

	bpf_object__for_each_map(map, object)
	{
		const struct bpf_map *shared = bpf_object__find_map_by_name(loaded,
									    bpf_map__name(map));

		if (!shared || code)
			continue;
		code = bpf_map__autocreate(shared) ? bpf_map__reuse_fd(map, bpf_map__fd(shared))
						   : bpf_map__set_autocreate(map, false);
	}
	return code;
}

int size_maps_by_cpu(struct bpf_object *object, uint32_t cpus)
{
	struct bpf_map *map;
	int code = 0;

	bpf_object__for_each_map(map, object)
	{
		if (!code && text_ends_with(bpf_map__name(map), "copies"))
			code = bpf_map__set_max_entries(map, cpus);
	}
	return code;
}
