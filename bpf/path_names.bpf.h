/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a path as its names up to a root, innermost first, each terminated. */
#pragma once

#include "bpf/kernel.h"

/* Limit of names and mount points up to the root. */
#define PATH_DEPTH_MAX 64
#define PATH_NAMES_MAX 256 /* bytes */

struct path_walk {
	struct path at, root;
	__u32 size; /* bytes of names so far */
	__u32 is_whole;
};

/* Defined by the includer: returns room for PATH_NAMES_MAX bytes, NULL if there is none. */
static __always_inline char *path_names_room(void);

/* Goes from the root of a mounted tree to its mount point. Returns false if it has none. */
static __always_inline bool leave_mount(struct path_walk *walk)
{
	const __u32 offset = bpf_core_field_offset(struct mount, mnt);
	struct mount *mount = (void *)walk->at.mnt - offset;
	struct mount *parent = BPF_CORE_READ(mount, mnt_parent);

	if (parent == mount)
		return false;
	walk->at.dentry = BPF_CORE_READ(mount, mnt_mountpoint);
	walk->at.mnt = (void *)parent + offset;
	return true;
}

/* Takes the name of one folder and goes to its parent. 1: done. */
static long take_path_name(__u32 i, void *ctx)
{
	struct path_walk *walk = ctx;
	/* Separate variables: CO-RE relocates accesses to kernel types only. */
	struct dentry *dentry = walk->at.dentry;
	struct vfsmount *mnt = walk->at.mnt;
	char *room = path_names_room();
	__u32 size = walk->size;
	long written;

	if (!room || size >= PATH_NAMES_MAX)
		return 1;
	if (dentry == walk->root.dentry && mnt == walk->root.mnt) {
		walk->is_whole = true;
		return 1;
	}
	if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
		walk->is_whole = !leave_mount(walk);
		return walk->is_whole;
	}
	written = bpf_probe_read_kernel_str(room + size, PATH_NAMES_MAX - size,
					    BPF_CORE_READ(dentry, d_name.name));
	/* A name that fills the whole room may be truncated. */
	if (written <= 0 || size + written >= PATH_NAMES_MAX)
		return 1;
	walk->size = size + written;
	walk->at.dentry = BPF_CORE_READ(dentry, d_parent);
	return 0;
}

/* Stores the names up to the root of the task. Returns their bytes. */
static __always_inline __u32 read_path_names(struct task_struct *task, struct vfsmount *mnt,
					     struct dentry *dentry, bool *is_whole)
{
	struct fs_struct *fs = BPF_CORE_READ(task, fs);
	struct path_walk walk = {
		.at.mnt = mnt,
		.at.dentry = dentry,
		.size = unknown_zero((__u64)mnt),
		.root.mnt = BPF_CORE_READ(fs, root.mnt),
		.root.dentry = BPF_CORE_READ(fs, root.dentry),
	};

	bpf_loop(PATH_DEPTH_MAX, take_path_name, &walk, 0);
	*is_whole = walk.is_whole;
	return walk.size;
}
