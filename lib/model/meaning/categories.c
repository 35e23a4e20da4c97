/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/categories.h"

/* Longer names are truncated; the kernel has none. */
#define MAX_NAME 128
#define LETTERS 128
#define NO_ROW UINT16_MAX

/*
 * Names without leading underscores and without the suffixes that compilers append after a dot. A
 * trailing star matches any rest. The longest match wins.
 */
static const char syscall_names[] =
	"arm64_compat_sys_* arm64_sys_* do_SYSENTER_32 do_el0_svc* do_fast_syscall_32 "
	"do_int80* do_syscall_* el0_svc* entry_INT80* entry_SYSCALL* entry_SYSENTER* "
	"ia32_compat_sys_* ia32_sys_* invoke_syscall* syscall_enter_from_user_mode* "
	"syscall_exit_* syscall_return_* syscall_trace_enter* x32_compat_sys_* x64_sys_*";

static const char fault_names[] =
	"asm_exc_* bad_area* do_kern_addr_fault do_mem_abort do_page_fault do_sp_pc_abort "
	"do_translation_fault do_user_addr_fault el0_bti el0_da el0_dbg* el0_fpac el0_fpsimd_* "
	"el0_ia el0_pc el0_sp el0_sve_acc el0_undef el1_abort el1_dbg el1_pc el1_undef "
	"error_entry error_return exc_* fixup_exception paranoid_entry paranoid_exit";

static const char interrupt_names[] =
	"apic_timer_interrupt arch_timer_handler_* asm_call_irq_on_stack asm_call_on_stack "
	"asm_common_interrupt asm_exc_nmi asm_spurious_interrupt asm_sysvec_* "
	"call_on_irq_stack call_timer_fn common_interrupt* do_interrupt_handler do_softirq* "
	"el0_interrupt el0_irq* el0t_32_irq* el0t_64_fiq* el0t_64_irq* el1_interrupt el1_irq* "
	"el1h_64_fiq* el1h_64_irq* el1t_64_irq* end_repeat_nmi exc_nmi* expire_timers "
	"flush_smp_call_function_queue generic_handle_* generic_smp_call_function_* "
	"gic_handle_irq* handle_domain_irq handle_edge_irq handle_fasteoi* handle_irq* "
	"handle_level_irq handle_nmi_irq handle_percpu_* handle_softirqs hrtimer_interrupt "
	"hrtimer_run_queues hrtimer_run_softirq invoke_softirq irq_enter* irq_exit* nmi_* "
	"rcu_core* rcu_sched_clock_irq ret_from_intr run_ksoftirqd run_local_timers run_timer* "
	"sysvec_* tick_* update_process_times";

static const char scheduler_names[] =
	"account_process_tick account_system_time account_user_time active_load_balance* "
	"attach_entity* autoremove_wake_function avg_vruntime check_preempt_* complete "
	"complete_all complete_with_flags context_switch cpu_startup_entry cpuacct_* "
	"default_wake_function dequeue_dl* dequeue_entit* dequeue_rt* dequeue_task* "
	"detach_entity* do_idle do_sched_yield do_set_cpus_allowed enqueue_dl* enqueue_entity* "
	"enqueue_rt* enqueue_task* entity_eligible find_busiest_* finish_task_switch "
	"finish_wait io_schedule* load_balance* migrate_task_rq* migration_cpu_stop "
	"move_queued_task newidle_balance* nohz_* pick_eevdf* pick_next_* pick_task* "
	"place_entity preempt_schedule* prepare_task_switch prepare_to_wait* psi_* put_prev_* "
	"raw_spin_rq_lock* rebalance_domains resched_* reweight_* sched_* schedule schedule_* "
	"scheduler_tick select_idle_* select_task_rq* set_next_* set_task_cpu swake_up* "
	"switch_to* task_fork_* task_rq_lock task_sched_runtime task_tick_* try_to_wake_up "
	"ttwu_* update_blocked_averages update_cfs_* update_curr* update_entity_lag "
	"update_load_avg* update_min_vruntime update_rq_clock* update_sd_* update_sg_* "
	"wait_for_common* wait_for_completion* wait_woken wake_up* wakeup_preempt* "
	"woken_wake_function yield_*";

