// SPDX-License-Identifier: MIT
// Spends SECONDS in two functions that are inlined: inlined.mjs SECONDS. Prints the shares of each, alone.
function first(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function second(n) { let s = 1; for (let i = 0; i < n; i++) s = (s * 17 + i) % 999983; return s; }
function both() { return first(14000) + second(6000); }

const seconds = Number(globalThis.Deno ? Deno.args[0] : process.argv[2]);
const spent = { first: 0, second: 0 };
const end = performance.now() + seconds * 1000;
let sum = 0;
while (performance.now() < end) {
  sum += both();
}
for (let i = 0; i < 3000; i++) {
  const begin = performance.now();
  sum += first(14000);
  const middle = performance.now();
  sum += second(6000);
  spent.first += middle - begin;
  spent.second += performance.now() - middle;
}
for (const name of ['first', 'second'])
  console.log(name, 100 * spent[name] / (spent.first + spent.second));
