# SPDX-License-Identifier: MIT
# Calls functions in a known tree, for as many seconds of CPU time as said: tests/r_truth.py has it.
# With a second argument, R's own profiler writes that file.

tree_spin <- function(count = 1500) {
	sum <- 0
	while (count > 0) {
		sum <- sum + count * 0.5
		count <- count - 1
	}
	sum
}

tree_recursing <- function() tree_recurse(40)
tree_recurse <- function(depth) {
	if (depth == 1)
		return(tree_bottom())
	found <- tree_recurse(depth - 1)
	found
}
tree_bottom <- function() {
	sum <- tree_spin()
	sum
}

# A list's functions are called by the name of a parameter.
tree_applying <- function() lapply(1:2, function(i) tree_applied())
tree_applied <- function() tree_spin()
tree_reducing <- function() Reduce(function(a, b) a + tree_reduced(), 1:3)
tree_reduced <- function() tree_spin()
tree_mapping <- function() mapply(function(a, b) tree_mapped(), 1:2, 1:2)
tree_mapped <- function() tree_spin()
tree_doing <- function() do.call(tree_done, list())
tree_doing_by_name <- function() do.call("tree_done", list())
tree_done <- function() tree_spin()

# Dispatch, by a generic function and by an operator.
tree_thing <- structure(list(1), class = "tree_kind")
tree_weigh <- function(thing, ...) UseMethod("tree_weigh")
tree_weigh.default <- function(thing, ...) tree_weighed()
tree_weigh.tree_kind <- function(thing, ...) NextMethod()
tree_weighed <- function() tree_spin()
tree_weighing <- function() tree_weigh(tree_thing)
`[.tree_kind` <- function(thing, i) tree_indexed()
tree_indexed <- function() tree_spin()
tree_indexing <- function() tree_thing[1]
`+.tree_kind` <- function(a, b) tree_added()
tree_added <- function() tree_spin()
tree_adding <- function() tree_thing + tree_thing

# Elements of lists, and functions of packages.
tree_list <- list(member = function() tree_as_member(), other = function() tree_as_element())
tree_as_member <- function() tree_spin()
tree_as_element <- function() tree_spin()
tree_selecting <- function() {
	tree_list$member()
	tree_list[["other"]]()
	tree_list[[2]]()
	tree_list[[2L]]()
}
tree_of_package <- function() base::vapply(1:2, function(i) tree_in_package(), 1)
tree_in_package <- function() tree_spin()
tree_anonymous <- function() (function() tree_nameless())()
tree_nameless <- function() tree_spin()

# Arguments are evaluated by the function that first uses them.
tree_promising <- function() tree_forcing(tree_promised())
tree_forcing <- function(argument) {
	argument
	0
}
tree_promised <- function() tree_spin()
tree_evaluating <- function() eval(quote(tree_evaluated()))
tree_evaluated <- function() tree_spin()

# Errors, and code at the end of functions.
tree_catching <- function() tryCatch(tree_throwing(3), error = function(e) tree_rescued())
tree_throwing <- function(depth) {
	tree_spin(300)
	if (depth == 0)
		stop("as it should")
	tree_throwing(depth - 1)
}
tree_rescued <- function() tree_spin()
tree_leaving <- function() {
	on.exit(tree_left())
	0
}
tree_left <- function() tree_spin()
tree_looping <- function() {
	for (i in 1:3) {
		result <- tryCatch(tree_looped(), finally = 0)
		if (i == 2)
			break
	}
	repeat eval(quote(break))
	result
}
tree_looped <- function() tree_spin()

# A function that knows its place in the source.
eval(parse(text = "\ntree_kept <- function()\n\ttree_spin()\n", keep.source = TRUE))
tree_keeping <- function() tree_kept()

tree_napping <- function() tree_nap()
tree_nap <- function() Sys.sleep(0.002)

tree_scenes <- function() {
	tree_recursing()
	tree_applying()
	tree_reducing()
	tree_mapping()
	tree_doing()
	tree_doing_by_name()
	tree_weighing()
	tree_indexing()
	tree_adding()
	tree_selecting()
	tree_of_package()
	tree_anonymous()
	tree_promising()
	tree_evaluating()
	tree_catching()
	tree_leaving()
	tree_looping()
	tree_keeping()
}

tree_work <- function(seconds) {
	end <- proc.time()[[1]] + seconds
	rounds <- 0
	while (proc.time()[[1]] < end) {
		tree_scenes()
		rounds <- rounds + 1
		# Rounds of one length may keep step with a profiler.
		tree_spin((rounds * 37) %% 101 * 50)
		if (rounds %% 10 == 0)
			tree_napping()
	}
}

tree_arguments <- commandArgs(TRUE)
if (length(tree_arguments) > 1)
	utils::Rprof(tree_arguments[2], interval = 0.005)
tree_work(as.numeric(tree_arguments[1]))
if (length(tree_arguments) > 1)
	utils::Rprof(NULL)
