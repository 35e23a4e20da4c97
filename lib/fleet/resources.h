/* SPDX-License-Identifier: MIT */
/*
 * Finds the service, container and program of each process, from its own attributes and its control
 * group. Processes in which all of these are equal form one resource.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* Default maximum number of resources in a window. */
#define RESOURCES_MAX 500
/* Service and program of the merged resources. */
#define RESOURCE_OTHER "other"

struct fleet_resource {
	/* Owned; "": unknown. The program is always known. */
	char *service, *executable;
	char *container; /* full id */
	char *pod; /* uid of the pod in Kubernetes */
	char *attributes; /* attributes of the process, for resource_parse(); "": none */
	uint64_t value; /* weight of all samples */
};

struct fleet_resources {
	VEC(struct fleet_resource) rows;
	uint32_t *of_threads; /* resource by thread number */
	uint64_t merged; /* resources that were merged into RESOURCE_OTHER */
};

/*
 * `service` applies to all processes; NULL: each process has its own, else `fallback`, else one
 * derived from the process. Merges the smallest resources into one, so that there are at most
 * `max`; 0: RESOURCES_MAX.
 */
void fleet_resources_init(struct fleet_resources *r, const struct profile *p, const char *service,
			  const char *fallback, size_t max);
void fleet_resources_release(struct fleet_resources *r);
/* Drops data not meant for engines: threads without samples, arguments, other markers, counters. */
void fleet_resources_keep(struct profile *p);

/* Appends the service named by a control group's path, a systemd unit without its suffix. */
void cgroup_service(const char *path, struct strbuf *service);
/* Appends the uid of a pod, for both cgroup drivers of Kubernetes. */
void cgroup_pod(const char *path, struct strbuf *pod);