static const char memory_names[] =
	"access_process_vm access_remote_vm alloc_contig* alloc_frozen_pages* alloc_page* "
	"alloc_zeroed* allocate_slab anon_vma_* arch_get_unmapped* balance_dirty* "
	"balance_pgdat can_vma_merge* change_pmd* change_protection* change_pte* charge_memcg "
	"clear_gigantic* clear_huge_page clear_page* clear_subpage* collapse_* compact_* "
	"compaction_* copy_huge_page* copy_page_range copy_pmd_range copy_present_pte* "
	"copy_pte_range copy_subpage count_memcg* deactivate_slab do_anonymous_page "
	"do_brk_flags do_cow_fault do_fault* do_huge_pmd* do_madvise* do_mas_* do_mmap "
	"do_mprotect* do_munmap do_numa_page do_page_cache_ra do_read_fault do_set_pmd "
	"do_shared_fault do_swap_page do_try_to_free* do_vmi_* do_wp_page drain_* exit_mmap "
	"expand_downwards expand_stack fault_in_* faultin_page* filemap_* find_mergeable* "
	"find_vma* finish_fault flush_tlb_* folio* force_page_cache_ra* free_frozen* "
	"free_one_page free_p4d_range free_pages* free_pcp* free_pgd_range free_pgtables "
	"free_swap_cache* free_unref_* generic_file_* generic_get_unmapped* "
	"generic_perform_write get_any_partial get_mem_cgroup* get_page_from_freelist "
	"get_partial* get_unmapped_area* get_user_pages* gup_* handle_mm_fault huge_* "
	"hugetlb_* invalidate_mapping* isolate_* kfree kfree_bulk kfree_sensitive khugepaged* "
	"kmalloc* kmem_cache_* krealloc* ksize kswapd* kvfree* kvmalloc* lock_vma_under_rcu "
	"lru_* madvise_* mem_cgroup_* memcg_* migrate_folio* migrate_pages* mlock* "
	"mm_account_fault mmap_* mod_lruvec* mod_memcg* mod_node* mod_zone* move_page_tables "
	"move_vma mprotect_* mremap_* munlock* native_flush_tlb* new_slab next_uptodate_* "
	"obj_cgroup_* ondemand_readahead p4d_alloc* page_add_* page_cache_* page_counter_* "
	"page_remove_* page_vma_mapped* pagevec_* pcpu_* perf_mmap_fault pin_user* pmd_alloc* "
	"post_alloc_hook prep_compound* prep_new_page pte_alloc* pte_offset_map* pud_alloc* "
	"put_cpu_partial readahead_* refill_* release_pages rmap_walk* rmqueue* set_pte_range "
	"shmem_* shrink_* slab_* swap_* thp_* tlb_* truncate_inode_* truncate_pagecache* "
	"try_charge* try_to_free_* try_to_migrate* try_to_unmap* uffd_* uncharge_* "
	"unfreeze_partials unlink_anon_vmas unlink_file_vma* unmap_* userfaultfd_* vfree* "
	"vm_area_* vm_mmap* vm_munmap vm_normal_* vm_unmapped_area vma_* vmalloc* vmap_* vmf_* "
	"vunmap* workingset_* wp_page_* write_cache_pages zap_*";

