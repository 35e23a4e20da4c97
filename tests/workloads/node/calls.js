// SPDX-License-Identifier: MIT
/*
 * Many calls of functions that do nearly nothing: they are mostly before the instruction that makes
 * their frame, and after the one that leaves it. Too large to be inlined by any compiler.
 *
 *	node calls.js MS
 */
const rest = "\n  x = x * 3 + 1;".repeat(120);

function make(name, body) {
  return new Function("callee", `return function ${name}(x) { if (x >= 0) return ${body}; ${rest} return x; }`);
}

const inner = make("inner", "x + 1")();
const middle = make("middle", "callee(x) + 1")(inner);
const outer = make("outer", "callee(x) + 1")(middle);

function main(ms) {
  const end = Date.now() + ms;
  let sum = 0;

  while (Date.now() < end) {
    for (let i = 0; i < 100000; i++)
      sum = (sum + outer(i) + inner(i)) & 0xffffff;
  }
  return sum;
}

process.exitCode = main(+process.argv[2]) < 0 ? 1 : 0;
