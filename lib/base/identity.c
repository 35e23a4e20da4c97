/* SPDX-License-Identifier: MIT */
#include "lib/base/identity.h"

#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct identity_groups {
	int count;
	gid_t list[];
};

/* -1 means "no change" to every system call that takes an id. */
static bool read_id(const char *variable, uint32_t *id)
{
	/* An attacker controls the environment of a set-user-id program. */
	const char *text = secure_getenv(variable);
	uint64_t value;

	if (!text || !text_to_u64(text, 10, &value) || value >= UINT32_MAX)
		return false;
	*id = (uint32_t)value;
	return true;
}

struct identity identity_of_invoker(void)
{
	struct identity who = {.uid = getuid(), .gid = getgid()};
	uint32_t uid, gid;

	if (geteuid() == 0 && read_id("SUDO_UID", &uid) && read_id("SUDO_GID", &gid) && uid != 0) {
		who.uid = uid;
		who.gid = gid;
	}
	who.is_self = who.uid == geteuid() && who.gid == getegid();
	return who;
}

static struct identity_groups *groups_alloc(int count)
{
	struct identity_groups *groups =
		xmalloc(sizeof(*groups) + (size_t)count * sizeof(groups->list[0]));

	groups->count = count;
	return groups;
}

static struct identity_groups *current_groups(void)
{
	int count = getgroups(0, NULL);
	struct identity_groups *groups = groups_alloc(count > 0 ? count : 0);

	groups->count = count > 0 ? getgroups(count, groups->list) : 0;
	groups->count = MAX(groups->count, 0);
	return groups;
}

/* The user's name, or NULL: ids without an entry are common in containers. */
static char *user_name(uid_t uid)
{
	struct passwd entry, *found = NULL;
	_cleanup_free_ char *buf = NULL;
	size_t size = 1024;
	int rc;

	do {
		size *= 2;
		buf = xrealloc(buf, size);
		rc = getpwuid_r(uid, &entry, buf, size, &found);
	} while (rc == ERANGE);
	return found ? xstrdup(entry.pw_name) : NULL;
}

/* Returns the user's groups; without an entry in the group database, only the main group. */
static struct identity_groups *groups_of(const struct identity *who)
{
	_cleanup_free_ char *name = user_name(who->uid);
	struct identity_groups *groups;
	int room = 64, count;

	while (name) {
		count = room;
		groups = groups_alloc(room);
		if (getgrouplist(name, who->gid, groups->list, &count) >= 0) {
			groups->count = count;
			return groups;
		}
		free(groups);
		if (count <= room)
			break;
		room = count;
	}
	groups = groups_alloc(1);
	groups->list[0] = who->gid;
	return groups;
}

/*
 * Calls the system call directly, because glibc's setgroups() changes every thread. It may fail
 * without CAP_SETGID or in a user namespace that denies it; the process then has no groups that its
 * user lacks.
 */
static void set_groups(const struct identity_groups *groups)
{
	syscall(SYS_setgroups, (long)groups->count, groups->list);
}

/*
 * setfsuid() and setfsgid() report no failure: a call with an impossible id changes nothing and
 * returns the current one.
 */
static bool set_file_ids(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid;
}

#define BIT(capability) (1u << (capability))
/* Capabilities that setfsuid() takes from root; all are among the first 32. */
#define FILE_CAPABILITIES \
	(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_FOWNER) | \
	 BIT(CAP_FSETID) | BIT(CAP_LINUX_IMMUTABLE) | BIT(CAP_MKNOD))

/* Drops and raises capabilities of this thread only, as libcap does. */
static int change_capabilities(uint32_t drop, uint32_t raise, uint32_t *dropped)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	*dropped = data[0].effective & drop;
	data[0].effective = (data[0].effective & ~drop) | raise;
	return (*dropped || raise) && syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* Leaves root unchanged; other users have these capabilities only from this program's file. */
static struct identity assume_own_files(void)
{
	struct identity before = {.is_self = true};

	if (geteuid())
		before.failure = change_capabilities(FILE_CAPABILITIES, 0, &before.dropped);
	return before;
}

struct identity identity_assume_files(const struct identity *who)
{
	struct identity before = {0};
	_cleanup_free_ struct identity_groups *groups = NULL;

	if (who->is_self)
		return assume_own_files();
	/* Look the groups up while the thread may still read the group database's files. */
	groups = groups_of(who);
	before.uid = (uid_t)setfsuid((uid_t)-1);
	before.gid = (gid_t)setfsgid((gid_t)-1);
	if (!set_file_ids(who->uid, who->gid)) {
		set_file_ids(before.uid, before.gid);
		before.is_self = true;
		before.failure = -EPERM;
		return before;
	}
	before.groups = current_groups();
	set_groups(groups);
	return before;
}

struct identity identity_assume_ids(uid_t uid, gid_t gid)
{
	static const struct identity_groups none = {0};
	struct identity before = {
		.uid = (uid_t)setfsuid((uid_t)-1),
		.gid = (gid_t)setfsgid((gid_t)-1),
		.groups = current_groups(),
	};

	set_groups(&none);
	/* The kernel drops file capabilities only when a thread's fsuid changes from 0. */
	if (getgroups(0, NULL) || !set_file_ids(uid, gid))
		before.failure = -EPERM;
	else
		before.failure = change_capabilities(FILE_CAPABILITIES, 0, &before.dropped);
	if (!before.failure)
		return before;
	identity_restore_files(&before);
	return (struct identity){.is_self = true, .failure = before.failure};
}

struct identity_whole {
	uid_t uid; /* effective uid */
	gid_t gid;
	int is_dumpable;
	struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3];
};

