/* SPDX-License-Identifier: MIT */
/* The commands of prof-browse, which prof executes. They return the exit status. */
#ifndef PROF_CMD_BROWSE_BROWSE_PROGRAMS_H
#define PROF_CMD_BROWSE_BROWSE_PROGRAMS_H

/* argv: the descriptor of the records, the recorder's pid, and the words of `prof top`. */
int top_show(int argc, char **argv);
/* argv: the words of `prof browse`. */
int browse_show(int argc, char **argv);

#endif
