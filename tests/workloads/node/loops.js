// SPDX-License-Identifier: MIT
/*
 * Works in loops that V8 enters in the middle, because their functions are called once, and prints
 * the CPU times of what they call: loops.js MILLISECONDS [WORKERS]. The first function of each loop
 * has three times as much to do as the second. Also runs as a module.
 */
'use strict';

const milliseconds = +process.argv[2] / 4;
const workers = +process.argv[3];
const times = { heavy: 0, light: 0, far: 0, near: 0, shaped: 0, plain: 0, first: 0, second: 0 };
let sink = 0;

/* Makes times that have passed since then CPU time. */
function correct(names, began, usage) {
  const { user, system } = process.cpuUsage(usage);
  const share = (user + system) / 1000 / (performance.now() - began);
  for (const name of names)
    times[name] *= share;
}

function run(scene, names) {
  const usage = process.cpuUsage();
  const began = performance.now();
  scene(began + milliseconds);
  correct(names, began, usage);
}

function spin(n) {
  let sum = 0;
  for (let i = 0; i < n; i++)
    sum = (sum * 31 + i) & 0xffffff;
  return sum;
}

function heavy() {
  return spin(24000);
}

function light() {
  return spin(8000);
}

function direct(end) {
  let at = performance.now();
  while (at < end) {
    sink += heavy();
    const middle = performance.now();
    sink += light();
    const after = performance.now();
    times.heavy += middle - at;
    times.light += after - middle;
    at = after;
  }
}

function far() {
  return spin(24000);
}

function near() {
  return spin(8000);
}

function step(at) {
  sink += far();
  const middle = performance.now();
  sink += near();
  const after = performance.now();
  times.far += middle - at;
  times.near += after - middle;
  return after;
}

function walk(end) {
  let at = performance.now();
  while (at < end)
    at = step(at);
}

function shaped(thing) {
  return spin(24000) + thing.value;
}

function plain(thing) {
  return spin(8000) + thing.value;
}

/* A new shape, again and again: its code is given up, and made anew. */
function changing(end) {
  let at = performance.now();
  for (let round = 1; at < end; round++) {
    const thing = round % 1500 ? { value: 1 } : { ['shape' + round]: 0, value: 1 };
    sink += shaped(thing);
    const middle = performance.now();
    sink += plain(thing);
    const after = performance.now();
    times.shaped += middle - at;
    times.plain += after - middle;
    at = after;
  }
}

function first() {
  return spin(24000);
}

function second() {
  return spin(8000);
}

run(direct, ['heavy', 'light']);
run(walk, ['far', 'near']);
run(changing, ['shaped', 'plain']);
const usage = process.cpuUsage();
const began = performance.now();
let at = began;
const end = at + milliseconds;
while (at < end) {
  sink += first();
  const middle = performance.now();
  sink += second();
  const after = performance.now();
  times.first += middle - at;
  times.second += after - middle;
  at = after;
}
correct(['first', 'second'], began, usage);
console.log(JSON.stringify({ times, parts: {}, callees: ['spin'] }));
if (workers)
  import('node:worker_threads').then(({ Worker }) => new Worker(process.argv[1], { argv: [process.argv[2]] }));