static const char files_names[] =
	"ahci_* aio_* alloc_empty_file* alloc_fd alloc_file* alloc_inode anon_pipe_* ata_* "
	"atime_needs_update begin_new_exec bfq_* bio_* blk_* blkdev_* block_* bprm_* btrfs_* "
	"buffer_* bvec_* cgroup_file_* cifs_* close_fd* complete_walk copy_string* "
	"core_sys_select cp_new_stat cp_statx d_* dcache_* dd_* debugfs_* dentry_* dget* dm_* "
	"do_close_on_exec do_dentry_open do_dup2 do_epoll_* do_execve* do_faccessat "
	"do_fallocate do_fcntl do_filp_open do_fstatat do_iter_* do_linkat do_mkdirat do_open* "
	"do_pollfd do_preadv do_pwritev do_readlink* do_readv do_renameat2 do_rmdir do_select "
	"do_splice* do_statx do_symlinkat do_sys_open* do_sys_poll do_sys_select do_tmpfile "
	"do_truncate do_unlinkat do_vfs_ioctl do_writev dput elf_* elv_* ep_* epoll_* erofs_* "
	"eventfd_* evict exec_binprm ext2_* ext4_* f2fs_* fanotify_* fat_* fd_* fdget* fdput* "
	"fget* file_* filename_* filldir* filp_* flock_* follow_* fput* fsnotify* fuse_* "
	"generic_fillattr generic_permission generic_shutdown_super generic_update_time "
	"generic_write_* getname* handle_mounts iget* ilookup* init_file inode_* inotify_* "
	"io_issue_* io_read io_req_* io_submit_* io_uring_* io_wq_* io_write iomap_* iput* "
	"isofs_* iterate_dir jbd2_* kernfs_* ksys_lseek ksys_pread64 ksys_pwrite64 ksys_read "
	"ksys_write kyber_* legitimize_* link_path_walk* load_elf_* load_script lockref_* "
	"locks_* lookup_* loop_* may_delete may_lookup may_open md_* mnt_* mntget mntput* "
	"mpage_* new_inode* new_sync_* nfs4_* nfs_* nfsd_* notify_change ntfs_* nvme_* "
	"open_exec open_last_lookups ovl_* path_* pick_link pid_revalidate pipe_* poll_* "
	"pollwake posix_lock* proc_* putname raid* rw_verify_area scsi_* sd_* "
	"search_binary_handler seq_* setup_arg_pages sget* signalfd_* simple_* smb2_* splice_* "
	"squashfs_* step_into submit_bh* submit_bio* sync_* sysfs_* timerfd_* touch_atime "
	"tracefs_* try_to_unlazy* unlazy_* user_path* v9fs_* vfat_* vfs_* virtblk_* "
	"walk_component wb_* wbc_* writeback_* xfs_* xlog_*";

static const char network_names[] =
	"alloc_skb* arp_* backlog_* bnxt_* bond_* br_* build_skb* cfg80211_* consume_skb "
	"copy_skb_* csum_partial_copy_* dev_direct_xmit dev_gro_* dev_hard_start_xmit "
	"dev_kfree_skb* dev_queue_xmit* do_accept dst_* e1000_* e1000e_* ena_* "
	"enqueue_to_backlog eth_* fib6_* fib_* fq_* genl_* gro_* htb_* i40e_* ice_* icmp* "
	"ieee80211_* igb_* inet6_* inet_* ip4_* ip6_* ip6t_* ip_* ipt_* ipv4_* ipv6_* iwl_* "
	"ixgbe_* kfree_skb* lock_sock* loopback_xmit mlx4_* mlx5* mptcp_* napi_* ndisc_* "
	"neigh_* net_* netif_* netlink_* nf_* nft_* p9_* packet_* pfifo_* process_backlog "
	"pskb_* qdisc_* r8169_* receive_mergeable release_sock rpc_* rt6_* rtl8169_* rtmsg_* "
	"rtnetlink* rtnl* sch_* sctp_* sk_* skb_* sock_* sockfd_* svc_* sys_accept4* sys_bind "
	"sys_connect* sys_getsockopt sys_recvfrom sys_recvmmsg sys_recvmsg* sys_sendmmsg "
	"sys_sendmsg* sys_sendto sys_setsockopt sys_shutdown sys_socket* tap_* tc_* tcf_* "
	"tcp4_* tcp6_* tcp_* tg3_* tls_* tpacket_* tun_* udp4_* udp6_* udp_* udpv6_* unix_* "
	"validate_xmit* veth_* virtio_transport_* virtnet_* vlan_* vsock_* vxlan_* wg_* xdp_* "
	"xfrm_* xprt_* xs_* xsk_* xt_*";