static long change_effective(const struct __user_cap_data_struct *data)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &header, data);
}

/* Calls the system calls directly, because glibc's functions change every thread. */
static bool set_effective_ids(uid_t uid, gid_t gid)
{
	return !syscall(SYS_setresgid, -1L, (long)gid, -1L) &&
	       !syscall(SYS_setresuid, -1L, (long)uid, -1L);
}

struct identity identity_assume_all(const struct identity *who)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
	struct identity before = identity_assume_files(who);
	struct identity_whole *whole;

	if (before.failure || (who->is_self && !geteuid()))
		return before;
	whole = before.whole = xcalloc(1, sizeof(*whole));
	whole->uid = geteuid();
	whole->gid = getegid();
	whole->is_dumpable = prctl(PR_GET_DUMPABLE);
	if (syscall(SYS_capget, &header, whole->capabilities))
		before.failure = -errno;
	else if (!who->is_self && !set_effective_ids(who->uid, who->gid))
		before.failure = -EPERM;
	memcpy(none, whole->capabilities, sizeof(none));
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		none[i].effective = 0;
	if (!before.failure && change_effective(none))
		before.failure = -errno;
	if (!before.failure)
		return before;
	identity_restore_files(&before);
	return (struct identity){.is_self = true, .failure = before.failure};
}

static void restore_whole(struct identity_whole *whole)
{
	/* Restoring root's ids needs no capability; capabilities come back last. */
	syscall(SYS_setresuid, -1L, (long)whole->uid, -1L);
	syscall(SYS_setresgid, -1L, (long)whole->gid, -1L);
	change_effective(whole->capabilities);
	/* The kernel clears the dumpable flag when an effective id changes. */
	if (whole->is_dumpable == 1)
		prctl(PR_SET_DUMPABLE, 1);
	free(whole);
}

void identity_restore_files(const struct identity *before)
{
	uint32_t dropped;

	if (before->whole)
		restore_whole(before->whole);
	if (!before->is_self) {
		set_file_ids(before->uid, before->gid);
		set_groups(before->groups);
		free(before->groups);
	}
	if (before->dropped)
		change_capabilities(0, before->dropped, &dropped);
}

char *cache_folder_path(void)
{
	const struct passwd *root = geteuid() == 0 ? getpwuid(0) : NULL;
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	/* Under sudo, the environment may be the invoking user's. */
	if (geteuid() == 0)
		return root && root->pw_dir ? xasprintf("%s/.cache/prof", root->pw_dir) : NULL;
	if (xdg && *xdg)
		return xasprintf("%s/prof", xdg);
	return home && *home ? xasprintf("%s/.cache/prof", home) : NULL;
}

static bool is_own(const struct stat *st, mode_t type)
{
	return (st->st_mode & S_IFMT) == type && st->st_uid == geteuid() && !(st->st_mode & 022);
}

bool cache_file_is_own(const struct stat *st)
{
	return is_own(st, S_IFREG);
}

static void make_folders(const char *path)
{
	_cleanup_free_ char *parent = xstrdup(path);
	char *slash = strrchr(parent, '/');

	if (slash && slash != parent) {
		*slash = '\0';
		mkdir(parent, 0700);
	}
	mkdir(path, 0700);
}

int cache_folder_open(const char *path, bool make)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (make)
		make_folders(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !is_own(&st, S_IFDIR))
		return -1;
	return steal_fd(&fd);
}

/* A file without contents: its size is the number of bytes added since the last trim(). */
#define ADDED ".added"
/* Each file counts as this much, so that small ones do not get too many. */
#define FILE_BYTES_MIN 16384u

static uint64_t counted(uint64_t bytes)
{
	return bytes > FILE_BYTES_MIN ? bytes : FILE_BYTES_MIN;
}

struct cached_file {
	char *name;
	uint64_t bytes;
	struct timespec used;
};

ORDER(compare_use, struct cached_file,
      COMPARE(b->used.tv_sec, a->used.tv_sec) ?: COMPARE(b->used.tv_nsec, a->used.tv_nsec))

/* Removes the least recently used files until the rest fits. */
static void trim(int folder, uint64_t bytes_max)
{
	VEC(struct cached_file) files = {0};
	int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	struct dirent *entry;
	uint64_t bytes = 0;

	if (!dir && own >= 0)
		close(own);
	while (dir && (entry = readdir(dir))) {
		struct stat st;

		if (strcmp(entry->d_name, ADDED) != 0 &&
		    fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			/* Files may be sparse. */
			vec_push(&files, (struct cached_file){xstrdup(entry->d_name),
							      counted((uint64_t)st.st_blocks * 512),
							      st.st_mtim});
	}
	vec_sort(&files, compare_use);
	vec_for_each(&files, struct cached_file *, file) {
		bytes += file->bytes;
		if (bytes > bytes_max)
			unlinkat(folder, file->name, 0);
		free(file->name);
	}
	vec_release(&files);
	if (dir)
		closedir(dir);
}

/* Adding is frequent, and looking at each file is slow. Concurrent additions may be lost. */
void cache_folder_added(int folder, uint64_t bytes, uint64_t bytes_max)
{
	_cleanup_close_ int fd = openat(folder, ADDED, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
					0600);
	uint64_t limit = bytes_max / 4, added = limit;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && cache_file_is_own(&st) && bytes < limit)
		added = (uint64_t)st.st_size + counted(bytes);
	if (added < limit && ftruncate(fd, (off_t)added) == 0)
		return;
	if (fd >= 0)
		(void)!ftruncate(fd, 0);
	trim(folder, bytes_max);
}
