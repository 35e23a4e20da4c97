/* SPDX-License-Identifier: MIT */
/* The commands of prof-browse, which prof executes. They return the exit status. */
#pragma once

/* argv: the descriptor of the records, the recorder's pid, and the words of `prof top`. */
int top_show(int argc, char **argv);
/* argv: the words of `prof browse`. */
int browse_show(int argc, char **argv);