static const char bpf_names[] =
	"array_map_* bpf_* cgroup_bpf_* htab_* percpu_array_map_* perf_event_bpf_* "
	"prog_array_map_* stack_map_* trace_call_bpf trie_*";

static const struct subsystem {
	const char *names;
	uint8_t id; /* enum kernel_subcategory */
	bool is_entry; /* the function is an entry to the kernel, not a subsystem */
} subsystems[] = {
	{syscall_names, KERNEL_SYSCALL, true},	   {fault_names, KERNEL_FAULT, true},
	{interrupt_names, KERNEL_INTERRUPT, true}, {scheduler_names, KERNEL_SCHEDULER, false},
	{memory_names, KERNEL_MEMORY, false},	   {files_names, KERNEL_FILES, false},
	{network_names, KERNEL_NETWORK, false},	   {bpf_names, KERNEL_BPF, false},
};

/* Source directories, wherever the kernel was built. The last match in a path wins. */
static const struct directory {
	const char *path;
	uint8_t subsystem;
} directories[] = {
	{"/include/", KERNEL_SUBSYSTEM_ANY},
	{"/kernel/sched/", KERNEL_SCHEDULER},
	{"/kernel/bpf/", KERNEL_BPF},
	{"/kernel/irq/", KERNEL_INTERRUPT},
	{"/kernel/softirq.c", KERNEL_INTERRUPT},
	{"/mm/", KERNEL_MEMORY},
	{"/fs/", KERNEL_FILES},
	{"/block/", KERNEL_FILES},
	{"/io_uring/", KERNEL_FILES},
	{"/drivers/ata/", KERNEL_FILES},
	{"/drivers/md/", KERNEL_FILES},
	{"/drivers/nvme/", KERNEL_FILES},
	{"/drivers/scsi/", KERNEL_FILES},
	{"/net/", KERNEL_NETWORK},
};

struct pattern {
	const char *text;
	uint16_t size; /* length of the pattern without the star */
	uint16_t next; /* next pattern with the same first letter, or NO_ROW */
	bool is_beginning;
	const struct subsystem *subsystem;
};

struct kernel_subsystems {
	VEC(struct pattern) patterns;
	uint16_t first[LETTERS]; /* first pattern for each letter */
};

static void add_names(struct kernel_subsystems *a, const struct subsystem *subsystem)
{
	for (const char *at = subsystem->names; *at;) {
		size_t size = strcspn(at, " ");
		bool is_beginning = at[size - 1] == '*';
		uint16_t *first = &a->first[*at % LETTERS];
		struct pattern pattern = {
			.text = at,
			.size = (uint16_t)(size - is_beginning),
			.next = *first,
			.is_beginning = is_beginning,
			.subsystem = subsystem,
		};

		*first = (uint16_t)a->patterns.count;
		vec_push(&a->patterns, pattern);
		at += size;
		at += strspn(at, " ");
	}
}

struct kernel_subsystems *kernel_subsystems_new(void)
{
	struct kernel_subsystems *a = xcalloc(1, sizeof(*a));

	for (size_t i = 0; i < LETTERS; i++)
		a->first[i] = NO_ROW;
	for (size_t i = 0; i < sizeof(subsystems) / sizeof(*subsystems); i++)
		add_names(a, &subsystems[i]);
	return a;
}

void kernel_subsystems_free(struct kernel_subsystems *a)
{
	if (!a)
		return;
	vec_release(&a->patterns);
	free(a);
}

/* Returns the subsystem of the longest match; a whole name wins over a prefix. NULL: none. */
static const struct subsystem *find_name(const struct kernel_subsystems *a, const char *name,
					 bool is_entry)
{
	uint16_t row = a->first[(unsigned char)*name % LETTERS];
	const struct subsystem *found = NULL;
	size_t best = 0;

	for (; row != NO_ROW; row = a->patterns.items[row].next) {
		const struct pattern *pattern = &a->patterns.items[row];
		size_t worth = 2 * pattern->size + !pattern->is_beginning;

		if (worth <= best || pattern->subsystem->is_entry != is_entry ||
		    strncmp(pattern->text, name, pattern->size) != 0 ||
		    (!pattern->is_beginning && name[pattern->size]))
			continue;
		best = worth;
		found = pattern->subsystem;
	}
	return found;
}

