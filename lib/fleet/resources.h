/* SPDX-License-Identifier: MIT */
/*
 * Finds whose samples they are: a service, container and program for each process, by what it says
 * of itself and by its control group. Processes that share all of it are one resource.
 */
#ifndef PROF_LIB_FLEET_RESOURCES_H
#define PROF_LIB_FLEET_RESOURCES_H

#include "lib/base/index.h"
#include "lib/base/strbuf.h"
#include "lib/model/tables/profile.h"

/* By default, a window has so many at most. */
#define RESOURCES_MAX 500
/* Service and program of those that are too many. */
#define RESOURCE_OTHER "other"

struct fleet_resource {
	/* Owned; "": unknown, but the program is not. */
	char *service, *executable;
	char *container; /* all digits of its id */
	char *pod; /* uid in Kubernetes */
	char *attributes; /* its own, for resource_parse(); "": none */
	uint64_t value; /* of all samples */
};

struct fleet_resources {
	VEC(struct fleet_resource) rows;
	uint32_t *of_threads; /* by number of the thread: its row */
	uint64_t merged; /* rows that became RESOURCE_OTHER */
};

/*
 * `service` is that of all; NULL: each process has its own, which is `fallback` for those that do
 * not name one, or, if that is NULL, too, what is known of them. The smallest become one, so that
 * there are `max` at most; 0: RESOURCES_MAX.
 */
void fleet_resources_init(struct fleet_resources *r, const struct profile *p, const char *service,
			  const char *fallback, size_t max);
void fleet_resources_release(struct fleet_resources *r);
/* Drops what engines do not get: threads without samples, arguments, other markers, counters. */
void fleet_resources_keep(struct profile *p);

/*
 * Appends the service that a control group's path names, a unit of systemd without its suffix, ...
 */
void cgroup_service(const char *path, struct strbuf *service);
/* ... and the uid of a pod, for both drivers of control groups of Kubernetes. */
void cgroup_pod(const char *path, struct strbuf *pod);

#endif
