// SPDX-License-Identifier: MIT
/* Works in functions of unlike shares, and prints their times: numbers.js MILLISECONDS. */
'use strict';

function sieve(limit) {
  const composite = new Uint8Array(limit);
  let count = 0;
  for (let i = 2; i < limit; i++) {
    if (composite[i])
      continue;
    count++;
    for (let k = 2 * i; k < limit; k += i)
      composite[k] = 1;
  }
  return count;
}

function multiply(a, b, size) {
  const out = new Float64Array(size * size);
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < size; k++) {
      for (let j = 0; j < size; j++)
        out[i * size + j] += a[i * size + k] * b[k * size + j];
    }
  }
  return out;
}

function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function words(count) {
  const seen = new Map();
  for (let i = 0; i < count; i++) {
    const word = 'w' + (i * 7919) % 331;
    seen.set(word, (seen.get(word) || 0) + 1);
  }
  return seen.size;
}

function merged(left, right) {
  const out = [];
  let i = 0;
  let k = 0;
  while (i < left.length && k < right.length)
    out.push(left[i] < right[k] ? left[i++] : right[k++]);
  while (i < left.length)
    out.push(left[i++]);
  while (k < right.length)
    out.push(right[k++]);
  return out;
}

function ordered(list) {
  if (list.length < 2)
    return list;
  const middle = list.length >> 1;
  return merged(ordered(list.slice(0, middle)), ordered(list.slice(middle)));
}

function scattered(count) {
  const list = [];
  for (let i = 0; i < count; i++)
    list.push((i * 7919) % 1009);
  return list;
}

const matrix = Float64Array.from({ length: 64 * 64 }, (_, i) => i % 7);
const PARTS = {
  sieve: () => sieve(20000),
  multiply: () => multiply(matrix, matrix, 64)[0],
  fibonacci: () => fibonacci(18),
  words: () => words(2000),
  ordered: () => ordered(scattered(1500))[0],
};
const times = {};
const end = performance.now() + +process.argv[2];
let sink = 0;
while (performance.now() < end) {
  for (const name of Object.keys(PARTS)) {
    const before = performance.now();
    for (let i = 0; i < 20; i++)
      sink += PARTS[name]();
    times[name] = (times[name] || 0) + performance.now() - before;
  }
}
console.log(JSON.stringify({ times, parts: { merged: 'ordered', scattered: 'ordered' } }));