static uint8_t area_of_file(const char *file)
{
	uint8_t subsystem = KERNEL_SUBSYSTEM_ANY;
	const char *last = NULL;

	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		const char *found = strstr(file, directories[i].path);

		for (; found; found = strstr(found + 1, directories[i].path)) {
			if (last && found < last)
				continue;
			last = found;
			subsystem = directories[i].subsystem;
		}
	}
	return subsystem;
}

/* Copies at most MAX_NAME - 2 bytes of the name, up to the first byte in `ends`. */
static void copy_name(char *copy, const char *name, const char *ends)
{
	size_t size = strcspn(name, ends);

	size = MIN(size, MAX_NAME - 2);
	memcpy(copy, name, size);
	copy[size] = '\0';
}

uint8_t kernel_subsystems_of_function(const struct kernel_subsystems *a, const char *name,
				      const char *file)
{
	const struct subsystem *subsystem;
	char plain[MAX_NAME];

	copy_name(plain, name + strspn(name, "_"), ".");
	subsystem = find_name(a, plain, true);
	if (!subsystem && file)
		return area_of_file(file);
	if (!subsystem)
		subsystem = find_name(a, plain, false);
	return subsystem ? subsystem->id : KERNEL_SUBSYSTEM_ANY;
}

uint8_t kernel_subsystems_of_module(const struct kernel_subsystems *a, const char *name)
{
	const struct subsystem *subsystem;
	char prefix[MAX_NAME];

	copy_name(prefix, name + strspn(name, "["), "]");
	strcat(prefix, "_");
	subsystem = find_name(a, prefix, false);
	return subsystem ? subsystem->id : KERNEL_SUBSYSTEM_ANY;
}

/* Not looked up yet. */
#define NOT_ASKED UINT8_MAX

/* Results by module and by function, of which there are fewer than frames. */
struct classes {
	const struct profile *profile;
	struct kernel_subsystems *subsystems;
	uint8_t *modules; /* enum user_subcategory by module_id */
	uint8_t *funcs; /* enum kernel_subcategory by func_id, or KERNEL_SUBSYSTEM_ANY */
	/* By frame_id: every stack with the frame has a kernel frame above it. */
	bool *has_kernel_caller;
};

/* A library and a position-independent program differ only in name. */
static bool is_library(const char *name)
{
	return strstr(name, ".so.") || text_ends_with(name, ".so") ||
	       text_ends_with(name, ".node") || text_ends_with(name, ".dll");
}

static uint8_t class_of_module(const struct profile *p, const struct module *module)
{
	const char *name = strings_get(&p->strings, module->name);

	if (module->kind == PROFILE_MODULE_ANON || module->kind == PROFILE_MODULE_CODE_DUMP ||
	    text_starts_with(strings_get(&p->strings, module->path), "/memfd:"))
		return USER_JIT;
	if (module->kind == PROFILE_MODULE_VDSO || module_name_is_c_library(name))
		return USER_LIBC;
	return is_library(name) ? USER_LIBRARY : USER_PROGRAM;
}

/* Frames that no symbolizer has looked up may still get a name from a reader. */
static bool is_nameless(const struct profile *p, const struct frame *frame)
{
	return frame->func != NO_FUNC && !p->funcs.rows.items[frame->func].is_named;
}

static uint8_t user_subcategory(struct classes *c, const struct frame *frame)
{
	const struct profile *p = c->profile;
	uint8_t *class;

	if (frame->kind == PROFILE_FRAME_GUESS)
		return USER_GUESS;
	if (frame->module == NO_MODULE)
		return is_nameless(p, frame) ? USER_UNNAMED : USER_OTHER;
	class = &c->modules[frame->module];
	if (*class == NOT_ASKED)
		*class = class_of_module(p, &p->modules.rows.items[frame->module]);
	return *class != USER_JIT && is_nameless(p, frame) ? USER_UNNAMED : *class;
}

/* Falls back to the name of the module if the function's name does not identify the subsystem. */
static uint8_t area_of_func(const struct classes *c, const struct func *func)
{
	const struct profile *p = c->profile;
	const struct module *module = func->module == NO_MODULE
					      ? NULL
					      : &p->modules.rows.items[func->module];
	const char *file = NULL;
	uint8_t subsystem;

	if (func->file != NO_SOURCE_FILE)
		file = strings_get(&p->strings, p->source_files.rows.items[func->file].path);
	subsystem = kernel_subsystems_of_function(c->subsystems,
						  strings_get(&p->strings, func->name), file);
	if (subsystem == KERNEL_SUBSYSTEM_ANY && module &&
	    module->kind == PROFILE_MODULE_KERNEL_MODULE)
		subsystem = kernel_subsystems_of_module(c->subsystems,
							strings_get(&p->strings, module->name));
	return subsystem;
}

static struct frame_category kernel_category(struct classes *c, frame_id id)
{
	const struct frame *frame = &c->profile->frames.rows.items[id];
	uint8_t subsystem = KERNEL_SUBSYSTEM_ANY;

	if (frame->func != NO_FUNC) {
		uint8_t *known = &c->funcs[frame->func];

		if (*known == NOT_ASKED)
			*known = area_of_func(c, &c->profile->funcs.rows.items[frame->func]);
		subsystem = *known;
	}
	if (subsystem != KERNEL_SUBSYSTEM_ANY)
		return (struct frame_category){CATEGORY_KERNEL, subsystem};
	if (c->has_kernel_caller[id])
		return (struct frame_category){CATEGORY_OF_CALLER, 0};
	return (struct frame_category){CATEGORY_KERNEL, KERNEL_OTHER};
}

static struct frame_category language_category(const struct frame *frame)
{
	return (struct frame_category){
		.category = CATEGORY_BEFORE_LANGUAGES + frame->language,
		.subcategory = frame->tier,
	};
}

static struct frame_category label_category(const struct frame *frame)
{
	struct frame_category of = {frame->category, frame->subcategory};

	if (of.category == CATEGORY_IDLE && of.subcategory == IDLE_FOR_WORK)
		of.subcategory = IDLE_OTHER;
	return of;
}

static void find_kernel_callers(struct classes *c)
{
	const struct stacks *stacks = &c->profile->stacks;
	const struct frame *frames = c->profile->frames.rows.items;

	memset(c->has_kernel_caller, true, c->profile->frames.rows.count);
	vec_for_each(&stacks->rows, const struct stack *, stack) {
		const struct stack *parent = &stacks->rows.items[stack->parent];

		if (stack->parent == NO_STACK || frames[parent->frame].kind != PROFILE_FRAME_KERNEL)
			c->has_kernel_caller[stack->frame] = false;
	}
}

static void *new_filled(size_t count)
{
	return memset(xmalloc(count + 1), NOT_ASKED, count + 1);
}

struct frame_category *categories_find(const struct profile *p)
{
	size_t count = p->frames.rows.count;
	struct frame_category *of = xcalloc(count + 1, sizeof(*of));
	struct classes c = {
		.profile = p,
		.subsystems = kernel_subsystems_new(),
		.modules = new_filled(p->modules.rows.count),
		.funcs = new_filled(p->funcs.rows.count),
		.has_kernel_caller = xcalloc(count + 1, sizeof(bool)),
	};

	find_kernel_callers(&c);
	for (size_t i = 0; i < count; i++) {
		const struct frame *frame = &p->frames.rows.items[i];

		if (frame->kind == PROFILE_FRAME_LABEL)
			of[i] = label_category(frame);
		else if (frame->kind == PROFILE_FRAME_KERNEL)
			of[i] = kernel_category(&c, (frame_id)i);
		else if (frame->language != LANGUAGE_NONE)
			of[i] = language_category(frame);
		else
			of[i] = (struct frame_category){CATEGORY_USER, user_subcategory(&c, frame)};
	}
	kernel_subsystems_free(c.subsystems);
	free(c.modules);
	free(c.funcs);
	free(c.has_kernel_caller);
	return of;
}
